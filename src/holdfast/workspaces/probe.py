"""Which wall stands on this machine. Nothing is assumed: a command is really run behind each, and says what
it can see and change."""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from holdfast.core.shapes import Record
from holdfast.workspaces.cgroups import Cgroups
from holdfast.workspaces.limits import Limits
from holdfast.workspaces.mounts import Place, Private, system_mounts
from holdfast.workspaces.sandbox import Cell, Kind, Wall, command_line, environment

PROBE_SECONDS = 20.0


class Probe(Record, frozen=True, kw_only=True):
    """What was found, and in sentences for people."""

    wall: Wall
    limited: bool
    sentences: tuple[str, ...]


def probe(
    data: Path,
    *,
    cgroups: Cgroups | None,
    limits: Limits,
    hidden: tuple[Path, ...] = (),
    network: bool = True,
    kinds: tuple[Kind, ...] = ("bubblewrap", "unshare"),
) -> Probe:
    """Blocks for some tens of milliseconds. `hidden`: files of the server beside its data directory."""
    superuser = os.geteuid() == 0
    covered = (data.resolve(), *(path.resolve() for path in hidden))
    refusals: list[str] = []
    for kind in kinds if sys.platform == "linux" else ():
        wall = Wall(
            kind=kind,
            system=system_mounts(superuser),
            hidden=covered,
            network=network,
            superuser=superuser,
        )
        refusal = _try(wall, data, limits)
        if refusal is None:
            return Probe(
                wall=wall,
                limited=cgroups is not None or not superuser,
                sentences=(*_stands(wall), *refusals, _limits(wall, cgroups, limits)),
            )
        refusals.append(f"{kind} cannot be used: {refusal}.")
    wall = Wall(kind="none", network=True, superuser=superuser)
    return Probe(
        wall=wall,
        limited=False,
        sentences=(*_falls(refusals), _limits(wall, cgroups, limits)),
    )


def _try(wall: Wall, data: Path, limits: Limits) -> str | None:
    """None: it stands; else why not."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=data, prefix="probe-") as name:
        directory = Path(name).resolve()
        parts = [directory / part for part in ("workspace", "home", "tmp", "root")]
        for part in parts:
            part.mkdir()
        workspace, home, temporary, root = parts
        secret = directory / "secret"
        secret.touch()
        private = Private(home=home, temporary=temporary)
        cell = Cell(
            place=Place(root=workspace),
            private=private,
            cwd=workspace,
            command=_questions(secret),
            mountpoint=root,
        )
        argv = command_line(wall, cell, limits)
        return _judge(*_run(argv, environment(wall, private, "probe", os.environ)))


def _questions(secret: Path) -> str:
    """A script that ends with a complaint, or names the process namespace it ran in."""
    return f"""
    if ! touch here; then echo "the workspace cannot be written"; exit 1; fi
    if touch /usr/.holdfast 2>/dev/null; then
        rm /usr/.holdfast
        echo "system directories can be written"; exit 1
    fi
    if [ -e {shlex.quote(str(secret))} ]; then echo "the server's data can be seen"; exit 1; fi
    readlink /proc/self/ns/pid
    """


def _run(argv: list[str], environment: dict[str, str]) -> tuple[int, str]:
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            argv,
            stdin=writing,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd="/",
            timeout=PROBE_SECONDS,
            check=False,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return 125, str(error)
    finally:
        os.close(reading)
        os.close(writing)
    return done.returncode, done.stdout.decode("utf-8", "replace").strip()


def _judge(code: int, said: str) -> str | None:
    if code != 0:
        return said.splitlines()[-1] if said else f"it ended with {code}"
    if said == os.readlink("/proc/self/ns/pid"):
        return "other processes can be reached"
    return None


def _stands(wall: Wall) -> tuple[str, ...]:
    by = "bubblewrap" if wall.kind == "bubblewrap" else "namespaces (unshare)"
    network = "with network" if wall.network else "without network"
    return (f"Commands run behind a wall made by {by}, {network}.",)


def _falls(refusals: list[str]) -> tuple[str, ...]:
    what_to_do = "A wall needs Linux; run the server there, or in a virtual machine."
    if sys.platform == "linux":
        what_to_do = (
            "Install bubblewrap (Debian: apt-get install bubblewrap). In a container it needs the right to "
            "make namespaces (docker: --security-opt seccomp=unconfined, or --cap-add SYS_ADMIN); on Ubuntu "
            "24.04 and newer also sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile for it."
        )
    return ("There is no wall around commands: execute asks a person each time.", *refusals, what_to_do)


def _limits(wall: Wall, cgroups: Cgroups | None, limits: Limits) -> str:
    if cgroups is not None:
        return (
            f"A command has at most {limits.processes} processes and {limits.memory_mib} MiB, held by "
            f"control groups (version {cgroups.version})."
        )
    advice = (
        "For limits on whole commands let the server make control groups: as a systemd service with "
        "Delegate=yes and DelegateSubgroup=server, or in a container with a writable /sys/fs/cgroup."
    )
    if wall.stands and not wall.superuser:
        return (
            f"A command has at most {limits.processes} processes of {limits.memory_mib} MiB each; its "
            f"memory as a whole is not limited. {advice}"
        )
    return (
        f"A process of a command has at most {limits.memory_mib} MiB; the number of processes is not "
        f"limited. {advice}"
    )
