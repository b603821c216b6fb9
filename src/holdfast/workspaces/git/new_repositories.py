"""A repository that a command made: whatever in it names a program is put aside, while the command runs and
when it has ended, because a person's own git would run it without any wall. Everything goes by descriptors
and follows no link."""

import os
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress

import structlog

from holdfast.workspaces.commands.inside.git_parts import identity
from holdfast.workspaces.commands.inside.root import BuildRefused, open_source
from holdfast.workspaces.commands.mounts import CommandPlace
from holdfast.workspaces.git.git_directories import (
    GIT,
    MOST_HOOKS,
    TOO_MANY,
    GitDirectories,
    Seen,
    allow,
    open_directory,
)

log = structlog.get_logger(__name__)

# Between two checks of what a running program makes; longer where a check takes long.
LOOK_SECONDS = 5.0
LOOK_SHARE = 20
# One that keeps restoring what was put aside is stopped.
MOST_PUT_ASIDE = 3
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CONFIG_BYTES = 1024 * 1024
_NOT_TO_BE_READ = "[unknown]\n\tsettings\n"
_SECTION = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]\s*$')
_ENTRY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=(.*))?$")
# Settings that name neither a program nor a file to read settings from.
_HARMLESS: dict[str, frozenset[str]] = {
    "core": frozenset(
        {
            *("repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "symlinks"),
            *("precomposeunicode", "autocrlf", "eol", "safecrlf", "quotepath", "abbrev"),
            *("sparsecheckout", "sparsecheckoutcone", "compression", "packedgitlimit", "bigfilethreshold"),
        }
    ),
    "extensions": frozenset({"objectformat", "partialclone", "refstorage", "worktreeconfig"}),
    "user": frozenset({"name", "email"}),
    "remote": frozenset(
        {
            *("url", "fetch", "pushurl", "push", "tagopt", "mirror", "prune", "promisor"),
            *("partialclonefilter", "skipdefaultupdate", "skipfetchall"),
        }
    ),
    "branch": frozenset({"remote", "merge", "rebase", "pushremote"}),
    "submodule": frozenset({"url", "active", "branch"}),
    "init": frozenset({"defaultbranch"}),
    "pull": frozenset({"rebase", "ff"}),
    "push": frozenset({"default", "autosetupremote"}),
    "commit": frozenset({"gpgsign"}),
    "gc": frozenset({"auto"}),
    "index": frozenset({"sparse", "version", "threads"}),
    "fetch": frozenset({"prune", "prunetags"}),
    "color": frozenset({"ui"}),
}


def put_aside(
    place: CommandPlace, before: Sequence[Seen], directories: GitDirectories, *, running: bool = False
) -> list[str]:
    """What was put aside, as sentences: of repositories that were made since, and of those that commands may
    change and one has changed. While the command is `running` a repository may be half made, which is no
    repository yet. Blocking."""
    after = directories.look(place)
    known = {one.identity: one for one in before}
    trusted = {one.identity for one in after if one.kind != "pointer" and not one.is_bare}
    # Where a submodule's files are: whose .git names its directory.
    pointers = {_leads_to(one.path): os.path.dirname(one.path) for one in after if one.kind == "pointer"}
    said: list[str] = []
    for seen in after:
        old = known.get(seen.identity)
        if old is None and seen.kind == "repository":
            directories.note_made(seen)
        try:
            told = list(_look(seen, old, trusted, pointers, running=running))
        except (OSError, BuildRefused) as error:
            log.warning("a repository cannot be looked at", path=seen.path, reason=str(error))
            told = ["it cannot be looked at: use git in it with care."]
        where = os.path.relpath(seen.path, place.root)
        said += [f"In {where}, which a command made or changed: {sentence}" for sentence in told]
    return said


def _look(
    seen: Seen, old: Seen | None, trusted: set[str], pointers: dict[str | None, str], *, running: bool
) -> Iterator[str]:
    is_as_it_was = old is not None and (old.protected or old.state == seen.state)
    if seen.kind == "pointer":
        if not is_as_it_was and _leads_to(seen.path) not in trusted:
            directory = open_source(os.path.dirname(seen.path))
            try:
                yield _rename(directory, GIT, "it leads to a repository elsewhere")
            finally:
                os.close(directory)
        return
    if is_as_it_was and seen.kind == "worktree":
        return
    git = open_source(seen.path)
    try:
        if seen.state == TOO_MANY and (old is None or old.state != TOO_MANY):
            yield from _without_inner(git)
        if seen.kind == "worktree":
            yield from _tame_worktree(git)
            return
        if _kind(git, "commondir") is not None:
            yield _rename(git, "commondir", "it leads to settings elsewhere")
        if is_as_it_was:
            return
        if seen.kind == "repository" and _kind(git, "HEAD") is None:
            if not running and not seen.is_bare:
                yield from _unfinished(seen.path)
            return
        files = pointers.get(seen.identity)
        yield from _tame(git, os.path.relpath(files, seen.path) if files is not None else None)
    finally:
        os.close(git)


def _leads_to(path: str) -> str | None:
    """The directory that a file named .git names, if there is one and no link on the way."""
    directory, name = os.path.split(path)
    try:
        outer = open_source(directory)
        try:
            text = _text(outer, name) or ""
        finally:
            os.close(outer)
        named = text.removeprefix("gitdir:").strip()
        if not text.startswith("gitdir:") or not named or "\0" in named:
            return None
        found = open_source(os.path.normpath(os.path.join(directory, named)))
    except (OSError, BuildRefused):
        return None
    try:
        return identity(found)
    finally:
        os.close(found)


def _without_inner(git: int) -> Iterator[str]:
    for name in ("modules", "worktrees"):
        if _kind(git, name) is not None:
            yield _rename(git, name, "there is more in it than anybody has")


def _tame_worktree(git: int) -> Iterator[str]:
    """Its settings are those of the repository that it lies in."""
    named = _text(git, "commondir")
    if named is not None and named.strip() != "../..":
        yield _rename(git, "commondir", "it leads to settings elsewhere")
    yield from _tame_settings(git, "config.worktree", None)


def _unfinished(path: str) -> Iterator[str]:
    """Not a repository yet: the next command could make one of it, in which nothing is protected."""
    directory = open_source(os.path.dirname(path))
    try:
        yield _rename(directory, GIT, "it is not a whole repository")
    finally:
        os.close(directory)


def _tame(git: int, worktree: str | None) -> Iterator[str]:
    hooks = _kind(git, "hooks")
    if hooks is not None and not stat.S_ISDIR(hooks):
        yield _rename(git, "hooks", "it leads to hooks elsewhere")
    elif hooks is not None:
        directory = open_directory(git, "hooks")
        try:
            made = [name for name in os.listdir(directory) if not name.endswith((".sample", ".disabled"))]
            for name in sorted(made) if len(made) <= MOST_HOOKS else ():
                yield _rename(directory, name, "a person's git would run this hook")
        finally:
            os.close(directory)
        if len(made) > MOST_HOOKS:
            yield _rename(git, "hooks", "there are more hooks in it than anybody has")
    for name in ("config", "config.worktree"):
        yield from _tame_settings(git, name, worktree)


def _tame_settings(git: int, name: str, worktree: str | None) -> Iterator[str]:
    text = _text(git, name)
    kept, dropped = harmless(text, worktree) if text is not None else ("", [])
    if dropped:
        yield _rename(git, name, f"it sets {', '.join(dropped[:5])}, which a person's git would heed")
        _write(git, name, kept)


def harmless(config: str, worktree: str | None = None) -> tuple[str, list[str]]:
    """What of it may stay, and the names of what may not. `worktree`: what the setting of that name may be,
    as a submodule has it."""
    kept: list[str] = []
    dropped: list[str] = []
    section = ""
    for line in config.replace("\\\n", " ").splitlines():
        if not line.strip() or line.lstrip().startswith(("#", ";")):
            continue
        if match := _SECTION.match(line):
            section = match.group(1).lower()
            kept.append(line)
        elif (match := _ENTRY.match(line)) and (
            _may_stay(section, match.group(1).lower(), match.group(2) or "")
            or _is_worktree(section, match.group(1).lower(), match.group(2) or "", worktree)
        ):
            kept.append(line)
        else:
            dropped.append(f"{section}.{match.group(1) if match else 'something unknown'}")
    return "".join(f"{line}\n" for line in kept), dropped


def _is_worktree(section: str, name: str, value: str, expected: str | None) -> bool:
    return (section, name) == ("core", "worktree") and value.strip() == expected


def _may_stay(section: str, name: str, value: str) -> bool:
    if name not in _HARMLESS.get(section, ()):
        return False
    # `ext::` and the like are programs, with quotes in between too.
    return "::" not in value.replace('"', "").replace("\\", "") or section not in ("remote", "submodule")


def _kind(directory: int, name: str) -> int | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None


def _rename(directory: int, name: str, why: str) -> str:
    aside = f"{name}.disabled"
    if _kind(directory, aside) is not None:
        aside = f"{name}.{secrets.token_hex(8)}.disabled"
    try:
        os.rename(name, aside, src_dir_fd=directory, dst_dir_fd=directory)
    except PermissionError:
        allow(directory)
        os.rename(name, aside, src_dir_fd=directory, dst_dir_fd=directory)
    return f"{name} is now {aside}: {why}."


def _text(directory: int, name: str) -> str | None:
    try:
        file = os.open(name, _FILE, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError:
        return _NOT_TO_BE_READ  # a link, say
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            return _NOT_TO_BE_READ
        text = opened.read(_CONFIG_BYTES + 1)
        return _NOT_TO_BE_READ if len(text) > _CONFIG_BYTES else text.decode("utf-8", "replace")


def _write(directory: int, name: str, text: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o644, dir_fd=directory), "w") as file:
        owner = os.fstat(directory)
        with suppress(OSError):
            os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        file.write(text)
