"""Ranges of lines, notes about what is not shown, files of any size."""

from pathlib import Path

import pytest

from holdfast.workspaces.files import line_ranges
from holdfast.workspaces.files.line_ranges import WHOLE_BYTES
from holdfast.workspaces.search.prompt_fit import SHOWN_CHARACTERS
from tests.workspaces.stage import Stage, refusal


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_the_text_itself_is_answered(stage: Stage) -> None:
    for text in ("one\ntwo\n", "no end", "\n", "\n\n\n", "  \tindented\n", "ü 日本 😀\n"):
        stage.write("a", text)
        assert stage.read("a") == text


def test_an_empty_file_is_told_so(stage: Stage) -> None:
    stage.write("a", "")
    assert stage.read("a") == "[the file is empty]"


@pytest.mark.parametrize(
    "first, last, shown",
    [
        (1, 1, "1\n[lines 1 to 1 of 5]"),
        (2, 3, "2\n3\n[lines 2 to 3 of 5]"),
        (4, None, "4\n5\n[lines 4 to 5 of 5]"),
        (5, 5, "5\n[lines 5 to 5 of 5]"),
        (None, 2, "1\n2\n[lines 1 to 2 of 5]"),
        (1, 5, "1\n2\n3\n4\n5\n"),
        (None, 99, "1\n2\n3\n4\n5\n"),
        (3, 99, "3\n4\n5\n[lines 3 to 5 of 5]"),
    ],
)
def test_ranges(stage: Stage, first: int | None, last: int | None, shown: str) -> None:
    stage.write("a", "1\n2\n3\n4\n5\n")
    assert stage.read("a", first, last) == shown


def test_the_last_line_without_its_end(stage: Stage) -> None:
    stage.write("a", "1\n2\n3")
    assert stage.read("a", 3, 3) == "3\n[lines 3 to 3 of 3]"
    assert stage.read("a", 2, None) == "2\n3\n[lines 2 to 3 of 3]"


def test_what_is_too_long_is_read_on(stage: Stage) -> None:
    text = "".join(f"line {number}\n" for number in range(1, 10_001))
    stage.write("a", text)
    read, start = "", 1
    for _ in range(20):
        part = stage.read("a", start)
        assert len(part) < SHOWN_CHARACTERS + 200
        body, _, note = part.rpartition("[")
        read += body
        if "read on with start_line=" not in note:
            break
        start = int(note.rsplit("=", 1)[1].rstrip("]"))
    assert read == text


def test_a_long_line_is_cut(stage: Stage) -> None:
    stage.write("a", "x" * 100_000 + "\nnext\n")
    shown = stage.read("a")
    assert shown.startswith("x" * SHOWN_CHARACTERS + "\n[line 1 of 2 is cut after")
    assert "start_line=2" in shown
    assert stage.read("a", 2).startswith("next\n")


def test_unusual_texts_are_noted(stage: Stage) -> None:
    for data, shown, note in (
        (b"one\r\ntwo\r\n", "one\ntwo\n", "CRLF"),
        (b"one\r\ntwo\n", "one\ntwo\n", "some lines end with CRLF"),
        ("\ufeffone\n".encode(), "one\n", ""),
        ("\ufeffone\r\n".encode("utf-16-le"), "one\n", "UTF-16"),
        ("\ufeffone\n".encode("utf-16-be"), "one\n", "UTF-16"),
        (b"f\xfcr\n", "f\ufffdr\n", "not UTF-8"),
    ):
        (stage.inside / "a").write_bytes(data)
        answer = stage.read("a")
        assert answer.startswith(shown)
        assert note in answer
        assert ("[" in answer) is bool(note)


def test_lines_of_a_large_file(stage: Stage) -> None:
    line = "0123456789" * 10
    count = WHOLE_BYTES // 50
    with (stage.inside / "large").open("w") as file:
        for number in range(1, count + 1):
            file.write(f"{number} {line}\n")
    size = (stage.inside / "large").stat().st_size
    assert stage.read("large", 1, 1) == f"1 {line}\n[lines 1 to 1 of a file of {size} bytes]"
    for number in (2, 9_999, count // 2, count - 1, count):
        assert stage.read("large", number, number).startswith(f"{number} {line}\n[")
    assert "ends before line" in refusal(stage.read, "large", count + 1)
    assert "ends before line" in refusal(stage.read, "large", 2**53)
    assert stage.read("large").startswith(f"1 {line}\n2 {line}\n")
    assert "cannot be edited here" in refusal(stage.edit, "large", "5 0", "x")


def test_a_line_that_is_too_far_away(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_ranges, "SCAN_BYTES", 5 * 2**20)
    with (stage.inside / "large").open("w") as file:
        for _ in range(12):
            file.write("x" * 2**20)
        file.write("\nend\n")
    assert stage.read("large", 1).startswith("xxx")
    assert "more than 5 MiB away" in refusal(stage.read, "large", 2)


def test_large_binary(stage: Stage) -> None:
    with (stage.inside / "large").open("wb") as file:
        file.write(b"text\n" * WHOLE_BYTES)
        file.write(b"\0\n")
    assert "binary" not in stage.read("large")
    assert "binary" in refusal(stage.read, "large", WHOLE_BYTES + 1)


def test_a_large_file_that_changed_is_noticed(stage: Stage) -> None:
    path = stage.inside / "large"
    path.write_text("x" * (WHOLE_BYTES + 1))
    stage.read("large")
    path.write_text("y" * (WHOLE_BYTES + 1))
    assert "was changed since" in refusal(stage.write, "large", "new")
    stage.read("large")
    stage.write("large", "new")
    assert path.read_text() == "new"
