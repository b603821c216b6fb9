"""Changes as people see them: one per file, from before the first change to after the last; renames are
told apart from deletions and creations; each with a diff and its hunks. Pure, except for looking up
contents."""

import hashlib
from collections.abc import Iterable, Sequence

from holdfast.changes.entries import Contents
from holdfast.changes.merging import hunks_of
from holdfast.core.changes import ChangeShown, FileChange, FileState, Operation
from holdfast.core.ids import ChatId
from holdfast.core.shapes import Record
from holdfast.workspaces.files.diffs import changed_lines, unified_diff
from holdfast.workspaces.files.encoding import decode, printable

DIFF_CHARACTERS = 200_000


class Chain(Record, frozen=True, kw_only=True):
    """Consecutive changes of one path in the same state."""

    rows: tuple[FileChange, ...]

    @property
    def last(self) -> FileChange:
        return self.rows[-1]

    @property
    def path(self) -> str:
        return self.last.path

    @property
    def before(self) -> FileState | None:
        return self.rows[0].before

    @property
    def after(self) -> FileState | None:
        return self.last.after

    @property
    def is_nothing(self) -> bool:
        return self.before == self.after


def chains(rows: Iterable[FileChange]) -> list[Chain]:
    """Ordered by path; rows are given oldest first. Directories count too."""
    found: dict[str, list[list[FileChange]]] = {}
    for row in rows:
        of_path = found.setdefault(row.path, [])
        last = of_path[-1][-1] if of_path else None
        follows = last is not None and last.state == row.state and last.place == row.place
        # A change by others in between starts a new chain.
        if follows and last is not None and last.after == row.before:
            of_path[-1].append(row)
        else:
            of_path.append([row])
    return [Chain(rows=tuple(group)) for path in sorted(found) for group in found[path]]


class ShownDifference(Record, frozen=True, kw_only=True):
    diff: str
    additions: int
    deletions: int
    hunks: int


def difference(
    path: str, before: FileState | None, after: FileState | None, contents: Contents
) -> ShownDifference:
    """The diff; modes, links and binary contents are described in words."""
    notes: list[str] = []
    if before is not None and after is not None:
        if before.kind != after.kind:
            notes.append(f"{before.kind} becomes {after.kind}\n")
        elif before.mode != after.mode:
            notes.append(f"old mode {before.mode:o}\nnew mode {after.mode:o}\n")
    elif (new := after or before) is not None and new.kind == "file" and new.mode & 0o111:
        notes.append(f"{'new' if before is None else 'deleted'} file mode {new.mode:o}\n")
    old, new_text = _text(before, contents), _text(after, contents)
    same = before is not None and after is not None and before.blob == after.blob
    if same or (before or after) is None:
        return ShownDifference(diff="".join(notes), additions=0, deletions=0, hunks=0)
    if (before is not None and old is None) or (after is not None and new_text is None):
        notes.append(f"Binary or large file {path} differs\n")
        return ShownDifference(diff="".join(notes), additions=0, deletions=0, hunks=0)
    diff = unified_diff(path, old, new_text, DIFF_CHARACTERS)
    lines = changed_lines(old or "", new_text or "")
    return ShownDifference(
        diff="".join(notes) + diff,
        additions=sum(end - start for _, _, start, end in lines),
        deletions=sum(end - start for start, end, _, _ in lines),
        hunks=len(hunks_of(old or "", new_text or "")),
    )


def text_in(state: FileState | None, contents: Contents) -> str | None:
    """The text of a file; None if it is no file, not text, or was not kept."""
    if state is None or state.kind != "file" or not state.blob:
        return None
    data = contents(state.blob)
    text = None if data is None else decode(data)
    return None if text is None else text.text


def _text(state: FileState | None, contents: Contents) -> str | None:
    if state is None or state.kind == "directory":
        return None
    data = contents(state.blob) if state.blob else None
    text = None if data is None else decode(data)
    return None if text is None else printable(text.text)


def hash_of(diff: str) -> str:
    return hashlib.sha256(diff.encode("utf-8", "replace")).hexdigest()[:32]


def _operation(chain: Chain) -> Operation:
    return "create" if chain.before is None else "delete" if chain.after is None else "edit"


class ListedChain(Record, frozen=True, kw_only=True):
    """`old_path`: it is a rename, from there."""

    chain: Chain
    old_path: str | None = None


def shown_chain(
    listed: ListedChain,
    contents: Contents,
    chat_id: ChatId,
    collisions: Sequence[ChatId] = (),
) -> ChangeShown:
    chain, last = listed.chain, listed.chain.last
    shown = difference(chain.path, chain.before, chain.after, contents)
    return ChangeShown(
        id=last.id,
        chat_id=chat_id,
        path=chain.path,
        operation=_operation(chain) if listed.old_path is None else "rename",
        additions=shown.additions,
        deletions=shown.deletions,
        diff=shown.diff,
        diff_hash=hash_of(shown.diff),
        hunks=shown.hunks,
        turn=last.turn,
        step=last.step,
        state=last.state,
        agent=None if last.chat_id == chat_id else last.chat_id,
        old_path=listed.old_path,
        collisions=tuple(collisions),
        decided_by=last.decided_by,
        decided_at=last.decided_at,
    )


def with_renames(found: Sequence[Chain]) -> list[ListedChain]:
    """A deletion and a creation with the same content become one rename, shown at the new path."""
    gone = {
        (chain.before.blob, chain.last.state): chain
        for chain in found
        if _operation(chain) == "delete" and chain.before is not None and chain.before.blob
    }
    listed: list[ListedChain] = []
    taken: set[str] = set()
    for chain in found:
        old = None
        if _operation(chain) == "create" and chain.after is not None:
            old = gone.pop((chain.after.blob, chain.last.state), None)
        if old is not None:
            taken.add(old.last.id)
        listed.append(ListedChain(chain=chain, old_path=None if old is None else old.path))
    return [one for one in listed if one.chain.last.id not in taken]
