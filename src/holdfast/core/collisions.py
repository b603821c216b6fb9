"""Collisions: chats that changed the same file at about the same time. They block nothing; the chats are
told."""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from holdfast.core.ids import ChatId, EditId, UserId
from holdfast.core.shapes import Record

# same_lines: they share a line, or one of them created, replaced or deleted the whole file. near_lines: at
# most NEAR_LINES apart.  same_file: further apart.
Severity = Literal["same_lines", "near_lines", "same_file"]
NEAR_LINES = 5

# First and last changed line, counted from 1; None: the whole file.
Lines = tuple[tuple[int, int], ...] | None

_WORST_FIRST: tuple[Severity, ...] = ("same_lines", "near_lines", "same_file")


class FileEdit(Record, frozen=True, kw_only=True):
    """`place` identifies the file for all chats; `path` is this chat's name for it."""

    id: EditId
    owner_id: UserId
    chat_id: ChatId
    place: str
    path: str
    edited_at: datetime
    lines: Lines


class Collision(Record, frozen=True, kw_only=True):
    path: str
    severity: Severity
    # All chats that changed it, starting with the one that is told.
    chats: tuple[ChatId, ...]


def severity(one: Lines, other: Lines) -> Severity:
    if one is None or other is None:
        return "same_lines"
    between = min(
        (max(first - end, begin - last) for first, last in one for begin, end in other),
        default=NEAR_LINES + 1,
    )
    if between <= 0:
        return "same_lines"
    return "near_lines" if between <= NEAR_LINES else "same_file"


def worst(severities: Iterable[Severity]) -> Severity:
    found = set(severities)
    return next(each for each in _WORST_FIRST if each in found)
