"""Reasoning between tags in the text, however it is cut into pieces."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.providers.think_tags import ThinkTags


def split(pieces: list[str]) -> tuple[str, str]:
    tags = ThinkTags()
    found = [piece for text in pieces for piece in tags.feed(text)] + tags.end()
    return (
        "".join(text for kind, text in found if kind == "reasoning"),
        "".join(text for kind, text in found if kind == "text"),
    )


CASES = [
    ("<think>I look.</think>\n\nHere.", "I look.", "Here."),
    ("\n<thinking>a < b </thinking>Yes", "a < b ", "Yes"),
    ("[THINK]so[/THINK]done", "so", "done"),
    ("<thought>so</thought>done", "so", "done"),
    ("No tags at all.", "", "No tags at all."),
    ("Later <think>is text</think>.", "", "Later <think>is text</think>."),
    ("<thin", "", "<thin"),
    ("<think>never closed", "never closed", ""),
    ("<think></think>Nothing thought.", "", "Nothing thought."),
    ("  indented", "", "  indented"),
    ("<", "", "<"),
]


@pytest.mark.parametrize("text, reasoning, answer", CASES)
def test_in_one_piece_and_in_single_characters(text: str, reasoning: str, answer: str) -> None:
    assert split([text]) == (reasoning, answer)
    assert split(list(text)) == (reasoning, answer)


@given(st.sampled_from(CASES), st.lists(st.integers(0, 40), max_size=6))
def test_in_any_pieces(case: tuple[str, str, str], cuts: list[int]) -> None:
    text, reasoning, answer = case
    places = sorted({0, *(cut for cut in cuts if cut < len(text)), len(text)})
    pieces = [text[start:end] for start, end in pairwise(places)]
    assert split(pieces) == (reasoning, answer)
