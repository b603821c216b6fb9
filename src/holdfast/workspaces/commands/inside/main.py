"""The program itself: reads from its command line what to build, builds it, and becomes the command. If
anything goes wrong, nothing of the command has run."""

import os
import sys

from holdfast.workspaces.commands.inside import git_parts, kernel, rights
from holdfast.workspaces.commands.inside.root import BuildRefused, NewRoot, open_source

# chown, dac_override, fowner, setgid, setuid: commands of a root server expect these for their own files.
KEPT = (0, 1, 3, 6, 7)
# And, where users cannot be mapped and it stays root, fsetid.
KEPT_AS_ROOT = (0, 1, 3, 4, 6, 7)


def main(words: list[str]) -> None:
    try:
        plan, command = _read(words)
        _build(plan)
        os.execv(command[0], command)  # noqa: S606
    except (BuildRefused, OSError) as error:
        said = str(error) if isinstance(error, BuildRefused) else f"{error.strerror or error}"
        sys.stderr.write(f"holdfast: {said}\n")
    sys.exit(125)


class _Plan:
    def __init__(self) -> None:
        self.single: dict[str, str] = {}
        # In order: (what, source or text, target, how)
        self.mounts: list[tuple[str, str, str, str]] = []
        # (root, what it is, the git directories that are expected there)
        self.git: list[tuple[str, str, str]] = []


def _read(words: list[str]) -> tuple[_Plan, list[str]]:
    """`name value` for single values, then `mount what source target how`, `git root what expected`, `--`."""
    plan = _Plan()
    place = 0
    while words[place] != "--":
        match words[place]:
            case "mount":
                what, source, target, how = words[place + 1 : place + 5]
                plan.mounts.append((what, source, target, how))
                place += 5
            case "git":
                plan.git.append((words[place + 1], words[place + 2], words[place + 3]))
                place += 4
            case name:
                plan.single[name] = words[place + 1]
                place += 2
    return plan, words[place + 1 :]


def _build(plan: _Plan) -> None:
    mask = os.umask(0o022)
    # All sources are opened before the first of them is mounted anywhere.
    sources = {
        (source, target): open_source(source) for what, source, target, _ in plan.mounts if what == "bind"
    }
    processes = kernel.new_file_system("proc", kernel.NO_SETUID | kernel.NO_DEVICES)
    who = _Who(plan, sources, processes)
    place = plan.single["place"]
    for root, what, _ in plan.git:
        if (source := sources.get((root, root))) is not None:
            git_parts.make_missing(source, "", what)
        elif what == "nested":
            git_parts.make_missing(sources[place, place], root.removeprefix(place).strip("/"), what)
    # Copied before there is a new root, which may be below one of them and must not be copied with it.
    trees = {
        (source, target): _copied(sources[source, target], how, who)
        for what, source, target, how in plan.mounts
        if what == "bind"
    }
    new = NewRoot(plan.single["root"])
    for mount in plan.mounts:
        _mount(new, mount, sources, trees)
    for root, what, expected in plan.git:
        git_parts.protect(new, root, what, expected, place)
    who.write_down(new)
    new.devices(plan.single["devices"])
    new.processes(processes, read_only=plan.single["identity"] == "root")
    new.enter()
    _close_all_but(who.users)
    who.become()
    os.chdir(plan.single["cwd"])
    os.umask(mask)
    kernel.heed_signals()
    kernel.prctl(kernel.SET_PARENT_DEATH_SIGNAL, 9)
    if "filter" in plan.single:
        kernel.filter_calls(bytes.fromhex(plan.single["filter"]))


def _copied(source: int, how: str, who: "_Who") -> int:
    tree = kernel.clone_tree(source)
    attributes = kernel.NO_SETUID | kernel.NO_DEVICES | (0 if how.startswith("rw") else kernel.READ_ONLY)
    kernel.set_attributes(tree, attributes, who.mapping(source) if how.endswith("own") else None)
    return tree


def _mount(
    new: NewRoot,
    mount: tuple[str, str, str, str],
    sources: dict[tuple[str, str], int],
    trees: dict[tuple[str, str], int],
) -> None:
    what, source, target, how = mount
    match what:
        case "bind":
            new.bind(sources[source, target], trees[source, target], target)
        case "link":
            new.link(target, source)
        case "cover":
            if how:
                new.pin_above(target, how)
            new.cover(target)
        case "text":
            new.text(target, source)
        case _:
            raise BuildRefused(f"unknown kind of mount {what}")


class _Who:
    """The user of the command. `identity`: `mapped` (for a root server), `root` (where that is not possible),
    `own` (the server's own user, in a namespace without any other)."""

    def __init__(self, plan: _Plan, sources: dict[tuple[str, str], int], processes: int) -> None:
        self._identity = plan.single["identity"]
        self._processes = processes
        self._mappings: dict[tuple[int, int], int] = {}
        self.users: int | None = None
        if self._identity == "mapped":
            place = plan.single["place"]
            owner = os.fstat(sources[place, place])
            self._owner = (owner.st_uid, owner.st_gid)
            self.user, self.group = rights.seen_as(owner.st_uid), rights.seen_as(owner.st_gid)
            self.users = rights.user_namespace(
                processes, rights.swapped(owner.st_uid, self.user), rights.swapped(owner.st_gid, self.group)
            )

    def mapping(self, opened: int) -> int | None:
        """The namespace through which a mount is seen, so that its owner is the command's user."""
        if self._identity != "mapped":
            return None
        found = os.fstat(opened)
        owner = (found.st_uid, found.st_gid)
        if owner not in self._mappings:
            self._mappings[owner] = rights.user_namespace(
                self._processes,
                rights.swapped(owner[0], self._owner[0]),
                rights.swapped(owner[1], self._owner[1]),
            )
        return self._mappings[owner]

    def write_down(self, new: NewRoot) -> None:
        """Programs ask for the name of their user."""
        if self._identity != "mapped":
            return
        for path, number, line in (
            ("/etc/passwd", self.user, f"holdfast:x:{self.user}:{self.group}::/home/holdfast:/bin/sh\n"),
            ("/etc/group", self.group, f"holdfast:x:{self.group}:\n"),
        ):
            try:
                with open(path, encoding="utf-8", errors="surrogateescape") as file:
                    known = file.read()
            except OSError:
                continue
            if all(one.split(":")[2:3] != [str(number)] for one in known.splitlines()):
                new.text(path, known + line)

    def become(self) -> None:
        match self._identity:
            case "mapped":
                assert self.users is not None
                rights.become(self.users, self.user, self.group)
                rights.give_up(KEPT)
            case "root":
                rights.give_up(KEPT_AS_ROOT)
            case _:
                rights.give_up(())


def _close_all_but(kept: int | None) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != kept:
            try:
                os.close(int(name))
            except OSError:
                continue  # the one that the list was read through


if __name__ == "__main__":
    main(sys.argv[1:])
