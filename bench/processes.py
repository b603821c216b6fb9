"""What a process uses of the machine, measured from outside."""

from pathlib import Path


def cpu_seconds(pid: int) -> float:
    """Of all its threads until now, far finer than the clock ticks of `stat`."""
    nanoseconds = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        try:
            nanoseconds += int((thread / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we looked
    return nanoseconds / 1e9


def memory_mb(pid: int) -> float:
    """What it holds now and nobody else does."""
    return _field(pid, "smaps_rollup", "Private_Clean") + _field(pid, "smaps_rollup", "Private_Dirty")


def resident_mb(pid: int) -> float:
    return _field(pid, "status", "VmRSS")


def peak_mb(pid: int) -> float:
    return _field(pid, "status", "VmHWM")


def _field(pid: int, file: str, name: str) -> float:
    for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise LookupError(name)
