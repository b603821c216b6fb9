"""What is shown of text that turns, hides or imitates other text. The page passes the same cases."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.visible import folded, visible

CASES = Path(__file__).parents[2] / "web" / "src" / "text" / "visible.cases.json"


def cases() -> list[Any]:
    return [pytest.param(case, id=case["why"]) for case in json.loads(CASES.read_text())]


@pytest.mark.parametrize("case", cases())
def test_the_cases_that_the_page_has_too(case: dict[str, Any]) -> None:
    assert visible(case["text"], strictly=case.get("strictly", False)) == case["shown"]


@given(st.text())
def test_marks_are_not_marked_again(text: str) -> None:
    once = visible(text, strictly=True)
    assert visible(once, strictly=True) == once


@given(st.text(st.characters(codec="ascii")))
def test_plain_text_stays(text: str) -> None:
    assert visible(text, strictly=True) == text


def test_empty_space_is_told_and_not_shown() -> None:
    assert folded("echo harmless" + "\n" * 120 + "rm -rf ~") == "echo harmless\n⟨119 empty lines⟩\nrm -rf ~"
    assert folded("\n" * 5 + "x") == "⟨5 empty lines⟩\nx"
    assert folded("a\n\n\nb\n    c") == "a\n\n\nb\n    c"
    assert folded("a" + " " * 300 + "b") == "a⟨300 spaces⟩b"
    assert folded(" \n" * 50 + "b") == "⟨50 empty lines⟩\nb"
