"""The process that says of source texts whether they can be parsed. It runs behind the wall, because a parser
reads what strangers wrote. It answers line by line, so that what ends it is known to be the next text."""

import ast
import sys
import time
import warnings
from pathlib import Path

import msgspec
import tree_sitter

from holdfast.core.shapes import Record, encode
from holdfast.workspaces.code.grammars import language_of, parser

# No text is begun after this long.
PARSE_SECONDS = 5.0
_DEPTH = 10_000
_SAID = 200


class SourceText(Record, frozen=True, kw_only=True):
    path: str
    text: str


class ParsedText(Record, frozen=True, kw_only=True):
    """`problem`: where and why it cannot be parsed. None: it can, or nobody knows its language."""

    problem: str | None = None


def problem_of(source: SourceText) -> str | None:
    match language_of(source.path):
        case None:
            return None
        case "python":
            return _python(source.text)
        case language:
            found = parser(language)
            return None if found is None else _by_grammar(found.parser, source.text)


def _python(text: str) -> str | None:
    """By Python itself: its grammar takes lines that are indented wrongly."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        return f"line {error.lineno or 1}: {error.msg}"[:_SAID]
    except (ValueError, RecursionError, MemoryError) as error:
        return (str(error) or "nested too deeply")[:_SAID]
    return None


def _by_grammar(found: tree_sitter.Parser, text: str) -> str | None:
    node = found.parse(text.encode("utf-8", "replace")).root_node
    if not node.has_error:
        return None
    for _ in range(_DEPTH):
        if node.is_error or node.is_missing:
            break
        inner = next((each for each in node.children if each.has_error or each.is_missing), None)
        if inner is None:
            break
        node = inner
    line = node.start_point[0] + 1
    return (
        f"line {line}: {node.type} is missing"[:_SAID] if node.is_missing else f"line {line}: invalid syntax"
    )


def main() -> None:
    """Argument: the file with the texts."""
    given = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=tuple[SourceText, ...])
    until = time.monotonic() + PARSE_SECONDS
    for source in given:
        if time.monotonic() > until:
            return
        sys.stdout.buffer.write(encode(ParsedText(problem=problem_of(source))) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
