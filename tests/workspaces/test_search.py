"""Searching: what is found, in which order, what .gitignore leaves out; by the process and, where it is
there, with ripgrep's help: the same answers."""

import asyncio
import os
import random
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.workspaces.search.prompt_fit import SHOWN_CHARACTERS
from holdfast.workspaces.search.ripgrep import find_ripgrep
from holdfast.workspaces.search.search_process import SearchRequest
from holdfast.workspaces.search.searches import MORE, Results, search
from tests.workspaces.stage import Stage
from tests.workspaces.walls import walled_in

RIPGREP = find_ripgrep()


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def fill(stage: Stage, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = stage.inside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


async def ask(
    stage: Stage,
    pattern: str | None,
    *,
    path: str = ".",
    glob: str | None = None,
    context: int = 0,
    limit: int = 300,
    ripgrep: str | None = None,
    seconds: float = 60.0,
) -> Results:
    request = SearchRequest(
        parts=stage.root.parse(path),
        pattern=pattern,
        glob=glob,
        context=context,
        limit=limit,
        ripgrep=ripgrep,
    )
    return await search(walled_in(stage.inside.parent / "data"), stage.root, request, seconds)


def test_lines_are_found_in_the_order_of_paths(stage: Stage) -> None:
    fill(
        stage,
        {
            "b.txt": "x\nneedle 1\n",
            "a/z.txt": "needle 2\nneedle 3",
            "a.txt": "needle 4\n",
            "a-b.txt": "needle\n",
        },
    )
    assert stage.grep("needle") == [
        "a/z.txt:1:needle 2",
        "a/z.txt:2:needle 3",
        "a-b.txt:1:needle",
        "a.txt:1:needle 4",
        "b.txt:2:needle 1",
    ]
    assert stage.grep("needle", "a") == ["a/z.txt:1:needle 2", "a/z.txt:2:needle 3"]
    assert stage.grep("needle", "a/z.txt") == ["a/z.txt:1:needle 2", "a/z.txt:2:needle 3"]
    assert stage.grep("needle", glob="a*.txt") == ["a-b.txt:1:needle", "a.txt:1:needle 4"]
    assert stage.grep("^needle$") == ["a-b.txt:1:needle"]
    assert stage.grep("(?i)NEEDLE 4") == ["a.txt:1:needle 4"]
    assert stage.glob("*.txt") == ["a/z.txt", "a-b.txt", "a.txt", "b.txt"]
    assert stage.glob("*.txt", "a") == ["a/z.txt"]


def test_context(stage: Stage) -> None:
    fill(stage, {"a": "1\n2\nX\n4\n5\n6\nX\n8\n9\n10\n11\nX\n", "b": "X\n"})
    assert stage.grep("X", context=1) == [
        "a-2-2", "a:3:X", "a-4-4", "--", "a-6-6", "a:7:X", "a-8-8", "--", "a-11-11", "a:12:X", "--", "b:1:X",
    ]  # fmt: skip
    assert stage.grep("X", "a", context=2) == [
        "a-1-1", "a-2-2", "a:3:X", "a-4-4", "a-5-5", "a-6-6", "a:7:X", "a-8-8", "a-9-9", "a-10-10", "a-11-11",
        "a:12:X",
    ]  # fmt: skip


def test_texts_of_all_kinds(stage: Stage) -> None:
    fill(
        stage,
        {
            "crlf": "one needle\r\ntwo\r\n",
            "utf16": "\ufeffa needle\n".encode("utf-16-le"),
            "bom": "\ufeffneedle at the start\n",
            "latin": b"needle f\xfcr\n",
            "no end": "needle",
            "binary": b"needle\0\n",
            "late binary": b"x\n" * 600_000 + b"needle\n" + b"\0" * 10,
            "empty": "",
            "escape": "needle \x1b[31m\u202ered\tend\n",
        },
    )
    assert stage.grep("needle$") == ["crlf:1:one needle", "no end:1:needle", "utf16:1:a needle"]
    assert stage.grep("^needle") == [
        "bom:1:needle at the start",
        "escape:1:needle \\x1b[31m\\u202ered\tend",
        "latin:1:needle f\ufffdr",
        "no end:1:needle",
    ]


def test_long_lines_are_cut_around_the_match(stage: Stage) -> None:
    fill(stage, {"a": "x" * 50_000 + "needle" + "y" * 50_000 + "\n", "b": "ü" * 5_000 + "needle"})
    lines = stage.grep("needle")
    assert all("needle" in line and len(line) < 500 for line in lines)
    assert len(lines) == 2


def test_a_line_longer_than_a_block(stage: Stage) -> None:
    fill(stage, {"a": "first\n" + "x" * 5_000_000 + "needle\nlast needle\n"})
    found = stage.grep("needle")
    assert [line.split(":")[1] for line in found] == ["2", "3"]


def test_lines_are_counted_over_blocks(stage: Stage) -> None:
    fill(stage, {"a": "".join(f"line {n}\n" for n in range(1, 400_001))})
    assert stage.grep("^line (1|200000|399999|400000)$") == [
        f"a:{n}:line {n}" for n in (1, 200_000, 399_999, 400_000)
    ]


IGNORED = {
    ".gitignore": (
        "*.log\nbuild/\n/top.txt\n!keep.log\ndeep/**/gone.txt\n# comment\n\\#odd\nspace\\ \n*.tar.gz\n"
        "[ab].tmp\n"
    ),
    "a.log": "needle",
    "keep.log": "needle",
    "build/x": "needle",
    "sub/build/x": "needle",
    "sub/top.txt": "needle",
    "top.txt": "needle",
    "deep/gone.txt": "needle",
    "deep/a/b/gone.txt": "needle",
    "deep/a/here.txt": "needle",
    "#odd": "needle",
    "sub/.gitignore": "!a.log\n*.md\ninner/\n",
    "sub/a.log": "needle",
    "sub/x.md": "needle",
    "sub/inner/x": "needle",
    "sub/other/x.md": "needle",
    "x.md": "needle",
    "y.tar.gz": "needle",
    "a.tmp": "needle",
    "c.tmp": "needle",
    ".hidden": "needle",
    ".github/x.yml": "needle",
    ".git/config": "needle",
    "sub/.git/config": "needle",
}
SEEN = [
    ".github/x.yml",
    ".hidden",
    "c.tmp",
    "deep/a/here.txt",
    "keep.log",
    "sub/a.log",
    "sub/top.txt",
    "x.md",
]


def test_what_gitignore_names_is_left_out(stage: Stage) -> None:
    fill(stage, IGNORED)
    assert stage.grep("needle") == [f"{path}:1:needle" for path in SEEN]
    assert [path for path in stage.glob("**") if not path.endswith(".gitignore")] == SEEN
    # Rules from above hold below; what is asked for by name is looked at.
    assert stage.glob("*", "sub") == ["sub/.gitignore", "sub/a.log", "sub/top.txt"]
    assert stage.grep("needle", "build") == ["build/x:1:needle"]
    assert stage.grep("needle", "a.log") == ["a.log:1:needle"]


def test_git_agrees_on_what_is_ignored(stage: Stage) -> None:
    fill(stage, {name: text for name, text in IGNORED.items() if "/.git/" not in f"/{name}"})
    subprocess.run(["git", "init", "-q", stage.inside], check=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--others", "--exclude-standard"],
        cwd=stage.inside, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert sorted(stage.glob("**")) == sorted(name for name in listed.stdout.split("\0") if name)


RULES = [
    *(
        "*",
        "!*.py",
        "a/",
        "/a",
        "a/b",
        "**/x",
        "x/**",
        "a/**/x",
        "*.py",
        "!x.py",
        "?.py",
        "[!x].py",
        "a*",
        "a/*",
    ),
    *("!a/b", "**", "/*", "!/a", "b/", "*/x", "foo", "\\!x", "!", "/", "x.py/", "***", "a**b"),
]


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(12))
def test_git_agrees_on_rules_put_together_at_random(stage: Stage, seed: int) -> None:
    randomly = random.Random(seed)
    subprocess.run(["git", "init", "-q", stage.inside], check=True)
    names = [
        "x",
        "x.py",
        "y.py",
        "a/x",
        "a/b/x.py",
        "a/b/c/x",
        "b/x",
        "b/a/x",
        "foo/x",
        "!x",
        "axb",
        "aab/x.py",
    ]
    fill(stage, {name: "needle" for name in names if not (name.startswith("x/"))})
    for _ in range(25):
        fill(stage, {".gitignore": "\n".join(randomly.sample(RULES, randomly.randint(1, 5)))})
        (stage.inside / "a" / ".gitignore").unlink(missing_ok=True)
        if randomly.random() < 0.5:
            fill(stage, {"a/.gitignore": "\n".join(randomly.sample(RULES, randomly.randint(1, 3)))})
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--others", "--exclude-standard"],
            cwd=stage.inside, check=True, capture_output=True, text=True,
        )  # fmt: skip
        rules = [path.read_text() for path in sorted(stage.inside.rglob(".gitignore"))]
        assert sorted(stage.glob("**")) == sorted(name for name in listed.stdout.split("\0") if name), rules


# The process


async def test_the_process_finds_the_same(stage: Stage) -> None:
    fill(stage, IGNORED)
    assert (await ask(stage, "needle")).lines == tuple(stage.grep("needle"))
    assert (await ask(stage, None, glob="**")).lines == tuple(stage.glob("**"))
    assert await ask(stage, "nothing like it") == Results(lines=())


@pytest.mark.heavy
async def test_what_is_found_is_bounded(stage: Stage) -> None:
    fill(stage, {f"{n:03}.txt": "needle\n" * 10 for n in range(100)})
    few = await ask(stage, "needle", limit=25)
    assert (len(few.lines), few.note) == (25, MORE)
    exactly = await ask(stage, "needle", limit=1000)
    assert (len(exactly.lines), exactly.note) == (1000, None)
    named = await ask(stage, None, glob="*.txt", limit=10)
    assert (len(named.lines), named.note) == (10, MORE)
    fill(stage, {"long": f"needle {'x' * 390}\n" * 1000})
    long = await ask(stage, "needle x", limit=1000)
    assert long.note == MORE
    assert sum(map(len, long.lines)) <= SHOWN_CHARACTERS


async def test_refusals_come_through(stage: Stage) -> None:
    fill(stage, {"a": "x"})
    with pytest.raises(InvalidInput, match="lookahead"):
        await ask(stage, "(?=x)")
    with pytest.raises(NotFound, match="There is no gone"):
        await ask(stage, "x", path="gone")
    with pytest.raises(InvalidInput, match="leads out"):
        await ask(stage, None, glob="../*")
    stage.link("out", stage.outside)
    with pytest.raises(InvalidInput, match="leads out"):
        await ask(stage, "x", path="out")


async def test_time_is_bounded(stage: Stage) -> None:
    fill(stage, {"a.txt": "needle\n"})
    results = await ask(stage, "needle", seconds=0.0)
    assert results.lines == ()
    assert results.note is not None
    assert "stopped after 0 s" in results.note


@pytest.mark.heavy
async def test_a_cancelled_search_leaves_no_process(stage: Stage) -> None:
    fill(stage, {f"{n // 100}/{n}.txt": "text\n" * 100 for n in range(3000)})
    before = _children()
    for after in (0.0, 0.01, 0.05, 0.1, 0.2):
        task = asyncio.create_task(ask(stage, "needle"))
        await asyncio.sleep(after)  # how far it came does not matter
        task.cancel()
        await asyncio.wait({task})
        assert _children() == before


@pytest.mark.heavy
@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(.*)*x",
        "([ab]|a){1,400}c[abc]{1,400}d",
        "(a?){900}(b?){900}(c?){900}d",
        "(?i)(a|b|ab)*c{500}",
        r"(\pL{0,100}){3}x",
    ],
)
async def test_evil_patterns_on_a_large_file_end_and_the_loop_goes_on(stage: Stage, pattern: str) -> None:
    fill(stage, {"large": ("abcab" * 19 + "cba\n") * 500_000})
    lags: list[float] = []

    async def watch() -> None:
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(0.01)
            lags.append(time.perf_counter() - begun - 0.01)

    watching = asyncio.create_task(watch())
    begun = time.perf_counter()
    await ask(stage, pattern)
    took = time.perf_counter() - begun
    watching.cancel()
    # Five seconds and 100 ms, times four: other tests run beside this one.
    assert took < 20
    assert sorted(lags)[-2] < 0.4


# ripgrep


@pytest.mark.skipif(RIPGREP is None, reason="ripgrep is not on this machine; searches do without it")
@pytest.mark.parametrize(
    "pattern, path, glob, context",
    [
        ("needle", ".", None, 0),
        ("needle", "sub", None, 0),
        ("needle", "build", None, 0),
        (r"\bneed\w+", ".", "*.{txt,log}", 0),
        ("needle", ".", "deep/**/*.txt", 2),
        ("^needle$", ".", None, 1),
        ("need[^x]e", ".", None, 0),
        (r"\W", ".", None, 0),
        ("{", ".", None, 0),
        (None, ".", "**", 0),
        (None, ".", "*.txt", 0),
        (None, "sub", "*", 0),
        (None, ".", "deep/**/*", 0),
        (None, ".", "*.{md,log}", 0),
    ],
)
async def test_ripgrep_makes_no_difference(
    stage: Stage, pattern: str | None, path: str, glob: str | None, context: int
) -> None:
    fill(
        stage, IGNORED | {"crlf": "needle\r\n", "utf16": "\ufeffneedle".encode("utf-16-le"), "b": b"needle\0"}
    )
    fill(stage, {"umlaut": "éneedle\n", "brace": "a { b\n", ".ignore": "x.md\n", ".rgignore": "x.md\n"})
    stage.link("out", stage.outside)
    without = await ask(stage, pattern, path=path, glob=glob, context=context)
    assert await ask(stage, pattern, path=path, glob=glob, context=context, ripgrep=RIPGREP) == without


@pytest.mark.parametrize("told, used", [("ripgrep 13.0.0", False), ("ripgrep 14.1.1", True), ("?", False)])
def test_only_a_ripgrep_that_leaves_rgignore_alone_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, used: bool
) -> None:
    program = tmp_path / "rg"
    program.write_text(f"#!/bin/sh\necho '{told}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert find_ripgrep() == (str(program) if used else None)


async def test_a_ripgrep_that_is_not_there_does_not_matter(stage: Stage) -> None:
    fill(stage, {"a": "needle\n"})
    assert (await ask(stage, None, glob="*", ripgrep="/nowhere/rg")).lines == ("a",)
    assert (await ask(stage, "needle", ripgrep="/nowhere/rg")).lines == ("a:1:needle",)


def _children() -> set[int]:
    told = subprocess.run(
        ["ps", "-o", "pid=,stat=,args=", "--ppid", str(os.getpid())],
        capture_output=True,
        text=True,
        check=False,
    )
    return {int(line.split()[0]) for line in told.stdout.splitlines() if "ps -o" not in line}
