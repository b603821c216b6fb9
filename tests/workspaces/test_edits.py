"""edit_files decides in pure functions: the right edit or a refusal, never a wrong edit."""

import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast.workspaces.files.edits import MAX_EDITS, Edited, EditRefusal, PassageEdit, apply_edits
from tests.workspaces.edit_cases import CASES, Case


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 100
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_right_edit_or_a_refusal(case: Case) -> None:
    answer = apply_edits(case.text, [PassageEdit(old=case.old, new=case.new, all=case.everywhere)])
    if case.refused is not None:
        assert isinstance(answer, EditRefusal), answer
        assert (answer.reason, answer.edit) == (case.refused, 0)
        assert case.told in answer.text
    else:
        assert isinstance(answer, Edited), answer
        assert answer.text == case.becomes
        assert case.told in " ".join(answer.notes)


def test_edits_of_one_call_see_the_text_as_it_was() -> None:
    swapped = apply_edits("a b", [PassageEdit(old="a", new="b"), PassageEdit(old="b", new="a")])
    assert isinstance(swapped, Edited)
    assert (swapped.text, swapped.places) == ("b a", 2)


def test_order_does_not_matter() -> None:
    edits = [PassageEdit(old="a", new="1"), PassageEdit(old="c", new="3"), PassageEdit(old="b", new="2")]
    answers = {str(apply_edits("a b c", order)) for order in (edits, edits[::-1])}
    assert len(answers) == 1


@pytest.mark.parametrize(
    "second",
    [
        PassageEdit(old="bc", new="x"),
        PassageEdit(old="b", new="x"),
        PassageEdit(old="ab", new="y"),
        PassageEdit(old="abc", new="x"),
    ],
)
def test_edits_that_touch_the_same_text_are_refused(second: PassageEdit) -> None:
    answer = apply_edits("abc", [PassageEdit(old="ab", new="x"), second])
    assert isinstance(answer, EditRefusal)
    assert (answer.reason, answer.edit) == ("overlap", 1)
    assert "Edits 1 and 2 overlap" in answer.text or "Edits 2 and 1 overlap" in answer.text


def test_an_edit_that_needs_an_earlier_one_is_told_so() -> None:
    answer = apply_edits("a", [PassageEdit(old="a", new="b"), PassageEdit(old="b", new="c")])
    assert isinstance(answer, EditRefusal)
    assert (answer.reason, answer.edit) == ("none", 1)
    assert "an earlier edit" in answer.text


def test_one_bad_edit_refuses_all() -> None:
    answer = apply_edits("a b", [PassageEdit(old="a", new="1"), PassageEdit(old="nowhere", new="2")])
    assert isinstance(answer, EditRefusal)
    assert (answer.reason, answer.edit) == ("none", 1)


def test_ten_thousand_edits_are_refused() -> None:
    answer = apply_edits("a", [PassageEdit(old="a", new="b")] * 10_000)
    assert isinstance(answer, EditRefusal)
    assert answer.reason == "too_many_edits"


def test_as_many_as_may_be() -> None:
    text = "".join(f"line {number};\n" for number in range(MAX_EDITS))
    edits = [PassageEdit(old=f"line {number};", new=f"row {number};") for number in range(MAX_EDITS)]
    answer = apply_edits(text, edits)
    assert isinstance(answer, Edited)
    assert answer.text == text.replace("line", "row")


def test_places_are_listed_but_not_without_end() -> None:
    answer = apply_edits("a\n" * 1000, [PassageEdit(old="a", new="b")])
    assert isinstance(answer, EditRefusal)
    assert "found more than 10 times" in answer.text
    assert len(answer.text) < 1000


# What an edit does not name stays as it was, byte for byte.

PIECES = st.text(st.sampled_from("ab \t\n\r\"'\u201c\u00a0é\udcff"), max_size=30)


@given(PIECES, PIECES, PIECES, PIECES)
def test_an_exact_edit_changes_nothing_else(before: str, old: str, after: str, new: str) -> None:
    text = f"{before}<{old}>{after}"
    answer = apply_edits(text, [PassageEdit(old=f"<{old}>", new=f"[{new}]")])
    assert isinstance(answer, Edited)
    assert answer.places == 1
    if "\r" not in text:
        assert answer.text == f"{before}[{new}]{after}"
    else:
        # Nothing but line ends of the new text may differ.
        assert answer.text.startswith(before)
        assert answer.text.endswith(after)
        assert answer.text.replace("\r", "") == f"{before}[{new}]{after}".replace("\r", "")


LINES = st.lists(st.text(st.sampled_from("xyz=(). "), max_size=8), min_size=1, max_size=6)


@given(LINES, LINES, LINES, st.text(st.sampled_from(" \t"), max_size=6))
def test_a_loose_edit_touches_only_what_was_meant(
    before: list[str], middle: list[str], after: list[str], indent: str
) -> None:
    """A marked passage is asked for without its indentation and its blanks at the end: whatever comes of it,
    what is around it stays, and what is put there is the new text at that depth."""
    passage = ["<begin>", *(line.strip() for line in middle), "<end>"]
    there = [indent + line + " " if line else "" for line in passage]
    head, tail = "".join(f"{line}\n" for line in before), "".join(f"{line}\n" for line in after)
    text = head + "".join(f"{line}\n" for line in there) + tail
    old = "".join(f"{line}\n" for line in passage)
    answer = apply_edits(text, [PassageEdit(old=old, new="new 1\n  new 2\n")])
    assert isinstance(answer, Edited)
    assert answer.text == f"{head}{indent}new 1\n{indent}  new 2\n{tail}"


@given(PIECES, PIECES, PIECES, st.booleans())
def test_whatever_is_asked_there_is_an_answer(text: str, old: str, new: str, everywhere: bool) -> None:
    answer = apply_edits(text, [PassageEdit(old=old, new=new, all=everywhere)])
    match answer:
        case Edited():
            assert answer.places >= 1
        case EditRefusal():
            assert answer.text


@given(PIECES, PIECES, PIECES)
def test_what_was_done_can_be_undone(before: str, old: str, after: str) -> None:
    assume("\r" not in before + old + after)
    text = f"{before}<{old}>{after}"
    there = apply_edits(text, [PassageEdit(old=f"<{old}>", new="{other}")])
    assert isinstance(there, Edited)
    back = apply_edits(there.text, [PassageEdit(old="{other}", new=f"<{old}>")])
    assert isinstance(back, Edited)
    assert back.text == text


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize("old", ["x\n" * 900, "  x\n" * 900, "x \n" * 900, "y\n" * 900, "x" * 5000])
def test_texts_that_repeat_themselves_take_bounded_time(old: str, everywhere: bool) -> None:
    begun = time.process_time()
    answer = apply_edits("x\n" * 90_000, [PassageEdit(old=old, new="z\n", all=everywhere)])
    assert isinstance(answer, EditRefusal)
    assert time.process_time() - begun < 15
