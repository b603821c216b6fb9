"""Passages of a text that resemble one that is not in it, so that a model sees what it got wrong."""

from collections import Counter
from difflib import SequenceMatcher, get_close_matches

from holdfast.workspaces.files.passages import Lines

_SHOWN = 3
_SHOWN_LINES = 12
_SHOWN_WIDTH = 200
# Comparing every line with every other is only worthwhile in files of ordinary size.
_COMPARED = 5000


def nearest(lines: Lines, passage: str) -> list[tuple[int, str]]:
    """The line number each starts at, and the lines; the likeliest first."""
    if lines.is_long:
        return []
    wanted = [line.strip() for line in passage.strip("\n").split("\n")][:200]
    firsts = _by_shared_lines(lines, wanted) or _by_similar_line(lines, wanted)
    scored = sorted(firsts, key=lambda first: -_likeness(lines, first, wanted))
    return [(first + 1, _excerpt(lines, first, len(wanted))) for first in scored[:_SHOWN]]


def _by_shared_lines(lines: Lines, wanted: list[str]) -> list[int]:
    """Where the passage would start if its lines are where they were found; a line that is everywhere says
    little."""
    votes: Counter[int] = Counter()
    for offset, body in enumerate(wanted):
        places = lines.numbers.get(body, ()) if len(body) > 3 else ()
        if len(places) <= 50:
            votes.update(max(0, place - offset) for place in places)
    return [first for first, _ in votes.most_common(10)]


def _by_similar_line(lines: Lines, wanted: list[str]) -> list[int]:
    body = max(wanted, key=len, default="")[:_SHOWN_WIDTH]
    if len(body) < 3 or len(lines.lines) > _COMPARED:
        return []
    offset = next(index for index, line in enumerate(wanted) if line.startswith(body))
    others = {line[:_SHOWN_WIDTH] for line in lines.numbers if line}
    close = get_close_matches(body, others, n=_SHOWN, cutoff=0.6)
    numbers = {number for number, line in enumerate(lines.lines) if line.strip()[:_SHOWN_WIDTH] in close}
    return [max(0, number - offset) for number in sorted(numbers)[:10]]


def _likeness(lines: Lines, first: int, wanted: list[str]) -> float:
    there = "\n".join(line.strip() for line in lines.lines[first : first + len(wanted)])
    return SequenceMatcher(None, there[:2000], "\n".join(wanted)[:2000]).quick_ratio()


def _excerpt(lines: Lines, first: int, count: int) -> str:
    shown = lines.lines[first : first + min(count, _SHOWN_LINES)]
    return "\n".join(line.rstrip()[:_SHOWN_WIDTH] for line in shown)
