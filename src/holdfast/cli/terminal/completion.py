"""Completing what is typed with Tab: commands behind a slash, what they take, files behind an @. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from holdfast.cli.terminal.editor import Editor

Kind = Literal["command", "file", "model", "effort", "chat", "workflow", "path"]

# What the word behind a command is.
_TAKEN: dict[str, Kind] = {
    "model": "model",
    "effort": "effort",
    "resume": "chat",
    "workflow": "workflow",
    "attach": "path",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """The word to complete: what it names, without its mark, and where it stands in the text."""

    kind: Kind
    word: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Offers:
    """What the word can become. `chosen` is the one that stands in the line now."""

    wanted: Wanted
    choices: tuple[str, ...]
    chosen: int | None = None


def wanted(editor: Editor) -> Wanted | None:
    """None: there is nothing to complete at the cursor."""
    before = editor.text[: editor.cursor]
    start = max(before.rfind(" "), before.rfind("\n"), before.rfind("\t")) + 1
    word = before[start:]
    if word.startswith("@"):
        return Wanted("file", word[1:], start, editor.cursor)
    if start == 0 and word.startswith("/") and "/" not in word[1:]:
        return Wanted("command", word[1:], 0, editor.cursor)
    command, space, _ = before.partition(" ")
    kind = _TAKEN.get(command.removeprefix("/")) if command.startswith("/") and space else None
    if kind is not None and start == len(command) + 1:
        return Wanted(kind, word, start, editor.cursor)
    return None


def offered(editor: Editor, place: Wanted, choices: Sequence[str]) -> tuple[Editor, Offers | None]:
    """The line with as much as all choices have in common; the choices, where there are several."""
    if not choices:
        return editor, None
    if len(choices) == 1:
        return _put(editor, place, choices[0], whole=True), None
    common = _common(choices)
    if len(common) > len(place.word) and common.startswith(place.word):
        editor = _put(editor, place, common, whole=False)
        place = replace(place, word=common, end=editor.cursor)
    return editor, Offers(place, tuple(choices))


def turned(editor: Editor, offers: Offers, step: int) -> tuple[Editor, Offers]:
    """The line with the next choice in it, or the one before."""
    first = 0 if step > 0 else -1
    chosen = first if offers.chosen is None else offers.chosen + step
    chosen %= len(offers.choices)
    editor = _put(editor, offers.wanted, offers.choices[chosen], whole=False)
    return editor, replace(offers, wanted=replace(offers.wanted, end=editor.cursor), chosen=chosen)


def _common(choices: Sequence[str]) -> str:
    """What all of them begin with."""
    first, last = min(choices), max(choices)
    different = (at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return first[: next(different, min(len(first), len(last)))]


def _put(editor: Editor, place: Wanted, choice: str, *, whole: bool) -> Editor:
    mark = {"command": "/", "file": "@"}.get(place.kind, "")
    if place.kind == "file" and " " in choice:
        choice = f'"{choice}"'
    new = mark + choice
    if whole and not editor.text[place.end :].startswith(" ") and not choice.endswith("/"):
        new += " "
    return editor.replaced(place.start, place.end, new)
