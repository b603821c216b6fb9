"""The wall around commands: a command line that runs a command in its own namespaces, created by bubblewrap
or by unshare. Inside, the first process is our shell: when it ends, the kernel ends all others."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, assert_never

from holdfast.core.shapes import Record
from holdfast.workspaces.commands import system_calls, unwalled_runner
from holdfast.workspaces.commands.command_user import Identity, identity_of
from holdfast.workspaces.commands.limits import CommandLimits, shell_enter, shell_limits, shell_process_limit
from holdfast.workspaces.commands.mounts import (
    HOME,
    TEMPORARY,
    Bind,
    CommandPlace,
    CoverDirectory,
    CoverFile,
    Link,
    Mount,
    Private,
    plan,
    unreadable_to_others,
)

Kind = Literal["bubblewrap", "unshare", "none"]

# In the environment of everything a command starts: identifies left-over processes as ours.
MARK = "HOLDFAST_PROCESS"
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# What commands may inherit of the server's environment. Never a secret.
INHERITED = ("LANG", "LANGUAGE", "TZ")
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
# Found by where this package is, and nothing else of it is imported.
_SOURCES = str(Path(__file__).parents[3])
_PROGRAM = (
    "import sys; sys.path.append(sys.argv.pop(1)); "
    "from holdfast.workspaces.commands.inside.main import main; main(sys.argv[1:])"
)
DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9), "tty": (5, 0)}


class Wall(Record, frozen=True, kw_only=True):
    kind: Kind
    system: tuple[Mount, ...] = ()
    # Parts of the server, covered wherever they are: its data directory, its configuration.
    hidden: tuple[Path, ...] = ()
    # Whether commands use the machine's own network.
    network: bool = True
    superuser: bool = False

    @property
    def stands(self) -> bool:
        """Whether commands may run without asking a person."""
        return self.kind != "none"


class Joined(Record, frozen=True, kw_only=True):
    """A network that the commands of one chat share: the process that holds it, and the address of its
    resolver."""

    pid: int
    resolver: str | None = None


class Protected(Record, frozen=True, kw_only=True):
    """A repository whose hooks and settings commands must not change: `path` is the workspace, a directory in
    it, or a repository that it is a worktree of."""

    path: str
    kind: Literal["workspace", "nested", "repository"]
    # The git directories that must be there when the wall is built, by device and inode; empty: any.
    expected: str = ""


class Cell(Record, frozen=True, kw_only=True):
    """One command and its surroundings. `mountpoint` is an empty directory; `devices` holds device files that
    nobody else uses, so that root inside cannot change the machine's."""

    place: CommandPlace
    private: Private
    cwd: Path
    # For a shell; or a program and its arguments.
    command: str | tuple[str, ...]
    mountpoint: Path
    devices: Path | None = None
    groups: tuple[str, ...] = ()
    # None: the machine's, if the wall has that; else none at all.
    network: Joined | None = None
    # None at all, whatever the wall has.
    offline: bool = False
    # Whether standard input, which must be a socket then, is the command's own once it has begun.
    keeps_input: bool = False
    # Whether hooks and settings of repositories are read-only; our own programs may have to write them.
    protects_git: bool = True
    # Empty: that of the workspace, and what it is a worktree of.
    repositories: tuple[Protected, ...] = ()


def command_line(wall: Wall, cell: Cell, limits: CommandLimits) -> list[str]:
    """The command is one argument of it, whatever it contains. Standard input must be a pipe: one line is
    written to it when the command starts, and the command itself has none."""
    first = [*shell_enter(cell.groups), *shell_limits(limits, memory=not cell.groups), 'exec "$@"']
    return ["/bin/sh", "-c", " && ".join(first), "sh", *_walled(wall, cell, limits)]


def _walled(wall: Wall, cell: Cell, limits: CommandLimits) -> list[str]:
    shell = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"
    command = [shell, "-c", "--", cell.command] if isinstance(cell.command, str) else list(cell.command)
    if wall.kind == "none":
        return [sys.executable, "-I", "-S", unwalled_runner.__file__, *command]
    identity = identity_of(wall, cell.place, cell.private)
    first = ["/bin/sh", "-c", _first_process(identity, limits, cell.keeps_input), "sh", *command]
    inside = [sys.executable, "-I", "-S", "-c", _PROGRAM, _SOURCES, *_plan_words(wall, cell, identity)]
    return [*_join(wall, cell.network), *_namespaces(wall, cell), *inside, "--", *first]


def _first_process(identity: Identity, limits: CommandLimits, keeps_input: bool) -> str:
    """Waits for the command and for everything that loses its parent. Prints nothing itself."""
    limited = "true" if identity == "root" else f"{{ {shell_process_limit(limits)}; }}"
    closed = "" if keeps_input else "</dev/null"
    return f'{limited} && echo begun >&0 || exit 125; exec {closed} 3>&2 2>/dev/null; "$@" 2>&3 3>&-; exit $?'


def _join(wall: Wall, network: Joined | None) -> list[str]:
    """Joins the network that the commands of a chat share."""
    if network is None or wall.network:
        return []
    words = ["nsenter", f"--net=/proc/{network.pid}/ns/net"]
    if not wall.superuser:
        words += [f"--user=/proc/{network.pid}/ns/user", "--preserve-credentials"]
    return [*words, "--"]


def _namespaces(wall: Wall, cell: Cell) -> list[str]:
    """Empty ones, in which the program behind the wall then builds what the command sees."""
    alone = cell.offline or (not wall.network and cell.network is None)
    if wall.kind == "bubblewrap":
        options = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--as-pid-1"]
        options += ["--die-with-parent", "--new-session", "--dev-bind", "/", "/", "--cap-add", "ALL"]
        options += ["--unshare-user"] if not wall.superuser else []
        return ["bwrap", *options, *(["--unshare-net"] if alone else []), "--"]
    options = ["--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts"]
    options += ["--net"] if alone else []
    options += [] if wall.superuser else ["--user", "--map-current-user", "--keep-caps"]
    return ["setpriv", "--pdeathsig", "KILL", "unshare", *options, "--"]


def _plan_words(wall: Wall, cell: Cell, identity: Identity) -> list[str]:
    """What the program behind the wall is to build."""
    devices = cell.devices if identity == "root" else None
    words = ["identity", identity, "place", str(cell.place.root), "root", str(cell.mountpoint)]
    words += ["cwd", str(cell.cwd), "devices", str(devices or "/dev")]
    if (filtered := system_calls.program()) is not None:
        words += ["filter", filtered.hex()]
    system = (*wall.system, *(unreadable_to_others() if identity == "root" else ()))
    for mount in plan(system, cell.place, cell.private, wall.hidden):
        words += ["mount", *_mount_words(mount, cell.place)]
    if cell.network is not None and not wall.network and cell.network.resolver is not None:
        where = os.path.realpath("/etc/resolv.conf")
        words += ["mount", "text", f"nameserver {cell.network.resolver}\n", where, ""]
    if cell.protects_git:
        for repository in cell.repositories or _of_place(cell.place):
            words += ["git", repository.path, repository.kind, repository.expected]
    return words


def _of_place(place: CommandPlace) -> tuple[Protected, ...]:
    return (
        Protected(path=str(place.root), kind="workspace"),
        *(Protected(path=str(path), kind="repository") for path in place.writable),
    )


def _mount_words(mount: Mount, place: CommandPlace) -> tuple[str, str, str, str]:
    match mount:
        case Bind(source=source, target=target, writable=writable, own=own):
            return "bind", source, target, f"{'rw' if writable else 'ro'}{'-own' if own else ''}"
        case Link(target=target, to=to):
            return "link", to, target, ""
        case CoverDirectory(target=target) | CoverFile(target=target):
            return (
                "cover",
                "",
                target,
                next(
                    (
                        str(root)
                        for root in (place.root, *place.writable)
                        if Path(target).is_relative_to(root)
                    ),
                    "",
                ),
            )
        case _:
            assert_never(mount)


def environment(wall: Wall, private: Private, mark: str, server: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a command: an allow-list, so that it contains no secret."""
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
        # Nobody is watching: no pagers, no colours, no prompts.
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "DEBIAN_FRONTEND": "noninteractive",
        MARK: mark,
    }
