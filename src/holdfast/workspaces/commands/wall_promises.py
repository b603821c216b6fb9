"""What the wall promises, one by one, each with a command that tries to break it. `holdfast doctor` runs
them, and so do the tests that write the table in the guide: nothing is claimed that was not tried."""

import os
import secrets
import shlex
import socket
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

from holdfast.core.shapes import Record
from holdfast.workspaces.commands.limits import CommandLimits
from holdfast.workspaces.commands.mounts import CommandPlace, Private
from holdfast.workspaces.commands.networks import NoNetwork
from holdfast.workspaces.commands.wall import Cell, command_line, environment
from holdfast.workspaces.commands.wall_probe import Probe

TRY_SECONDS = 60.0


class Promise(Record, frozen=True, kw_only=True):
    """`attempt` is a script that succeeds where the promise holds. It finds what it needs in variables."""

    name: str
    says: str
    attempt: str
    # What to do where it does not hold.
    advice: str


class Tried(Record, frozen=True, kw_only=True):
    promise: Promise
    holds: bool


_WALL = "Run the server on Linux 5.12 or newer, where it may make namespaces."

PROMISES = (
    Promise(
        name="data",
        says="The server's data directory, with its database, keys and tokens, cannot be seen.",
        attempt='[ ! -e "$SECRET" ]',
        advice=_WALL,
    ),
    Promise(
        name="system",
        says="System directories cannot be written.",
        attempt="! touch /usr/.holdfast /etc/.holdfast /.holdfast 2>/dev/null && [ ! -e /usr/.holdfast ]",
        advice=_WALL,
    ),
    Promise(
        name="secrets",
        says="Files in system directories that other users cannot read cannot be read.",
        attempt='[ -z "$(find /etc /opt /usr/local -xdev -type f ! -perm -0004 -readable 2>/dev/null)" ]',
        advice="Close the files that doctor could read, or run the server as a user of its own.",
    ),
    Promise(
        name="homes",
        says="Home directories and everything else outside of the workspace cannot be seen.",
        attempt='[ "$(ls /home)" = holdfast ] && [ ! -e /root ] && [ ! -e /srv ] && [ ! -e /run/user ]',
        advice=_WALL,
    ),
    Promise(
        name="processes",
        says="Other processes can be neither seen nor signalled.",
        attempt='[ "$(ls -d /proc/[0-9]* | wc -l)" -lt 12 ] && ! kill -0 "$SERVER" 2>/dev/null',
        advice=_WALL,
    ),
    Promise(
        name="user",
        says="Commands are not root, neither inside nor in the eyes of the machine.",
        attempt='[ "$(id -u)" != 0 ] && awk -v u="$(id -u)" '
        "'u >= $1 && u < $1 + $3 && $2 + u - $1 == 0 { bad = 1 } END { exit bad }' /proc/self/uid_map",
        advice="Keep workspaces and data on a file system that can map users (ext4, xfs, btrfs, tmpfs), or "
        "run the server as a user of its own.",
    ),
    Promise(
        name="privileges",
        says="No program gains privileges, and a filter refuses the system calls that no command needs.",
        attempt="grep -q 'NoNewPrivs:.1' /proc/self/status && grep -q 'Seccomp:.2' /proc/self/status",
        advice="The filter is written for x86-64 and arm64; run the server there.",
    ),
    Promise(
        name="mounts",
        says="Nothing can be mounted, and no further namespaces can be made.",
        attempt="! mount -t tmpfs none /tmp 2>/dev/null && ! unshare --user true 2>/dev/null",
        advice=_WALL,
    ),
    Promise(
        name="set-uid",
        says="No set-uid or set-gid file can be made or left behind, and such bits have no effect.",
        attempt="cp /bin/true set-uid && ! chmod 4755 set-uid 2>/dev/null && ! chmod g+s set-uid 2>/dev/null "
        "&& [ ! -u set-uid ] && [ ! -g set-uid ] && grep -q ' / .*nosuid' /proc/self/mounts",
        advice="The filter is written for x86-64 and arm64; run the server there.",
    ),
    Promise(
        name="devices",
        says="No device can be made, and those of the machine stay as they are.",
        attempt="! mknod disk b 8 0 2>/dev/null && ! chmod 600 /dev/null 2>/dev/null",
        advice=_WALL,
    ),
    Promise(
        name="kernel",
        says="Settings of the kernel cannot be changed.",
        attempt="! ( : >> /proc/sys/kernel/core_pattern ) 2>/dev/null "
        "&& ! ( : >> /proc/sysrq-trigger ) 2>/dev/null",
        advice=_WALL,
    ),
    Promise(
        name="git",
        says="Hooks, settings and attributes of the workspace's repository cannot be changed; commits work.",
        attempt="! touch .git/hooks/pre-commit 2>/dev/null && ! ( echo x >> .git/config ) 2>/dev/null "
        "&& ! touch .git/info/attributes 2>/dev/null && ! mv .git elsewhere 2>/dev/null && touch .git/index",
        advice=_WALL,
    ),
    Promise(
        name="network",
        says="Programs that listen on this machine, on loopback or on its own addresses, cannot be reached.",
        attempt="for address in $ADDRESSES; do "
        '! ( exec 3<>"/dev/tcp/$address/$PORT" ) 2>/dev/null || exit 1; done',
        advice='Set [sandbox] network = "internet" or "none".',
    ),
    Promise(
        name="sockets",
        says="Unix sockets without a file (abstract ones) cannot be reached.",
        attempt='! grep -q "@$SOCKET" /proc/net/unix',
        advice='Set [sandbox] network = "internet" or "none".',
    ),
    Promise(
        name="count",
        says="A command with everything it starts has a bounded number of processes.",
        attempt='[ "$(ulimit -u)" != unlimited ] && [ "$(ulimit -u)" -le "$PROCESSES" ]',
        advice="Let the server make control groups, or run it as a user of its own.",
    ),
    Promise(
        name="memory",
        says="A command with everything it starts has bounded memory.",
        attempt='[ "$GROUPED" = yes ]',
        advice="Let the server make control groups: as a systemd service with Delegate=yes and "
        "DelegateSubgroup=server, or in a container with a writable /sys/fs/cgroup.",
    ),
)


def try_all(data: Path, probe: Probe, *, limits: CommandLimits, grouped: bool) -> list[Tried]:
    """Runs one command behind the wall that tries them all. Blocks for a second or so."""
    if not probe.wall.stands:
        return [Tried(promise=promise, holds=False) for promise in PROMISES]
    with ExitStack() as stack:
        said = _said(stack, data, probe, limits, grouped)
    return [Tried(promise=promise, holds=f"{promise.name} holds" in said) for promise in PROMISES]


def _said(stack: ExitStack, data: Path, probe: Probe, limits: CommandLimits, grouped: bool) -> list[str]:
    top = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=data, prefix="promises-"))).resolve()
    workspace, home, temporary, root = (top / name for name in ("workspace", "home", "tmp", "root"))
    for path in (workspace, home, temporary, root, workspace / ".git", workspace / ".git" / "objects"):
        path.mkdir()
    for name, text in (("HEAD", "ref: refs/heads/main\n"), ("config", "[core]\n")):
        (workspace / ".git" / name).write_text(text)
    (top / "secret").touch(mode=0o600)
    server = stack.enter_context(socket.create_server(("", 0)))
    abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
    name = f"holdfast-{secrets.token_hex(8)}"
    abstract.bind(f"\0{name}")
    known = {
        "SECRET": str(top / "secret"),
        "SERVER": str(os.getpid()),
        "PORT": str(server.getsockname()[1]),
        "ADDRESSES": " ".join(_addresses()),
        "SOCKET": name,
        "PROCESSES": str(limits.processes),
        "GROUPED": "yes" if grouped else "no",
    }
    network = None
    if (networks := probe.networks()) is not None:
        stack.callback(networks.close)
        try:
            network = networks.join("promises")
        except NoNetwork:
            network = None  # then there is none at all
    private = Private(home=home, temporary=temporary)
    cell = Cell(
        place=CommandPlace(root=workspace),
        private=private,
        cwd=workspace,
        command=_script(known),
        mountpoint=root,
        network=network,
    )
    argv = command_line(probe.wall, cell, limits)
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            argv,
            stdin=writing,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(probe.wall, private, "promises", os.environ),
            cwd="/",
            timeout=TRY_SECONDS,
            check=False,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    finally:
        os.close(reading)
        os.close(writing)
    return done.stdout.decode("utf-8", "replace").splitlines()


def _script(known: dict[str, str]) -> str:
    lines = [f"{name}={shlex.quote(value)}" for name, value in known.items()]
    # Each by itself: what one of them leaves behind or ends with does not affect the next.
    lines += [f"( {one.attempt} ) >/dev/null && echo '{one.name} holds'" for one in PROMISES]
    return "\n".join((*lines, "exit 0"))


def _addresses() -> list[str]:
    """Loopback, and the address this machine would send from; nothing is sent."""
    found = ["127.0.0.1"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            any_socket.connect(("198.51.100.1", 9))
            found.append(any_socket.getsockname()[0])
        except OSError:
            pass  # it is in no network
    return found
