"""What is at a path, as data, and how a change is carried over to what is there now. Pure, except that
contents are looked up by name."""

from collections.abc import Callable
from typing import Literal

from msgspec.structs import replace

from holdfast.changes.merging import merge_texts
from holdfast.core.changes import FileState
from holdfast.core.shapes import Record
from holdfast.workspaces.files.encoding import decode, encode

# The content with that name; None if it was not kept.
Contents = Callable[[str], bytes | None]


class WantedState(Record, frozen=True, kw_only=True):
    """What a path should become. `data` is content that has no name yet."""

    state: FileState | None
    data: bytes | None = None


class MergeConflict(Record, frozen=True, kw_only=True):
    reason: str


Unmerged = Literal["here", "both"]
NOT_KEPT = "its earlier content is not kept (larger than 5 MiB, or swept)"


def carried(
    now: FileState | None, before: FileState | None, after: FileState | None, contents: Contents
) -> WantedState | MergeConflict | None:
    """The change from `before` to `after`, applied to what is there `now`. None if it is already there."""
    if now == after:
        return None
    if now == before:
        if after is not None and after.kind != "directory" and not after.blob:
            return MergeConflict(reason=NOT_KEPT)
        return WantedState(state=after)
    if _is_file(now) and _is_file(before) and _is_file(after):
        return _merged(now, before, after, contents)
    if now is None:
        return MergeConflict(reason="it was deleted meanwhile")
    if before is None:
        return MergeConflict(reason="something else was put there meanwhile")
    if after is None:
        return MergeConflict(reason="it was changed meanwhile")
    return MergeConflict(reason="it is something else now")


def _is_file(state: FileState | None) -> bool:
    return state is not None and state.kind == "file"


def _merged(
    now: FileState | None, before: FileState | None, after: FileState | None, contents: Contents
) -> WantedState | MergeConflict | None:
    assert now is not None
    assert before is not None
    assert after is not None
    mode = after.mode if now.mode == before.mode else now.mode
    if now.blob == after.blob:
        return WantedState(state=replace(now, mode=mode)) if mode != now.mode else None
    if before.blob == after.blob:
        # Only the mode was changed.
        return WantedState(state=replace(now, mode=mode)) if mode != now.mode else None
    if now.blob == before.blob:
        return WantedState(state=replace(after, mode=mode)) if after.blob else MergeConflict(reason=NOT_KEPT)
    data = [contents(state.blob) if state.blob else None for state in (before, now, after)]
    if any(one is None for one in data):
        return MergeConflict(reason=NOT_KEPT)
    texts = [decode(one) for one in data if one is not None]
    if any(text is None for text in texts):
        return MergeConflict(reason="it was changed meanwhile, and it is not text")
    base, ours, theirs = (text for text in texts if text is not None)
    merged = merge_texts(base.text, ours.text, theirs.text)
    if merged is None:
        return MergeConflict(reason="the same lines were changed meanwhile")
    if merged == ours.text:
        return WantedState(state=replace(now, mode=mode)) if mode != now.mode else None
    return WantedState(state=replace(now, mode=mode, blob=""), data=encode(merged, ours.encoding))
