"""The wall around commands: a command line that runs a command in namespaces of its own, made by bubblewrap
or by unshare. Inside, the first process is a shell of ours: when it ends, the kernel ends all others."""

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, assert_never

from holdfast.core.shapes import Record
from holdfast.workspaces import alone
from holdfast.workspaces.limits import Limits, shell_enter, shell_limits, shell_process_limit
from holdfast.workspaces.mounts import (
    HOME,
    TEMPORARY,
    Bind,
    CoverDirectory,
    CoverFile,
    Link,
    Mount,
    Place,
    Private,
    plan,
)

Kind = Literal["bubblewrap", "unshare", "none"]

# In the environment of everything a command starts: how left-over processes are known as ours.
MARK = "HOLDFAST_PROCESS"
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# What commands may inherit of the server's environment. Never a secret.
INHERITED = ("LANG", "LANGUAGE", "TZ")
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9), "tty": (5, 0)}
# What root may still do inside: own, share and change files as it is used to. Nothing of the machine.
CAPABILITIES = ("chown", "dac_override", "fowner", "fsetid", "setgid", "setuid")


class Wall(Record, frozen=True, kw_only=True):
    kind: Kind
    system: tuple[Mount, ...] = ()
    # Of the server, covered wherever it lies: its data directory, its configuration.
    hidden: tuple[Path, ...] = ()
    network: bool = True
    superuser: bool = False

    @property
    def stands(self) -> bool:
        """Whether commands may run without asking a person."""
        return self.kind != "none"


class Cell(Record, frozen=True, kw_only=True):
    """One command and its surroundings. `mountpoint` is an empty directory; `devices` holds device files that
    nobody else uses, so that root inside cannot change the machine's."""

    place: Place
    private: Private
    cwd: Path
    command: str
    mountpoint: Path
    devices: Path | None = None
    groups: tuple[str, ...] = ()


def command_line(wall: Wall, cell: Cell, limits: Limits) -> list[str]:
    """The command is one argument of it, whatever is in it. Standard input must be a pipe: one line comes out
    of it when the command begins, and the command itself has none."""
    first = [*shell_enter(cell.groups), *shell_limits(limits, memory=not cell.groups), 'exec "$@"']
    return ["/bin/sh", "-c", " && ".join(first), "sh", *_walled(wall, cell, limits)]


def _walled(wall: Wall, cell: Cell, limits: Limits) -> list[str]:
    shell = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"
    command = [shell, "-c", "--", cell.command]
    mounts = plan(wall.system, cell.place, cell.private, wall.hidden)
    inner = ["/bin/sh", "-c", _first_process(wall, limits), "sh", *command]
    match wall.kind:
        case "bubblewrap":
            return ["bwrap", *_bubblewrap(wall, cell, mounts), "--", *inner]
        case "unshare":
            return [*_unshare(wall), "/bin/sh", "-c", _unshare_script(wall, cell, mounts), "sh", *inner]
        case "none":
            return [sys.executable, "-I", "-S", alone.__file__, *command]
        case _:
            assert_never(wall.kind)


def _first_process(wall: Wall, limits: Limits) -> str:
    """Waits for the command and for everything that loses its parent. Says nothing of its own."""
    limited = "true" if wall.superuser else f"{{ {shell_process_limit(limits)}; }}"
    return (
        f'{limited} && echo begun >&0 || exit 125; exec </dev/null 3>&2 2>/dev/null; "$@" 2>&3 3>&-; exit $?'
    )


def _bubblewrap(wall: Wall, cell: Cell, mounts: tuple[Mount, ...]) -> list[str]:
    options = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--as-pid-1"]
    options += ["--die-with-parent", "--new-session", "--proc", "/proc", "--dev", "/dev"]
    if not wall.network:
        options.append("--unshare-net")
    if wall.superuser:
        # Much of /proc only asks whether one is root: what runs when a program crashes, for example.
        options += ["--remount-ro", "/proc", "--cap-drop", "ALL"]
        for capability in CAPABILITIES:
            options += ["--cap-add", f"CAP_{capability.upper()}"]
    if cell.devices is not None:
        for name in DEVICES:
            options += ["--dev-bind", str(cell.devices / name), f"/dev/{name}"]
    for directory in ("/home", "/var"):
        options += ["--dir", directory]  # else it is nobody's but root's
    for mount in mounts:
        options += _bubblewrap_mount(mount)
    return [*options, "--remount-ro", "/", "--chdir", str(cell.cwd)]


def _bubblewrap_mount(mount: Mount) -> list[str]:
    match mount:
        case Bind(source=source, target=target, writable=writable):
            return ["--bind" if writable else "--ro-bind", source, target]
        case Link(target=target, to=to):
            return ["--symlink", to, target]
        case CoverDirectory(target=target):
            return ["--tmpfs", target, "--remount-ro", target]
        case CoverFile(target=target):
            return ["--ro-bind", "/dev/null", target]
        case _:
            assert_never(mount)


def _unshare(wall: Wall) -> list[str]:
    options = ["--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts"]
    if not wall.network:
        options.append("--net")
    if not wall.superuser:
        options += ["--user", "--map-current-user", "--keep-caps"]
    return ["setpriv", "--pdeathsig", "KILL", "unshare", *options, "--"]


def _unshare_script(wall: Wall, cell: Cell, mounts: tuple[Mount, ...]) -> str:
    """Builds a root directory below `mountpoint` and moves into it; then gives up what that needed."""
    devices = cell.devices or Path("/dev")
    lines = [
        "set -e",
        f"PATH={SEARCH_PATH}",
        'file() { mkdir -p "${1%/*}"; [ -e "$1" ] || : > "$1"; }',
        'bind() { mount --rbind "$1" "$2"; [ "$3" = rw ] || mount -o remount,bind,ro "$2"; }',
        f"mount -t tmpfs -o mode=755 none {shlex.quote(str(cell.mountpoint))}",
        f"cd {shlex.quote(str(cell.mountpoint))}",
        "mkdir dev proc .before",
        *(line for mount in mounts for line in _unshare_mount(mount)),
        "mount -t tmpfs -o mode=755 none dev",
        "mkdir dev/shm dev/pts",
        "mount -t tmpfs -o mode=1777 none dev/shm",
        "mount -t devpts -o newinstance,ptmxmode=0666,mode=620 none dev/pts",
        "ln -s pts/ptmx dev/ptmx && ln -s /proc/self/fd dev/fd",
        *(
            f"file dev/{name} && mount --bind {shlex.quote(str(devices / name))} dev/{name}"
            for name in DEVICES
        ),
        "mount -t proc none proc",
    ]
    if wall.superuser:
        lines.append("mount -o remount,bind,ro proc")
        kept = ",".join(f"+{name}" for name in CAPABILITIES)
        rights = f"--inh-caps=-all --bounding-set=-all,{kept}"
    else:
        rights = "--inh-caps=-all --ambient-caps=-all --bounding-set=-all"
    lines += [
        "pivot_root . .before",
        "cd /",
        "umount -l /.before",
        "rmdir /.before",
        "mount -o remount,ro /",
        f"cd {shlex.quote(str(cell.cwd))}",
        f'exec setpriv --no-new-privs {rights} "$@"',
    ]
    return "\n".join(lines)


def _unshare_mount(mount: Mount) -> list[str]:
    target = shlex.quote(mount.target.lstrip("/"))
    match mount:
        case Bind(source=source, writable=writable):
            made = f"file {target}" if os.path.isfile(source) else f"mkdir -p {target}"
            return [made, f"bind {shlex.quote(source)} {target} {'rw' if writable else 'ro'}"]
        case Link(to=to):
            return [f"ln -s {shlex.quote(to)} {target}"]
        case CoverDirectory():
            return [f"mount -t tmpfs -o ro,mode=755 none {target}"]
        case CoverFile():
            return [f"mount --bind /dev/null {target}", f"mount -o remount,bind,ro,nodev {target}"]
        case _:
            assert_never(mount)


def environment(wall: Wall, private: Private, mark: str, server: Mapping[str, str]) -> dict[str, str]:
    """All that a command is told: by allow-list, so that no secret is."""
    home, temporary = HOME, TEMPORARY[0]
    if not wall.stands:
        home, temporary = str(private.home), str(private.temporary)
    return {
        **{name: server[name] for name in INHERITED if name in server},
        **{name: value for name, value in server.items() if name.startswith("LC_")},
        **{name: value for name, value in server.items() if name.lower() in PROXIES and "@" not in value},
        "LANG": server.get("LANG", "C.UTF-8"),
        "PATH": SEARCH_PATH,
        "HOME": home,
        "TMPDIR": temporary,
        "SHELL": "/bin/sh",
        # Nobody watches: no pages to turn, no colours, no questions.
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "DEBIAN_FRONTEND": "noninteractive",
        MARK: mark,
    }
