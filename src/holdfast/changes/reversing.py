"""Decides what to write to undo changes. Each change is undone on the current file: later edits by others
are merged, and where a merge is not certain the file is left alone and reported. Writes nothing but
contents."""

from collections.abc import Callable, Iterable, Sequence

from holdfast.changes.entries import MergeConflict, WantedState, carried
from holdfast.changes.listing import text_in
from holdfast.changes.merging import only_hunks
from holdfast.changes.objects import Objects
from holdfast.core.changes import ActionName, FileAction, FileChange, FileState, PlacedFile
from holdfast.core.errors import HoldfastError
from holdfast.core.shapes import Record
from holdfast.workspaces.files.encoding import decode, encode

# What is at a path now.
Now = Callable[[str], FileState | None]


class Reversal(Record, frozen=True, kw_only=True):
    files: tuple[PlacedFile, ...]
    actions: tuple[FileAction, ...]
    # Rows that are undone, without those of files that were left alone.
    rows: tuple[FileChange, ...]

    @property
    def reverted(self) -> frozenset[str]:
        return frozenset(row.id for row in self.rows)


def reverse(rows: Iterable[FileChange], now: Now, objects: Objects) -> Reversal:
    """`rows` are given oldest first."""
    by_path: dict[str, list[FileChange]] = {}
    for row in rows:
        by_path.setdefault(row.path, []).append(row)
    files: list[PlacedFile] = []
    actions: list[FileAction] = []
    reverted: list[FileChange] = []
    for path in sorted(by_path):
        try:
            found = now(path)
        except HoldfastError as error:
            actions.append(FileAction(path=path, action="leave", conflict=error.text))
            continue
        ended = _reversed(found, by_path[path], objects)
        is_directory = all(
            state is None or state.kind == "directory"
            for row in by_path[path]
            for state in (row.before, row.after)
        )
        if isinstance(ended, MergeConflict):
            if not is_directory:
                actions.append(FileAction(path=path, action="leave", conflict=ended.reason))
            continue
        reverted += by_path[path]
        if ended == found:
            continue
        files.append(PlacedFile(path=path, before=found, after=ended))
        if not is_directory:
            actions.append(FileAction(path=path, action=_action(ended, by_path[path][0].before)))
    return Reversal(files=tuple(files), actions=tuple(actions), rows=tuple(reverted))


def _action(ended: FileState | None, before: FileState | None) -> ActionName:
    if ended is None:
        return "delete"
    return "restore" if ended == before else "merge"


def _reversed(
    found: FileState | None, rows: Sequence[FileChange], objects: Objects
) -> FileState | MergeConflict | None:
    state = found
    for row in reversed(rows):
        wanted = carried(state, row.after, row.before, objects.get)
        if isinstance(wanted, MergeConflict):
            return wanted
        if wanted is not None:
            state = kept(wanted, objects)
    return state


def kept(wanted: WantedState, objects: Objects) -> FileState | None:
    """The wanted state, with its content kept under a name."""
    if wanted.data is None or wanted.state is None:
        return wanted.state
    return FileState(kind=wanted.state.kind, mode=wanted.state.mode, blob=objects.put(wanted.data))


def part_of(
    before: FileState | None, after: FileState | None, chosen: frozenset[int], objects: Objects
) -> FileState | None:
    """`before` with only these hunks of the change applied. None if the change has no hunks."""
    old, new = text_in(before, objects.get), text_in(after, objects.get)
    like = after or before
    if like is None or (before is not None and old is None) or (after is not None and new is None):
        return None
    data = None if like.blob == "" else objects.get(like.blob)
    text = None if data is None else decode(data)
    if text is None:
        return None
    made = only_hunks(old or "", new or "", chosen)
    return FileState(kind="file", mode=like.mode, blob=objects.put(encode(made, text.encoding)))
