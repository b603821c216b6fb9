"""Errors: one tree, drawn at the top of its file, each with a code of its own."""

import inspect
import re

import pytest

from holdfast.core import errors
from holdfast.core.errors import AttemptFailed, HoldfastError, TryAgain
from holdfast.core.failures import Failure

CLASSES = [
    value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, HoldfastError)
]
RAISED = [error for error in CLASSES if error is not HoldfastError]


def drawn() -> list[tuple[int, str]]:
    """Each class of the drawing with its depth."""
    lines = re.findall(r"^([ |]*\+-- )?([A-Z]\w+)(?=\s|$)", inspect.getdoc(errors) or "", re.MULTILINE)
    return [
        (len(indent) // 5, name) for indent, name in lines if name in {error.__name__ for error in CLASSES}
    ]


def test_the_drawing_is_the_tree() -> None:
    def walk(error: type[HoldfastError], depth: int) -> list[tuple[int, str]]:
        below = [child for child in CLASSES if child.__bases__ == (error,)]
        return [(depth, error.__name__), *(line for child in below for line in walk(child, depth + 1))]

    assert drawn() == walk(HoldfastError, 0)
    assert len(drawn()) == len(CLASSES)


def test_every_drawn_class_is_explained() -> None:
    for line in (inspect.getdoc(errors) or "").splitlines():
        if "+--" in line:
            assert re.search(r"\+-- \w+ {2,}\S", line), line


@pytest.mark.parametrize("error", RAISED, ids=lambda error: error.__name__)
def test_codes_are_words(error: type[HoldfastError]) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", error.code)


def test_codes_are_unique() -> None:
    codes = [error.code for error in RAISED]
    assert sorted(codes) == sorted(set(codes))


@pytest.mark.parametrize("error", RAISED, ids=lambda error: error.__name__)
def test_an_error_says_its_text(error: type[HoldfastError]) -> None:
    failure = Failure(kind="server", message="what went wrong")
    raised = AttemptFailed(failure) if error is AttemptFailed else error("what went wrong")
    assert (raised.text, str(raised)) == ("what went wrong", "what went wrong")


def test_trying_again_helps_where_it_says_so() -> None:
    assert [error.__name__ for error in RAISED if error.retryable] == [
        "TryAgain",
        "StoreFull",
        "StoreClosed",
        "Shortage",
        "NotBegun",
        "DatabaseUnreachable",
    ]
    assert TryAgain("later", after_seconds=3).after_seconds == 3
