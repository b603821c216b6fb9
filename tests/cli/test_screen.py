"""The screen: what stays is written once, what changes is redrawn in place, and nothing is torn."""

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.cli.terminal.markdown import SafeMarkdown, finished, rendered
from holdfast.cli.terminal.screen import Region, Screen, input_lines
from tests.cli.emulator import Emulator

LINE = st.text("abc漢 ", max_size=12)
REGIONS = st.tuples(st.lists(LINE, min_size=1, max_size=5), st.integers(0, 4), st.integers(0, 10))


@given(st.lists(st.tuples(st.lists(LINE, max_size=4), REGIONS), max_size=10))
def test_what_is_drawn_is_what_is_seen(drawn: list[tuple[list[str], tuple[list[str], int, int]]]) -> None:
    """Whatever was drawn before, there is all that stays, then the region, and the cursor in it."""
    out = StringIO()
    screen, terminal = Screen(out), Emulator(80, 24)
    stays: list[str] = []
    region = Region()
    for above, (lines, row, column) in drawn:
        region = Region(tuple(lines), (min(row, len(lines) - 1), column))
        screen.draw("".join(f"{line}\n" for line in above), region)
        stays += above
    terminal.feed(out.getvalue().replace("\n", "\r\n"))
    assert [line.rstrip() for line in terminal.lines] == [
        line.rstrip() for line in (*stays, *region.lines)
    ] or not drawn
    if region.cursor is not None:
        assert (terminal.row - len(stays), terminal.column) == region.cursor


def test_nothing_new_writes_nothing() -> None:
    out = StringIO()
    screen = Screen(out)
    screen.draw("", Region(("a", "b"), (1, 1)))
    written = out.getvalue()
    screen.draw("", Region(("a", "b"), (1, 1)))
    assert out.getvalue() == written


def test_a_region_larger_than_the_screen_shows_its_end() -> None:
    out = StringIO()
    screen, terminal = Screen(out), Emulator(80, 24)
    lines = tuple(str(number) for number in range(100))
    for _ in range(3):
        screen.draw("", Region(lines, (99, 1)))
        screen.draw("stays\n", Region(lines[:50], (49, 1)))
    terminal.feed(out.getvalue().replace("\n", "\r\n"))
    assert terminal.lines[-1] == "49"
    assert terminal.text.count("stays") == 3


def test_clearing_leaves_what_stays() -> None:
    out = StringIO()
    screen, terminal = Screen(out), Emulator(80, 24)
    screen.draw("stays\n", Region(("a", "b", "c"), (0, 0)))
    screen.clear()
    terminal.feed(out.getvalue().replace("\n", "\r\n"))
    assert (terminal.text, terminal.row, terminal.column) == ("stays\n", 1, 0)


@pytest.mark.parametrize(
    "text, cursor, lines, at",
    [
        ("", 0, ["› "], (0, 2)),
        ("abc", 1, ["› abc"], (0, 3)),
        ("a\nbc", 4, ["› a", "  bc"], (1, 4)),
        ("abcdefghij", 10, ["› abcdefgh", "  ij"], (1, 4)),
        ("abcdefgh", 8, ["› abcdefgh", "  "], (1, 2)),
        ("漢漢漢漢漢", 5, ["› 漢漢漢漢", "  漢"], (1, 4)),
        ("a\x1b[31m", 1, ["› a␛[31m"], (0, 3)),
        ("a\tb", 3, ["› a    b"], (0, 8)),
    ],
)
def test_what_is_typed_is_folded(text: str, cursor: int, lines: list[str], at: tuple[int, int]) -> None:
    assert input_lines("› ", text, cursor, 10) == (lines, at)


@pytest.mark.parametrize(
    "text, whole",
    [
        ("", ""),
        ("one", ""),
        ("one\n\n", ""),
        ("one\n\ntwo", "one\n\n"),
        ("- a\n- b\n\n  more", ""),
        ("- a\n\ntext", "- a\n\n"),
        ("```\na\n\nb\n\nc", ""),
        ("```\na\n\nb\n```\n\nc", "```\na\n\nb\n```\n\n"),
        ("one\r\n\r\ntwo", "one\r\n\r\n"),
        ("| a |\n|---|\n| 1 |\n\ntext", "| a |\n|---|\n| 1 |\n\n"),
    ],
)
def test_blocks_are_whole_when_another_follows(text: str, whole: str) -> None:
    assert text[: finished(text)] == whole


def test_markdown_fills_no_line_with_blanks() -> None:
    shown = rendered(SafeMarkdown("# Head\n\nSome `code`.\n\n```\nx = 1\n```"), 40)
    assert all(line == line.rstrip(" ") for line in shown.split("\n"))
    assert "x = 1" in shown
