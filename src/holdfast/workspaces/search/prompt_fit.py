"""How much of an answer fits into a prompt, so that it is not cut again later, where nobody can say how to
continue."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

SHOWN_CHARACTERS = 24_000


def fitting(lines: Sequence[str]) -> int:
    """How many of the lines fit."""
    return bisect_right(list(accumulate(len(line) + 1 for line in lines)), SHOWN_CHARACTERS)
