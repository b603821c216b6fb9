"""Whether source code parses, by language, and whatever is given."""

import pytest

from holdfast.workspaces.code.parse_process import SourceText, problem_of


def said(path: str, text: str) -> str | None:
    return problem_of(SourceText(path=path, text=text))


def test_what_parses_and_what_does_not() -> None:
    assert said("a.py", "def f():\n    return 1\n") is None
    assert (
        said("a.py", "def f():\nreturn 1\n")
        == "line 2: expected an indented block after function definition on line 1"
    )
    assert said("a.py", "x = '\0'") is not None
    assert said("a.py", "(" * 100_000) is not None
    assert said("a.js", "function f() { return 1; }\n") is None
    assert said("a.mjs", "const x = 1;\nfunction f( {\n") is not None
    assert said("a.js", "f(" * 50_000) is not None
    assert said("a.txt", "def f(") is None


def test_languages_of_the_extra() -> None:
    pytest.importorskip("tree_sitter_typescript")
    assert said("a.ts", "const x: number = 1;\n") is None
    assert said("a.tsx", "const x = <p>1</p>;\n") is None
    broken = said("a.ts", "const x: number = 1;\nfunction f(: {\n")
    assert broken is not None
    assert broken.startswith("line 2")
    assert said("a.go", "package a\n\nfunc f() {\n") is not None
