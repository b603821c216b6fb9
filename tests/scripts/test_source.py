# ruff: noqa: E501 - a script on one line is easier to compare than one that is broken up
"""Scripts are read, never run: what meta says, what is refused with which line, and how a body is wrapped."""

import ast
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.errors import BadScript
from holdfast.core.runs import Language
from holdfast.scripts.meta import Meta, PlannedPhase
from holdfast.scripts.source import Script, read_script

JS = "export const meta = {name: 'n', description: 'd'}\n"
PY = 'meta = {"name": "n", "description": "d"}\n'
LANGUAGES: tuple[Language, ...] = ("javascript", "python")


def refusal(source: str | bytes, language: Language) -> BadScript:
    with pytest.raises(BadScript) as refused:
        read_script(source, language)
    return refused.value


def read_or_refuse(source: str | bytes, language: Language) -> Script | BadScript:
    try:
        return read_script(source, language)
    except BadScript as refused:
        return refused


# Meta

FULL_JS = """// A comment may come first.
/* And another. */
export const meta = {
  name: 'review',
  "description": "Review a change",  // why not
  phases: [{title: 'Look', detail: `closely`, model: 'fast'}, {title: 'Merge'}],
  whenToUse: 'before a merge\\n\\u00e9\\u{1F600}\\x41',
  budget: 50_000,
  args: {type: 'object', properties: {path: {type: 'string'}}, required: ['path']},
}
return 1
"""
FULL_PY = """# A comment may come first.
meta = {
    "name": "review",
    "description": "Review " "a change",
    "phases": [{"title": "Look", "detail": "closely", "model": "fast"}, {"title": "Merge"}],
    "when_to_use": "before a merge\\né😀A",
    "budget": 50_000,
    "args": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}
return 1
"""


@pytest.mark.parametrize("language, source", [("javascript", FULL_JS), ("python", FULL_PY)])
def test_meta_is_read_in_full(language: Language, source: str) -> None:
    assert read_script(source, language).meta == Meta(
        name="review",
        description="Review a change",
        phases=(PlannedPhase(title="Look", detail="closely", model="fast"), PlannedPhase(title="Merge")),
        when_to_use="before a merge\né😀A",
        budget=50_000,
        args={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    )


def test_both_spellings_of_when_to_use_are_read_in_both_languages() -> None:
    javascript = "export const meta = {name: 'n', description: 'd', when_to_use: 'w'}"
    python = "meta = {'name': 'n', 'description': 'd', 'whenToUse': 'w'}"
    assert read_script(javascript, "javascript").meta.when_to_use == "w"
    assert read_script(python, "python").meta.when_to_use == "w"


def test_a_field_that_nobody_knows_is_a_warning() -> None:
    script = read_script("export const meta = {name: 'n', description: 'd',\n  colour: 'red'}", "javascript")
    assert script.warnings == ("Line 2: meta.colour is not known and means nothing here.",)


@pytest.mark.parametrize(
    "value, words",
    [
        ("{description: 'd'}", "needs a name"),
        ("{name: 'n'}", "needs a description"),
        ("{name: '', description: 'd'}", "meta.name"),
        ("{name: 3, description: 'd'}", "meta.name"),
        ("{name: 'a/b', description: 'd'}", "slash"),
        ("{name: 'n', description: 'd', phases: [7]}", "meta.phases[0]"),
        ("{name: 'n', description: 'd', phases: {}}", "meta.phases"),
        ("{name: 'n', description: 'd', budget: -5}", "budget"),
        ("{name: 'n', description: 'd', budget: 1.5}", "budget"),
        ("{name: 'n', description: 'd', args: {type: 'objekt'}}", "JSON Schema"),
        ("{name: 'n', description: 'd', args: {$ref: 'http://x/y'}}", "references"),
        ("[]", "object"),
        ("make()", "plain value"),
        ("{name: title, description: 'd'}", "title"),
        ("{name: 'a' + 'b', description: 'd'}", "plain value"),
        ("{name: `a${1}`, description: 'd'}", "plain value"),
        ("{...other}", "...other"),
        ("{[key]: 1}", "[key]"),
        ("{name() { return 'n' }}", "plain value"),
        ("{name}", "plain value"),
        ("{name: 1n, description: 'd'}", "1n"),
    ],
)
def test_a_meta_that_is_not_a_plain_literal_is_refused(value: str, words: str) -> None:
    refused = refusal(f"export const meta = {value}\n", "javascript")
    assert words in refused.text
    assert refused.line == 1


@pytest.mark.parametrize(
    "value",
    ["{**other}", "{'name': f'{x}', 'description': 'd'}", "{'name': make(), 'description': 'd'}", "dict(name='n')",
     "{'name': b'n', 'description': 'd'}", "{3: 4}", "{'name': 'n', 'description': 'd', 'x': {1, 2}}",
     "{'name': 'n', 'description': 'd', 'x': [i for i in y]}", "{'name': 'n', 'description': 'd', 'x': lambda: 1}"],
)  # fmt: skip
def test_a_meta_of_python_that_is_not_a_plain_literal_is_refused(value: str) -> None:
    refused = refusal(f"\n\nmeta = {value}\n", "python")
    assert "plain value" in refused.text
    assert refused.line == 3


@pytest.mark.parametrize(
    "language, source, line",
    [
        ("javascript", "log('x')\nexport const meta = {name: 'n', description: 'd'}", 1),
        ("javascript", "const meta = {name: 'n', description: 'd'}", 1),
        ("javascript", "// only a comment", 1),
        ("python", "x = 1\nmeta = {'name': 'n', 'description': 'd'}", 1),
        ("python", "# only a comment", 1),
    ],
)
def test_meta_is_the_first_statement(language: Language, source: str, line: int) -> None:
    refused = refusal(source, language)
    assert "begins with" in refused.text
    assert refused.line == line


# Nothing is run


@pytest.mark.parametrize("language", LANGUAGES)
def test_reading_runs_nothing(language: Language, tmp_path: Path) -> None:
    """Effects at the top, in decorators, defaults and getters: none of them happens."""
    file = tmp_path / "made"
    if language == "javascript":
        body = f"globalThis.made = 1; (function () {{ throw new Error('{file}') }})(); class A {{ static x = boom() }}"
        read_script(JS + body, language)
    else:
        body = (
            f"def deco(f):\n    raise ValueError\n@deco\ndef f(x=print('{file}', 1 / 0)):\n    pass\n1 / 0\n"
        )
        read_script(PY + body, language)
    assert not file.exists()
    assert "made" not in dir(sys)


# What is refused


@pytest.mark.parametrize(
    "body, words",
    [
        ("import fs from 'fs'", "import"),
        ("const x = await import('fs')", "import"),
        ("log(import.meta.url)", "import"),
        ("const fs = require('fs')", "require"),
        ("module.exports = {}", "module.exports"),
        ("exports.run = 1", "exports"),
        ("export const other = 1", "only meta"),
        ("export { x }", "only meta"),
        ("export default 42", "only meta"),
        ("export const meta = {name: 'other', description: 'another'}", "a meta already"),
        ("const x: string = 'a'", "TypeScript"),
        ("interface A { b: string }", "TypeScript"),
        ("type A = string", "TypeScript"),
        ("function f(a?: number): void {}", "TypeScript"),
        ("const x = y as string", "TypeScript"),
        ("enum Colour { Red }", "TypeScript"),
        ("const x = <div/>", "JSX"),
        ("foo(;", "missing"),
        ("}); evil(); (async () => {", "unexpected"),
        ("const = 3", "not JavaScript"),
        ("аgent('x')", "CYRILLIC"),
    ],
)
def test_what_is_no_plain_javascript_is_refused_with_its_line(body: str, words: str) -> None:
    refused = refusal(f"{JS}\n{body}\n", "javascript")
    assert words in refused.text
    assert refused.line == 3
    assert refused.text.startswith("Line 3: ")


@pytest.mark.parametrize(
    "body, words, line",
    [
        ("import os", "cannot be imported", 3),
        ("import math, time", "must take the same way", 3),
        ("from random import choice", "Pass a seed", 3),
        ("x = (", "never closed", 3),
        ("if True:\n\tpass\n        pass", "tabs and spaces", 5),
        ("def f():\nreturn 1", "indented", 4),
        ("x = 1 +", "not Python", 3),
        ("print 'x'", "print", 3),
        ("раrallel([])", "CYRILLIC", 3),
        ("x = time.time()", "clock", 3),
        ("x = random.random()", "random numbers", 3),
        ("x = os.environ", "environment", 3),
    ],
)
def test_what_is_no_plain_python_is_refused_with_its_line(body: str, words: str, line: int) -> None:
    refused = refusal(f"{PY}\n{body}\n", "python")
    assert words in refused.text
    assert refused.line == line


def test_names_of_modules_can_be_names_of_the_script() -> None:
    body = "time = 3\nos = [time]\ndef input(random):\n    return random\nvars = input(os)\nreturn vars"
    read_script(PY + body, "python")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "source, words, line",
    [
        ("", "empty", 1),
        (" \n\n", "empty", 1),
        (b"\xff\xfem\x00", "UTF-16", 1),
        (b"# one\n# caf\xe9\n", "0xe9", 2),
        ("# one\n# two\0\n", "NUL", 2),
        ("# one\n# \ud800\n", "surrogate", 2),
        ("# x\n" * 200_000, "KiB", None),
        (b"#" * 5_000_000, "KiB", None),
    ],
)
def test_text_that_is_no_script_is_refused(
    language: Language, source: str | bytes, words: str, line: int | None
) -> None:
    refused = refusal(source, language)
    assert words in refused.text
    assert refused.line == line


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "piece", ["(", "[", "{", "-", "x.", "f(", "a ? ", "`${", "not ", "lambda: ", "async ()=>"]
)
def test_deep_nesting_is_refused_or_read_and_harms_nothing(language: Language, piece: str) -> None:
    start = JS if language == "javascript" else PY
    for source in (start + piece * 20_000 + "1", start[:-2] + ", x: " + piece * 20_000):
        outcome = read_or_refuse(source, language)
        assert isinstance(outcome, Script) or len(outcome.text) < 1000


@given(st.text(max_size=200), st.sampled_from(LANGUAGES))
def test_any_text_is_read_or_refused(text: str, language: Language) -> None:
    outcome = read_or_refuse(text, language)
    assert isinstance(outcome, Script) or outcome.text


@given(st.binary(max_size=200), st.sampled_from(LANGUAGES))
def test_any_bytes_are_read_or_refused(source: bytes, language: Language) -> None:
    start = (JS if language == "javascript" else PY).encode()
    outcome = read_or_refuse(start + source, language)
    assert outcome.meta.name == "n" if isinstance(outcome, Script) else outcome.text


# Wrapping


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_a_mark_at_the_start_do_not_matter(end: str) -> None:
    for language in LANGUAGES:
        source = (JS if language == "javascript" else PY) + "return 1\n"
        assert read_script("\ufeff" + source.replace("\n", end), language) == read_script(source, language)


def test_python_that_loses_count_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As CPython 3.11.2 does when two threads read programs at once."""
    lost = iter([True, True, False, False])
    parse = ast.parse

    def losing(*given: str) -> ast.AST:
        if next(lost):
            raise SystemError("AST constructor recursion depth mismatch")
        return parse(*given)

    monkeypatch.setattr(ast, "parse", losing)
    assert read_script(PY + "return 1\n", "python").program


@given(
    st.lists(
        st.sampled_from(
            ["x = 1", "'''a\n b'''", 'y = f"""{1}\n  {2}"""', "# note", "z = (1,\n  2)", "if x:\n\tx = 2"]
        )
    )
)
def test_a_program_in_python_is_the_text_itself(pieces: list[str]) -> None:
    text = PY + "\n".join(pieces)
    assert read_script(text, "python").program == text


def test_wrapping_keeps_every_line_of_javascript_in_its_place() -> None:
    text = (
        "#!/usr/bin/env node\n"
        + JS
        + "log(`a\n  b`)\nexport default\n async function main(args) {\n  return args\n}\n"
    )
    program = read_script(text, "javascript").program.split("\n")
    assert program[3] == "  b`)"
    assert program[6] == "  return args"
