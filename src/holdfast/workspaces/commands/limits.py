"""What one command may use of the machine. A control group limits the whole process tree, root included;
where none can be created, limits per process (`ulimit`) replace it, and that is reported."""

import os
import shlex

from holdfast.core.shapes import Record

MIB = 1024 * 1024


class CommandLimits(Record, frozen=True, kw_only=True):
    """For one command with everything it starts."""

    processes: int = 512
    memory_mib: int = 4096
    # The size of one file, and the CPU time of one process.
    file_mib: int = 8192
    cpu_seconds: int = 4 * 3600

    @classmethod
    def of_machine(cls) -> "CommandLimits":
        """Half of the memory for one command: builds need much, the server must keep the rest."""
        return cls(memory_mib=max(512, memory_mib() // 2))


def memory_mib() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MIB


def shell_limits(limits: CommandLimits, *, memory: bool) -> list[str]:
    """Commands for `sh` that limit every process of the tree. With `memory`, each process is also held to the
    tree's limit by itself: writable private memory, not address space, which runtimes reserve by the
    gigabyte."""
    commands = [
        "ulimit -c 0",
        f"ulimit -f {limits.file_mib * MIB // 512}",
        f"ulimit -t {limits.cpu_seconds}",
    ]
    if memory:
        commands.append(f"ulimit -d {limits.memory_mib * 1024}")
    return commands


def shell_process_limit(limits: CommandLimits) -> str:
    """For `sh` inside its own user namespace, where only the processes of this tree are counted. dash and
    bash spell it differently."""
    return f"ulimit -u {limits.processes} 2>/dev/null || ulimit -p {limits.processes}"


def shell_enter(directories: tuple[str, ...]) -> list[str]:
    """Commands for `sh` that put itself, and so everything it starts, into control groups."""
    return [f"echo 0 > {shlex.quote(f'{directory}/cgroup.procs')}" for directory in directories]
