"""What was changed in a workspace since its last commit, by git, and bounded. Nothing of the repository's own
is run (see `repositories`)."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from holdfast.core.errors import HoldfastError, InvalidInput, TryAgain
from holdfast.core.shapes import Record
from holdfast.workspaces.beneath import Root, Tree
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.diffs import unified_diff
from holdfast.workspaces.paths import Parts, shown_path
from holdfast.workspaces.reading import open_file, read_up_to
from holdfast.workspaces.repositories import EMPTY_TREE, Repository, borrowed, find_repository
from holdfast.workspaces.streams import drained, kill_group, read_at_most
from holdfast.workspaces.texts import decode, printable

GIT_SECONDS = 30.0
DIFF_BYTES = 1024 * 1024
_NEW_FILES = 200
_NEW_FILE_BYTES = 256 * 1024
_NAMES_BYTES = 4 * 1024 * 1024


class Difference(Record, frozen=True, kw_only=True):
    """Against the commit that is checked out: changed files, then new ones. `truncated`: there is more."""

    text: str
    truncated: bool = False
    new_files: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.text and not self.new_files


async def diff_workspace(root: Root, trusted: Sequence[Path] = (), limit: int = DIFF_BYTES) -> Difference:
    repository = await blocking(lambda: find_repository(root, trusted))
    async with borrowed(repository, root.path) as own:
        if not own.has_index:
            await run_git(own.environment, root.path, "read-tree", repository.head or EMPTY_TREE)
        changed, cut = await _changes(own.environment, root, repository, limit)
        names, _ = await run_git(
            own.environment, root.path, "ls-files", "-z", "--others", "--exclude-standard", limit=_NAMES_BYTES
        )
    new = sorted(os.fsdecode(name) for name in names.split(b"\0") if name)
    added = await blocking(lambda: _additions(root, new, limit - len(changed)))
    return Difference(
        text=printable(changed.decode("utf-8", "replace")) + added,
        truncated=cut or len(new) > _NEW_FILES,
        new_files=tuple(shown_path((name,)) for name in new[:_NEW_FILES]),
    )


async def _changes(
    environment: Mapping[str, str], root: Root, repository: Repository, limit: int
) -> tuple[bytes, bool]:
    # Other repositories inside would be asked with their own settings: they are left out.
    options = "--no-color --no-ext-diff --no-textconv --ignore-submodules=all --src-prefix=a/ --dst-prefix=b/"
    base = repository.head or EMPTY_TREE
    return await run_git(environment, root.path, "diff", *options.split(), base, "--", limit=limit)


async def run_git(
    environment: Mapping[str, str], cwd: Path, *arguments: str, limit: int = DIFF_BYTES
) -> tuple[bytes, bool]:
    """What git says, and whether that was cut. Arguments are a list, never a shell's."""
    try:
        process = await asyncio.create_subprocess_exec(
            "git",
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=cwd,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        raise InvalidInput(f"git cannot be run ({error.strerror}). Install git on the server.") from error
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.create_task(read_at_most(process.stderr, 5000))
    try:
        async with asyncio.timeout(GIT_SECONDS):
            output = await read_at_most(process.stdout, limit + 1)
            if len(output) <= limit and await process.wait() != 0:
                raise InvalidInput(f"git could not do it: {_last_line(await errors)}")
            return output[:limit], len(output) > limit
    except TimeoutError:
        raise TryAgain(f"git did not end within {GIT_SECONDS:g} s.") from None
    finally:
        kill_group(process)
        await errors
        await drained(process)


def _last_line(errors: bytes) -> str:
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:300] if lines else "it gave no reason"


def _additions(root: Root, names: list[str], room: int) -> str:
    pieces: list[str] = []
    with root.open() as tree:
        for name in names[:_NEW_FILES]:
            if room <= 0:
                break
            piece = _addition(tree, tuple(name.rstrip("/").split("/")), room)
            room -= len(piece)
            pieces.append(piece)
    return "".join(pieces)


def _addition(tree: Tree, parts: Parts, room: int) -> str:
    """A new file as a diff; what is not text, or too much of it, is only named."""
    path = shown_path(parts)
    try:
        with tree.place(parts, follow=False) as place, open_file(place, parts) as descriptor:
            data = read_up_to(descriptor, _NEW_FILE_BYTES + 1)
    except HoldfastError:
        return f"Only in b: {path}\n"
    text = decode(data) if len(data) <= min(_NEW_FILE_BYTES, room) else None
    if text is None:
        return f"Only in b: {path} ({len(data)} bytes{' or more' if len(data) > _NEW_FILE_BYTES else ''})\n"
    return unified_diff(path, None, printable(text.text), room)
