"""Which wall works on this machine. Nothing is assumed: a command is really run behind each, and reports what
it can see and change."""

import os
import shlex
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from holdfast.core.shapes import Record
from holdfast.workspaces.commands.cgroups import Cgroups
from holdfast.workspaces.commands.limits import CommandLimits
from holdfast.workspaces.commands.mounts import CommandPlace, Private, system_mounts
from holdfast.workspaces.commands.networks import Network, Networks, NoNetwork
from holdfast.workspaces.commands.wall import Cell, Kind, Wall, command_line, environment

PROBE_SECONDS = 20.0


class Probe(Record, frozen=True, kw_only=True):
    """What was found, also in sentences for people."""

    wall: Wall
    # What commands really have.
    network: Network
    limited: bool
    sentences: tuple[str, ...]

    def networks(self) -> Networks | None:
        """For the commands of a server; None: they use the machine's own."""
        if not self.wall.stands or self.network == "host":
            return None
        return Networks(self.network, superuser=self.wall.superuser)


def probe(
    data: Path,
    *,
    cgroups: Cgroups | None,
    limits: CommandLimits,
    hidden: tuple[Path, ...] = (),
    network: Network = "host",
    kinds: tuple[Kind, ...] = ("bubblewrap", "unshare"),
) -> Probe:
    """Blocks for some tens of milliseconds. `hidden`: files of the server outside its data directory."""
    superuser = os.geteuid() == 0
    covered = (data.resolve(), *(path.resolve() for path in hidden))
    refusals: list[str] = []
    for kind in kinds if sys.platform == "linux" else ():
        wall = Wall(
            kind=kind,
            system=system_mounts(superuser),
            hidden=covered,
            network=network == "host",
            superuser=superuser,
        )
        refusal = _try(wall, data, limits)
        if refusal is None:
            had, why_not = _network(network, superuser=superuser)
            return Probe(
                wall=wall,
                network=had,
                limited=cgroups is not None or not superuser,
                sentences=(_stands(wall, had), *why_not, *refusals, _limits(wall, cgroups, limits)),
            )
        refusals.append(f"{kind} cannot be used: {refusal}.")
    wall = Wall(kind="none", network=True, superuser=superuser)
    return Probe(
        wall=wall,
        network="host",
        limited=False,
        sentences=(*_falls(refusals), _limits(wall, cgroups, limits)),
    )


def _try(wall: Wall, data: Path, limits: CommandLimits) -> str | None:
    """None: it works; else why not."""
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
            place=CommandPlace(root=workspace),
            private=private,
            cwd=workspace,
            command=_questions(secret),
            mountpoint=root,
        )
        argv = command_line(wall, cell, limits)
        return _judge(*_run(argv, environment(wall, private, "probe", os.environ)))


def _questions(secret: Path) -> str:
    """A script that fails with a message, or prints the process namespace it ran in."""
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


@cache
def _network(wanted: Network, *, superuser: bool) -> tuple[Network, tuple[str, ...]]:
    """What is available, and sentences about what is not."""
    if wanted == "host":
        return "host", ()
    networks = Networks(wanted, superuser=superuser)
    try:
        networks.join("probe")
    except NoNetwork as error:
        if wanted == "none":
            return "none", ()
        return "none", (_no_internet(str(error)),)
    finally:
        networks.close()
    return wanted, ()


def _no_internet(why: str) -> str:
    return (
        f"Commands have no network: a way to the internet alone cannot be made, because {why}. Install "
        "slirp4netns, nftables and iproute2 and let this user open /dev/net/tun (chmod 666 /dev/net/tun; "
        'docker: --device /dev/net/tun), or set [sandbox] network = "host".'
    )


def _stands(wall: Wall, network: Network) -> str:
    by = "bubblewrap" if wall.kind == "bubblewrap" else "namespaces (unshare)"
    has = {
        "none": "without network",
        "internet": "with the internet, without this machine's own and private networks",
        "host": "in this machine's own network",
    }[network]
    return f"Commands run behind a wall made by {by}, {has}."


def _falls(refusals: list[str]) -> tuple[str, ...]:
    what_to_do = "A wall needs Linux; run the server there, or in a virtual machine."
    if sys.platform == "linux":
        what_to_do = (
            "Install bubblewrap (Debian: apt-get install bubblewrap). In a container it needs the right to "
            "make namespaces (docker: --security-opt seccomp=unconfined, or --cap-add SYS_ADMIN); on Ubuntu "
            "24.04 and newer also sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile for it."
        )
    return ("There is no wall around commands: execute asks a person each time.", *refusals, what_to_do)


def _limits(wall: Wall, cgroups: Cgroups | None, limits: CommandLimits) -> str:
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
