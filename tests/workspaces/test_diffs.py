"""Diffs that patch takes, both ways."""

import random
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.workspaces.files.diffs import unified_diff
from holdfast.workspaces.files.edits import Edited, PassageEdit, apply_edits
from tests.workspaces.edit_cases import CASES, Case


def patched(directory: Path, name: str, before: str | None, diff: str, *options: str) -> str | None:
    """The file after patch."""
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if before is not None:
        path.write_bytes(before.encode())
    told = subprocess.run(
        ["patch", "-p1", "--batch", "--binary", "--fuzz=0", *options],
        cwd=directory,
        input=diff.encode(),
        capture_output=True,
        check=False,
    )
    assert told.returncode == 0, (told.stdout, told.stderr, diff)
    return path.read_bytes().decode() if path.exists() else None


@pytest.mark.parametrize(
    "before, after",
    [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\n", "a\nb\n"),
        ("a\nb\n", "a\n"),
        ("a\nb", "a\nB"),
        ("a\nb", "a\nb\n"),
        ("a\nb\n", "a\nb"),
        ("", "a\n"),
        ("", "a"),
        (None, "a\nb\n"),
        (None, "a"),
        ("a\nb\n", None),
        ("a", None),
        ("x\r\ny\r\n", "x\r\nz\r\n"),
        ("a\rb\nc\n", "a\rB\nc\n"),
        ("a\x0cb\u2028c\x85d\n", "a\x0cB\u2028c\x85d\n"),
        ("\n" * 20, "\n" * 21),
        ("".join(f"{n}\n" for n in range(100)), "".join(f"{n if n % 20 else -n - 1}\n" for n in range(100))),
        ("--- a\n+++ b\n", "--- a\n+++ c\n"),
        ("\\ No newline at end of file\n", "x\n"),
    ],
)
@pytest.mark.parametrize("name", ["file.txt", "dir/with space.txt", "ü.txt", "-x"])
def test_patch_takes_it(tmp_path: Path, before: str | None, after: str | None, name: str) -> None:
    diff = unified_diff(name, before, after)
    if before == "" and after == "":
        return
    assert patched(tmp_path, name, before, diff) == after
    if before != "" and after != "":  # patch takes an empty file for none
        assert patched(tmp_path, name, after, diff, "--reverse") == before


@pytest.mark.parametrize("case", [case for case in CASES if case.becomes], ids=lambda case: case.name)
def test_patch_takes_the_diff_of_an_edit(tmp_path: Path, case: Case) -> None:
    """Made from what the edit knows it changed, it says the same as one that was looked for."""
    answer = apply_edits(case.text, [PassageEdit(old=case.old, new=case.new, all=case.everywhere)])
    assert isinstance(answer, Edited)
    diff = unified_diff("f", case.text, answer.text, 10**6, answer.changes)
    assert diff == unified_diff("f", case.text, answer.text, 10**6)
    if "\udcff" not in case.text:
        assert patched(tmp_path, "f", case.text, diff) == case.becomes


def test_edits_at_both_ends_of_a_long_file_are_both_shown() -> None:
    text = "".join(f"line {n}\n" for n in range(50_000))
    edits = [
        PassageEdit(old="line 3\n", new="LINE 3\n"),
        PassageEdit(old="line 49990\n", new=""),
        PassageEdit(old="line 9\n", new="a\nb\n"),
    ]
    answer = apply_edits(text, edits)
    assert isinstance(answer, Edited)
    diff = unified_diff("f", text, answer.text, changes=answer.changes)
    assert diff.count("@@ -") == 2
    assert "-line 3\n+LINE 3\n" in diff
    assert "-line 49990\n" in diff


def test_no_difference_is_nothing() -> None:
    assert unified_diff("a", "x\n", "x\n") == ""


LINES = st.lists(st.sampled_from(["a", "b", "", " ", "c\r", "-x", "+y", "\\", "@@"]), max_size=40)


@settings(max_examples=30)
@given(LINES, LINES, st.booleans(), st.booleans())
def test_any_two_texts(
    tmp_path_factory: pytest.TempPathFactory, old: list[str], new: list[str], old_end: bool, new_end: bool
) -> None:
    before = "x\n" + "\n".join(old) + "\n" * old_end
    after = "x\n" + "\n".join(new) + "\n" * new_end
    diff = unified_diff("f", before, after)
    if diff:
        assert patched(tmp_path_factory.mktemp("diff"), "f", before, diff) == after


def test_a_long_diff_leaves_out_whole_hunks(tmp_path: Path) -> None:
    before = "".join(f"{n} {'x' * 50}\n" for n in range(2000))
    after = "".join(f"{n} {('y' if n % 50 == 0 else 'x') * 50}\n" for n in range(2000))
    diff = unified_diff("f", before, after, limit=5000)
    assert len(diff) < 5200
    assert diff.endswith("more hunks left out]\n")
    result = patched(tmp_path, "f", before, diff)
    assert result is not None
    assert 5 < result.count("y" * 50) < 40


@pytest.mark.parametrize("kind", ["same lines", "shuffled", "all new"])
def test_texts_that_are_hard_to_compare_take_bounded_time(kind: str) -> None:
    randomly = random.Random(1)
    old = ["x\n"] * 60_000 if kind == "same lines" else [f"{n % 977}\n" for n in range(60_000)]
    new = {"same lines": ["x\n"] * 59_000, "shuffled": randomly.sample(old, len(old))}.get(
        kind, [f"new {n}\n" for n in range(60_000)]
    )
    begun = time.process_time()
    unified_diff("f", "".join(old), "".join(new))
    assert time.process_time() - begun < 10
