"""What a chat's calls do with files: the file operations, combined with what the chat has seen before and
what a repeated call may do. Blocking; every answer and every error is a sentence for a model."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal

from holdfast.core.collisions import Lines
from holdfast.core.edit_intents import EditIntent, IntendedFile
from holdfast.core.errors import CallOver, HoldfastError, InvalidInput, NotFound, WrongState
from holdfast.core.ids import ChatId
from holdfast.core.parts import Outcome
from holdfast.core.shapes import Record
from holdfast.workspaces.files.diffs import DIFF_CHARACTERS, Change, changed_lines, unified_diff
from holdfast.workspaces.files.edits import MAX_EDITS, EditRefusal, PassageEdit, apply_edits
from holdfast.workspaces.files.encoding import decode, encode, printable
from holdfast.workspaces.files.file_root import Root, Tree
from holdfast.workspaces.files.git_guard import Guard
from holdfast.workspaces.files.line_ranges import WHOLE_BYTES, fingerprint_of, read_lines, read_whole, text_of
from holdfast.workspaces.files.paths import Parts, shown, shown_path
from holdfast.workspaces.files.read_state import SeenFiles
from holdfast.workspaces.files.writes import (
    Before,
    DirectoryEntry,
    Replacement,
    delete_file,
    list_directory,
    replace_files,
    sweep_around,
    write_file,
)
from holdfast.workspaces.search.prompt_fit import fitting

# Of changed lines; a file with more counts as changed everywhere.
_MOST_RANGES = 200
# Descriptors of all of them are held until everything is written.
MAX_FILES = 100

_Edits = Sequence[tuple[str, PassageEdit]]
_State = Literal["before", "after", "other"]


class Touched(Record, frozen=True, kw_only=True):
    """A file that was written or deleted, and which of its lines changed."""

    parts: Parts
    # None: it no longer exists.
    fingerprint: str | None
    lines: Lines = None


class FileOutcome(Record, frozen=True, kw_only=True):
    text: str
    diff: str | None = None
    touched: tuple[Touched, ...] = ()
    # uncertain: somebody changed the files since, and nobody can tell what the call did.
    outcome: Outcome = "succeeded"


class Planned(Record, frozen=True, kw_only=True):
    """An edit that was decided and not made yet, with what to report about each file."""

    changes: tuple[tuple[Replacement, list[str]], ...]

    @property
    def files(self) -> tuple[IntendedFile, ...]:
        return tuple(
            IntendedFile(
                parts=change.parts, before=fingerprint_of(change.before), after=fingerprint_of(change.after)
            )
            for change, _ in self.changes
        )


class ChatFiles:
    """`repeated`: the call may have been run before, by a server that died. `guard`: what must not be
    written, beyond what the root itself tells. `still_ours` is called directly before anything is written."""

    def __init__(
        self,
        root: Root,
        seen: SeenFiles,
        chat_id: ChatId,
        *,
        repeated: bool,
        guard: Guard | None = None,
        still_ours: Callable[[], bool] = lambda: True,
    ) -> None:
        self._root = root
        self._guard = guard or Guard(root.path)
        self._still_ours = still_ours
        self._seen = seen
        self._chat_id = chat_id
        self._repeated = repeated

    def read(self, path: str, first: int | None, last: int | None) -> FileOutcome:
        parts = self._root.parse(path)
        with self._root.open() as tree:
            excerpt = read_lines(tree, parts, first, last)
        self._note(parts, excerpt.fingerprint)
        if not excerpt.notes:
            return FileOutcome(text=excerpt.text)
        start = "" if not excerpt.text or excerpt.text.endswith("\n") else "\n"
        return FileOutcome(text=f"{excerpt.text}{start}[{'; '.join(excerpt.notes)}]")

    def look(self, path: str) -> FileOutcome:
        parts = self._root.parse(path)
        with self._root.open() as tree:
            entries, count = list_directory(tree, parts)
        if not count:
            return FileOutcome(text=f"[{shown_path(parts)} is empty]")
        lines = [_line(entry) for entry in entries]
        lines = lines[: fitting(lines)]
        if count > len(lines):
            lines.append(f"[{count - len(lines)} more entries; use glob to find what you are looking for]")
        return FileOutcome(text="\n".join(lines))

    def write(self, path: str, content: str) -> FileOutcome:
        parts = self._root.parse(path)
        data = _encoded(content)
        with self._root.open() as tree, tree.locked() as alone:
            if alone and self._repeated:
                sweep_around(tree, parts)
            check = partial(self._check_write, parts)
            before = write_file(tree, parts, data, check, self._guard)
            self._note(parts, fingerprint_of(data))
        where = shown_path(parts)
        if before is not None and before.data == data:
            return FileOutcome(text=f"{where} holds exactly this already.")
        touched = Touched(
            parts=parts, fingerprint=fingerprint_of(data), lines=_lines(before and before.data, data)
        )
        what = f"Wrote {where}, a new file." if before is None else f"Wrote {where}."
        return FileOutcome(text=what, diff=_diff(parts, before, data), touched=(touched,))

    def delete(self, path: str) -> FileOutcome:
        parts = self._root.parse(path)
        try:
            with self._root.open() as tree, tree.locked():
                check = partial(self._check_delete, parts)
                before = delete_file(tree, parts, check, self._guard)
                self._seen.forget(self._chat_id, self._root, parts)
        except NotFound:
            if not self._repeated:
                raise
            return FileOutcome(
                text=f"{shown_path(parts)} is not there any more: the call did it before it was cut off."
            )
        touched = Touched(parts=parts, fingerprint=None)
        return FileOutcome(
            text=f"Deleted {shown_path(parts)}.", diff=_diff(parts, before, None), touched=(touched,)
        )

    def edit(self, edits: _Edits) -> FileOutcome:
        """All or none, as long as the server lives."""
        numbered = self._numbered(edits)
        with self._root.open() as tree, tree.locked():
            return self._made(tree, self._edited(tree, numbered))

    def plan(self, edits: _Edits) -> Planned:
        """The result of the edits. Nothing is written, and nobody is kept from writing."""
        numbered = self._numbered(edits)
        with self._root.open() as tree:
            return Planned(changes=tuple(self._edited(tree, numbered)))

    def make(self, planned: Planned) -> FileOutcome:
        """WrongState: a file is not what it was when this was planned. Nothing was written."""
        with self._root.open() as tree, tree.locked():
            return self._made(tree, planned.changes)

    def _made(self, tree: Tree, changes: Sequence[tuple[Replacement, list[str]]]) -> FileOutcome:
        self._check_ours()
        replace_files(tree, [change for change, _ in changes], self._guard)
        for change, _ in changes:
            self._note(change.parts, fingerprint_of(change.after))
        names = ", ".join(shown_path(change.parts) for change, _ in changes)
        notes = [note for _, told in changes for note in told]
        touched = [
            Touched(
                parts=change.parts,
                fingerprint=fingerprint_of(change.after),
                lines=_lines(change.before, change.after, change.lines),
            )
            for change, _ in changes
        ]
        return FileOutcome(
            text="\n".join([f"Edited {names}.", *notes]), diff=_diffs(changes), touched=tuple(touched)
        )

    def resume(self, intent: EditIntent, *, begin: bool = True) -> FileOutcome:
        """Completes an edit that a server started and did not finish: files that are still unchanged get
        their new content. If anybody changed one of them since, all are left as they are. `begin=False`: if
        no file was changed, none is."""
        numbered = self._numbered(
            [(one.path, PassageEdit(old=one.old, new=one.new, all=one.all)) for one in intent.edits]
        )
        with self._root.open() as tree, tree.locked() as alone:
            if alone:
                for each in intent.files:
                    sweep_around(tree, each.parts)
            found: dict[IntendedFile, _State] = {each: _state(tree, each) for each in intent.files}
            if "other" in found.values():
                return _left(found)
            missing = {each.parts: each for each, state in found.items() if state == "before"}
            if missing and not begin and len(missing) == len(found):
                return FileOutcome(text="No file was changed.")
            group = {parts: numbered[parts] for parts in missing if parts in numbered}
            changes = [change for change, _ in self._edited(tree, group)]
            if any(fingerprint_of(change.after) != missing[change.parts].after for change in changes):
                return _left(found)
            self._check_ours()
            replace_files(tree, changes, self._guard)
            for each in intent.files:
                self._note(each.parts, each.after)
        names = ", ".join(shown_path(each.parts) for each in intent.files)
        return FileOutcome(
            text=f"Edited {names}. The server stopped while this ran; it was brought to an end after that.",
            touched=tuple(Touched(parts=each.parts, fingerprint=each.after) for each in intent.files),
        )

    def _numbered(self, edits: _Edits) -> dict[Parts, list[tuple[int, PassageEdit]]]:
        """The edits of each file, with their positions in the call."""
        if not edits:
            raise InvalidInput("There is no edit in this call. Give at least one.")
        if len(edits) > MAX_EDITS:
            raise InvalidInput(
                f"One call makes at most {MAX_EDITS} edits, not {len(edits)}. Make several calls."
            )
        numbered: dict[Parts, list[tuple[int, PassageEdit]]] = {}
        for number, (path, edit) in enumerate(edits, 1):
            numbered.setdefault(self._root.parse(path), []).append((number, edit))
        if len(numbered) > MAX_FILES:
            raise InvalidInput(
                f"One call edits at most {MAX_FILES} files, not {len(numbered)}. Make several calls."
            )
        return numbered

    def _edited(
        self, tree: Tree, numbered: dict[Parts, list[tuple[int, PassageEdit]]]
    ) -> list[tuple[Replacement, list[str]]]:
        """What the files become, and what to report about it. Nothing is written."""
        changes: list[tuple[Replacement, list[str]]] = []
        files: dict[tuple[int, int], Parts] = {}
        for parts, group in numbered.items():
            with tree.place(parts) as place:
                data = read_whole(place, parts)
                info = os.stat(place.name, dir_fd=place.directory, follow_symlinks=False)
            other = files.setdefault((info.st_dev, info.st_ino), parts)
            if other != parts:
                raise InvalidInput(
                    f"{shown_path(parts)} and {shown_path(other)} are the same file. Use one name for all "
                    "its edits."
                )
            self._seen.check(self._chat_id, self._root, parts, fingerprint_of(data))
            text = text_of(data, parts)
            answer = apply_edits(text.text, [edit for _, edit in group])
            if isinstance(answer, EditRefusal):
                raise _refused(parts, group[answer.edit][0], answer)
            after = encode(answer.text, text.encoding)
            notes = [f"{shown_path(parts)}, {note}" for note in answer.notes]
            change = Replacement(parts=parts, before=data, after=after, lines=answer.changes)
            changes.append((change, notes))
        return changes

    def _note(self, parts: Parts, fingerprint: str) -> None:
        self._seen.note(self._chat_id, self._root, parts, fingerprint)

    def _check_ours(self) -> None:
        if not self._still_ours():
            raise CallOver(
                "This call is no longer running here: it was given up, or another server has taken the "
                "chat over. Nothing was written."
            )

    def _check_write(self, parts: Parts, before: Before | None) -> None:
        if self._repeated and before is not None:
            raise _cut_off(parts, "holds something else than it was to write")
        self._seen.check(self._chat_id, self._root, parts, None if before is None else before.fingerprint)
        self._check_ours()

    def _check_delete(self, parts: Parts, before: Before | None) -> None:
        if self._repeated:
            raise _cut_off(parts, "is there")
        if before is not None:
            self._seen.check(self._chat_id, self._root, parts, before.fingerprint)
        self._check_ours()


def _encoded(content: str) -> bytes:
    data = content.encode("utf-8", "replace")
    if len(data) > WHOLE_BYTES:
        raise InvalidInput(
            f"The content has {len(data)} bytes, more than the {WHOLE_BYTES // 2**20} MiB of one call. "
            "Write it with a command, or in several files."
        )
    return data


def _cut_off(parts: Parts, state: str) -> WrongState:
    return WrongState(
        f"The server stopped while this call ran, and it was run again. {shown_path(parts)} {state}: the "
        "call did not get this far, or somebody has changed the file since. Nothing was changed this time. "
        "Look at the file, and call again if that is still right."
    )


def _refused(parts: Parts, number: int, refusal: EditRefusal) -> InvalidInput:
    return InvalidInput(f"Edit {number} ({shown_path(parts)}): {refusal.text}\nNo file was changed.")


def _state(tree: Tree, intended: IntendedFile) -> _State:
    """What became of a file that was to be edited."""
    try:
        with tree.place(intended.parts) as place:
            digest = fingerprint_of(read_whole(place, intended.parts))
    except HoldfastError:
        return "other"  # gone, or not a file any more
    return "before" if digest == intended.before else "after" if digest == intended.after else "other"


def _left(found: Mapping[IntendedFile, _State]) -> FileOutcome:
    says: dict[_State, str] = {
        "before": "is as it was before",
        "after": "has its edits",
        "other": "was changed by somebody else, before or after its edits were made",
    }
    told = "; ".join(f"{shown_path(each.parts)} {says[state]}" for each, state in found.items())
    return FileOutcome(
        text="The server stopped while this was running, and somebody else changed the files since. "
        f"{told}. Nothing was done now. Look at the files before you continue.",
        outcome="uncertain",
    )


def _diffs(changes: Sequence[tuple[Replacement, list[str]]]) -> str:
    diff = ""
    for change, _ in changes:
        room = max(0, DIFF_CHARACTERS - len(diff))
        old, new = _text(change.before), _text(change.after)
        assert old is not None
        assert new is not None
        diff += unified_diff(shown_path(change.parts), old, new, room, change.lines)
    return diff


def _diff(parts: Parts, before: Before | None, after: bytes | None) -> str | None:
    """None: one of the two is not text, or too long to be compared."""
    old, new = _text(before.data if before else b""), _text(after or b"")
    if old is None or new is None:
        return None
    return unified_diff(shown_path(parts), None if before is None else old, None if after is None else new)


def _lines(before: bytes | None, after: bytes, changes: Sequence[Change] | None = None) -> Lines:
    """Those that differ, counted from 1; None: all of them, or unknown. Where lines were only removed, it is
    the place where they were."""
    old, new = _text(before), _text(after)
    if old is None or new is None:
        return None
    found = changed_lines(old, new, changes)[:_MOST_RANGES]
    return tuple((first + 1, max(first + 1, end)) for _, _, first, end in found)


def _text(data: bytes | None) -> str | None:
    text = None if data is None else decode(data)
    return None if text is None else printable(text.text)


def _line(entry: DirectoryEntry) -> str:
    match entry.kind:
        case "a directory":
            return f"{shown(entry.name)}/"
        case "a symbolic link":
            return f"{shown(entry.name)} -> {entry.target}"
        case "a file":
            return shown(entry.name)
        case kind:
            return f"{shown(entry.name)} ({kind})"
