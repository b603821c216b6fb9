"""Where and with what a run was made. Nothing here names a person, a host or a path."""

import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

import apsw
import msgspec

from bench.contender import PEERS_PYTHON
from bench.databases import file_system

OURS = ("apsw", "asyncpg", "msgspec", "aiohttp", "uvloop")
PEERS = ("langgraph", "langgraph-checkpoint-sqlite", "langgraph-checkpoint-postgres", "openai-agents", "dbos")


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    system: str
    processor: str
    processors: int
    memory_gb: float
    disk: str
    load: float


def look(directory: Path) -> Machine:
    return Machine(
        system=f"{platform.system()} {platform.release()}",
        processor=_processor(),
        processors=os.cpu_count() or 1,
        memory_gb=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        disk=file_system(directory),
        load=os.getloadavg()[0],
    )


def versions(*, postgres: str | None, peers: bool) -> dict[str, str]:
    found = {
        "Python": platform.python_version(),
        "SQLite": apsw.sqlite_lib_version(),
        "holdfast": metadata.version("holdfast"),
        **dict(_installed(OURS)),
    }
    if postgres is not None:
        found["PostgreSQL"] = postgres
    return found | (_peers_versions(PEERS) if peers else {})


def _installed(names: Iterable[str]) -> Iterable[tuple[str, str]]:
    for name in names:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            continue


def _peers_versions(names: Sequence[str]) -> dict[str, str]:
    """As the peers' interpreter says."""
    ask = (
        "import json, sys; from importlib.metadata import version; "
        "print(json.dumps({name: version(name) for name in sys.argv[1:]}))"
    )
    said = subprocess.run([PEERS_PYTHON, "-c", ask, *names], capture_output=True, check=True)
    return msgspec.json.decode(said.stdout, type=dict[str, str])


def _processor() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
