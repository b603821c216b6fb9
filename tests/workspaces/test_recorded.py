"""Output in files: every byte where it fits, and beyond that its beginning and its end."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.workspaces.commands import output_files
from holdfast.workspaces.commands.output_excerpts import head_and_tail, stretch, tail
from holdfast.workspaces.commands.output_files import Piece, Recorder, printed, read, stored
from holdfast.workspaces.commands.plain_text import plain, whole_characters


def record(directory: Path, data: bytes) -> Path:
    """Through a real pipe, as commands do."""
    recorder = Recorder(directory)
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    try:
        for start in range(0, len(data), 4096):
            os.write(writing, data[start : start + 4096])
            while recorder.take(reading) == "some":
                pass
        os.close(writing)
        assert recorder.take(reading) == "end"
        assert recorder.total == len(data)
    finally:
        os.close(reading)
        recorder.close()
    return directory


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of 1000 bytes: two from the beginning stay, two from the end."""
    monkeypatch.setattr(output_files, "SEGMENT", 1000)


def numbered(count: int) -> bytes:
    return b"".join(b"%09d\n" % number for number in range(count))


def test_what_fits_is_kept_whole(tmp_path: Path) -> None:
    data = numbered(10_000)
    directory = record(tmp_path / "o", data)
    assert printed(directory) == stored(directory) == len(data)
    assert read(directory, 0, 10**6) == Piece(start=0, data=data)
    assert read(directory, 50_001, 7) == Piece(start=50_001, data=data[50_001:50_008])
    assert read(directory, len(data), 10).data == b""


@pytest.mark.usefixtures("small")
def test_of_what_does_not_the_beginning_and_the_end_are_kept(tmp_path: Path) -> None:
    data = numbered(1234)
    directory = record(tmp_path / "o", data)
    assert printed(directory) == len(data) == 12_340
    assert sorted(int(path.name) for path in directory.iterdir()) == [0, 1000, 11_000, 12_000]
    assert stored(directory) <= 4000
    assert read(directory, 500, 10**6) == Piece(start=500, data=data[500:2000])
    assert read(directory, 2000, 100) == Piece(start=11_000, data=data[11_000:11_100])
    assert read(directory, 11_990, 10**6) == Piece(start=11_990, data=data[11_990:])


@pytest.mark.usefixtures("small")
def test_no_more_is_ever_kept_than_said(tmp_path: Path) -> None:
    for size in (0, 1, 999, 1000, 1001, 3999, 4000, 4001, 5000, 9999):
        directory = record(tmp_path / str(size), b"x" * size)
        assert printed(directory) == size
        assert stored(directory) <= 4000
        assert stored(directory) >= min(size, 3000)


def test_where_the_kernel_cannot_move_bytes_we_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "splice", raising=False)
    data = numbered(10_000)
    assert read(record(tmp_path / "o", data), 0, 10**6).data == data


def test_a_full_disk_loses_output_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is the device that is always full."""
    real = os.open

    def full(_path: object, flags: int, *_: object) -> int:
        return real("/dev/full", flags & ~(os.O_CREAT | os.O_EXCL))

    monkeypatch.setattr(os, "open", full)
    directory = record(tmp_path / "o", numbered(1000))
    assert printed(directory) == 0


# Excerpts


def test_a_short_output_is_shown_whole(tmp_path: Path) -> None:
    directory = record(tmp_path / "o", b"one\ntwo\n")
    shown = head_and_tail(8, directory)
    assert (shown.text, shown.left_out_from) == ("one\ntwo\n", None)


def test_a_long_one_with_its_middle_named_can_be_read_on(tmp_path: Path) -> None:
    data = numbered(10_000)
    directory = record(tmp_path / "o", data)
    shown = head_and_tail(3000, directory)
    assert shown.text.startswith("000000000\n")
    assert shown.text.endswith("000009999\n")
    assert "[... 97000 bytes left out, from byte 1000 on ...]" in shown.text
    assert shown.left_out_from == 1000
    text, start = "", 0
    while start is not None:
        part = stretch(start, 7777, directory)
        assert part.text.endswith("\n")
        text += part.text
        start = part.left_out_from
    assert text.encode() == data


@pytest.mark.usefixtures("small")
def test_what_was_not_kept_is_named(tmp_path: Path) -> None:
    directory = record(tmp_path / "o", numbered(1000))
    shown = stretch(3000, 500, directory)
    assert shown.text.startswith("[... bytes 3000 to 9000 were not kept ...]\n000000900\n")
    past = stretch(10**9, 500, directory)
    assert (past.text, past.left_out_from, past.printed) == ("", None, 10_000)


def test_a_line_without_end_can_be_read_on(tmp_path: Path) -> None:
    data = "äöü\N{SNOWMAN}".encode() * 5000
    directory = record(tmp_path / "o", data)
    text, start = "", 0
    while start is not None:
        part = stretch(start, 1001, directory)
        text += part.text
        start = part.left_out_from
    assert text.encode() == data
    assert "\N{REPLACEMENT CHARACTER}" not in head_and_tail(1001, directory).text
    assert "\N{REPLACEMENT CHARACTER}" not in tail(1001, directory)


@given(st.text(), st.integers(0, 20), st.integers(0, 20))
def test_cutting_leaves_whole_characters(text: str, begin: int, end: int) -> None:
    data = text.encode()
    piece = whole_characters(Piece(start=begin, data=data[begin : len(data) - end]))
    assert piece.data.decode() in text
    assert piece.start - begin <= 3


# Plain text


@pytest.mark.parametrize(
    "raw, shown",
    [
        (b"\x1b[31mred\x1b[0m and \x1b[1;4mbold\x1b[m", "red and bold"),
        (b"\x1b]0;title\x07text", "text"),
        (b"\x1b]52;c;c2VjcmV0\x07text", "text"),
        (b"\x1b]52;c;c2VjcmV0\x1b\\text", "text"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bP1;2|device\x1b\\text", "text"),
        (b"\x1b]0;no end\nnext line", "\nnext line"),
        (b"\x1b[2J\x1b[H\x1b[?1049h\x1b(B\x1bctext", "text"),
        ("\x9b31mred\x9d0;title\x9ctext".encode(), "redtext"),
        (b"  1%\r 50%\r100%\ndone\r\n", "100%\ndone\n"),
        (b"100%\r", "100%"),
        (b"m\bma\ban\bn", "man"),
        (b"\b\b\bx", "x"),
        (b"a\0b\x07c\x7f", "a\N{SYMBOL FOR NULL}b\N{SYMBOL FOR BELL}c\N{SYMBOL FOR DELETE}"),
        (b"lone \x1b", "lone \N{SYMBOL FOR ESCAPE}"),
        (b"bad \xff\xfe utf", "bad \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} utf"),
        (b"tab\tand\nline", "tab\tand\nline"),
        ("ä \N{SNOWMAN}".encode(), "ä \N{SNOWMAN}"),
    ],
)
def test_what_a_terminal_would_obey_is_taken_out(raw: bytes, shown: str) -> None:
    assert plain(raw) == shown


@given(st.binary())
def test_nothing_a_terminal_would_obey_is_left(raw: bytes) -> None:
    assert not [character for character in plain(raw) if character < " " and character not in "\n\t"]
    assert not [character for character in plain(raw) if "\x7f" <= character <= "\x9f"]


@pytest.mark.parametrize(
    "unit", [b"\x1b[", b"\x1b]0", b"\r", b"x", b"\x1b[0;0", b"\b", b"a\b", b"\x1b", b"\x1b[1m\r", b"\xc2\x9b"]
)
def test_plain_text_takes_no_longer_for_nasty_input(unit: bytes) -> None:
    """A quadratic pattern would take hours for this."""
    assert isinstance(plain(unit * (400_000 // len(unit))), str)
