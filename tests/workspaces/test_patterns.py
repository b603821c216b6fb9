"""Patterns and globs: what they match, and what is refused by name."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.errors import InvalidInput
from holdfast.workspaces.search.globs import compile_glob
from holdfast.workspaces.search.patterns import compile_pattern, for_ripgrep


@pytest.mark.parametrize(
    "pattern, feature",
    [
        (r"foo(?=bar)", "lookahead"),
        (r"foo(?!bar)", "negative lookahead"),
        (r"(?<=foo)bar", "lookbehind"),
        (r"(?<!foo)bar", "lookbehind"),
        (r"(a)\1", "backreferences"),
        (r"(?P<x>a)(?P=x)", "backreferences"),
        (r"(?>a+)b", "atomic groups"),
        (r"a++b", "possessive"),
        (r"(?(1)a|b)", "conditions"),
        (r"\((?R)?\)", "recursion"),
        (r"a(?#comment)b", "comments"),
        (r"(?x) a b", "the flag x"),
        (r"end\Z", "\\Z"),
        (r"\u00e9", "\\u escapes"),
        (r"\h+", "this escape"),
    ],
)
def test_what_the_engine_does_not_have_is_named(pattern: str, feature: str) -> None:
    with pytest.raises(InvalidInput) as error:
        compile_pattern(pattern)
    assert feature in error.value.text
    assert "RE2" in error.value.text


@pytest.mark.parametrize(
    "pattern, told",
    [
        ("", "empty"),
        ("a(b", "missing )"),
        ("a)b", "unexpected )"),
        ("[a", "missing ]"),
        ("*a", "no argument for repetition operator"),
        ("a{1001}", "up to 1000"),
        ("((a{100}){100}){100}", "Repetitions go up to 1000"),
        ("x" * 1_000_000, "more than the 10000"),
        ("|".join(f"w{n}" for n in range(100_000)), "more than the 10000"),
        (r"(\pL{100}){10}", "too large"),
    ],
)
def test_what_is_no_pattern_is_told_why(pattern: str, told: str) -> None:
    with pytest.raises(InvalidInput) as error:
        compile_pattern(pattern)
    assert told in error.value.text
    assert len(error.value.text) < 400


@pytest.mark.parametrize("pattern", ["(a+)+$", "(.*)*x", "(a|a)*b", "(a*)*(a*)*c", "a{0,500}b", "(x?){900}y"])
def test_patterns_that_take_others_for_ever(pattern: str) -> None:
    begun = time.process_time()
    compile_pattern(pattern).find(b"a" * 200_000)
    assert time.process_time() - begun < 5


def test_a_match_never_crosses_lines() -> None:
    assert compile_pattern(r"a\s+b").find(b"a\nb") is None
    assert compile_pattern(r"[^x]+b").find(b"a\ncb") == 2
    assert compile_pattern(r"(?s)a.b").find(b"a\nb") is None
    assert compile_pattern(r"^b$").find(b"a\nb\nc") == 2
    assert compile_pattern(r"ü.").find("aüß".encode()) == 1


@pytest.mark.parametrize(
    "glob, matching, others",
    [
        ("*.py", ["a.py", "deep/er/a.py"], ["a.pyc", "py", "a.py/x"]),
        ("src/*.py", ["src/a.py"], ["a.py", "src/x/a.py", "x/src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["a.py", "x/src/a.py"]),
        ("**/a.py", ["a.py", "x/a.py", "x/y/a.py"], ["ba.py"]),
        ("src/**", ["src/a", "src/x/y"], ["src", "a/src/x"]),
        ("**", ["a", "x/y"], []),
        ("*.{ts,tsx}", ["a.ts", "x/a.tsx"], ["a.js", "a.t"]),
        ("{a,b/c}.txt", ["a.txt", "b/c.txt"], ["c.txt", "x/a.txt"]),
        ("?.py", ["a.py", "ü.py", "x/a.py"], ["ab.py", ".py"]),
        ("[abc].py", ["a.py"], ["d.py", "ab.py"]),
        ("[!abc].py", ["d.py"], ["a.py"]),
        ("[a-c]x", ["bx"], ["dx", "-x"]),
        ("./a.py", ["a.py"], ["b.py"]),
        ("a.b", ["a.b"], ["aXb"]),
        ("a+(b)$", ["a+(b)$"], ["aab"]),
        ("[x", ["[x"], ["x"]),
        ("a**b", ["aXXb"], ["aX/Xb"]),
        (r"\*", ["*"], ["a"]),
        ("日*", ["日本"], ["本"]),
    ],
)
def test_globs(glob: str, matching: list[str], others: list[str]) -> None:
    matches = compile_glob(glob)
    assert [path for path in matching if not matches(path)] == []
    assert [path for path in others if matches(path)] == []


@pytest.mark.parametrize("glob", ["", "../*", "a/../b", "/etc/*", "x" * 3000, "{a", "[z-a]"])
def test_globs_that_make_no_sense(glob: str) -> None:
    with pytest.raises(InvalidInput):
        compile_glob(glob)


def test_globs_that_take_others_for_ever() -> None:
    begun = time.process_time()
    assert not compile_glob("*a" * 500 + "b")("a" * 5000)
    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    "pattern, given",
    [
        (r"foo", r"foo"),
        (r"\bfoo\b", r"(?-u:\b)foo(?-u:\b)"),
        (r"\w+\(\d\)", r"\w+\(\d\)"),
        (r"a\\b", r"a\\b"),
        (r"(?i)foo|bar", r"(?i)foo|bar"),
        (r"[a-z]+", r"[a-z]+"),
        (r"\W", None),
        (r"[^\w]", None),
        (r"\Qa.b\E", None),
        (r"\<", None),
        (r"[a&&b]", None),
        (r"[a[b]]", None),
        (r"\pL", None),
        (r"\141", None),
    ],
)
def test_ripgrep_is_only_asked_what_it_reads_alike(pattern: str, given: str | None) -> None:
    assert for_ripgrep(pattern) == given


@given(
    st.text(st.sampled_from("ab.*+?()[]|\\^${}1,:-dwsb"), max_size=12), st.text(st.sampled_from("ab1 .\n"))
)
def test_what_matches_is_what_others_match_too(pattern: str, text: str) -> None:
    """Python's engine, line by line, where it reads the pattern alike."""
    try:
        expression = compile_pattern(pattern)
        other = re.compile(pattern)
    except (InvalidInput, re.error, FutureWarning):
        return
    if re.search(r"[*+?}]\?|\(\?|\{,|\\[Bb]|\[\^?\]|\[\[", pattern):
        return  # lazy or odd: one of the two reads it differently
    lines = text.split("\n")
    found = expression.find(text.encode())
    assert (found is not None) == any(other.search(line) for line in lines)
