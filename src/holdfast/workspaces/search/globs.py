"""Patterns for paths (`src/**/*.{ts,tsx}`) as RE2 regular expressions, which end in linear time whatever a
model or a file asks for. A pattern without a slash matches names at any depth, as in ripgrep and git."""

import re
from collections.abc import Callable

from holdfast.core.errors import InvalidInput
from holdfast.workspaces.search.re2_engine import BadExpression, Expression

PATTERN_CHARACTERS = 2000
# Whether a path, relative to where the search starts, matches.
Matches = Callable[[str], bool]


def compile_glob(pattern: str) -> Matches:
    if not pattern or len(pattern) > PATTERN_CHARACTERS:
        raise InvalidInput(f"A glob has 1 to {PATTERN_CHARACTERS} characters. Examples: *.py, src/**/*.ts")
    if pattern.startswith("/") or ".." in pattern.split("/"):
        raise InvalidInput(
            f"{pattern!r} leads out of the workspace. Globs are relative to path; examples: *.py, src/**/*.ts"
        )
    pattern = pattern.removeprefix("./")
    anywhere = "/" not in pattern
    expression = translate(pattern, braces=True)
    try:
        return matcher(f"(?:.*/)?{expression}" if anywhere else expression)
    except BadExpression as error:
        raise InvalidInput(f"{pattern!r} is not a glob: {error}. Examples: *.py, src/**/*.ts") from error


def matcher(expression: str) -> Matches:
    """For a whole path; BadExpression if it makes no sense."""
    find = Expression(f"(?s)^(?:{expression})$").find
    return lambda path: find(path.encode("utf-8", "replace")) is not None


def translate(pattern: str, *, braces: bool) -> str:
    """`*` and `?` stop at a slash, `**` does not. `braces`: `{a,b}` is a choice (in .gitignore it is not)."""
    out: list[str] = []
    depth, at = 0, 0
    while at < len(pattern):
        character = pattern[at]
        if character == "*":
            stars = len(pattern) - at - len(pattern[at:].lstrip("*"))
            piece, at = _stars(pattern, at, stars)
            out.append(piece)
            continue
        if character == "[" and (end := _set_end(pattern, at)):
            out.append(_set(pattern[at + 1 : end]))
            at = end + 1
            continue
        if character == "\\" and at + 1 < len(pattern):
            at += 1
            out.append(re.escape(pattern[at]))
        elif character == "?":
            out.append("[^/]")
        elif braces and character == "{":
            depth += 1
            out.append("(?:")
        elif braces and character == "}" and depth:
            depth -= 1
            out.append(")")
        elif character == "," and depth:
            out.append("|")
        else:
            out.append(re.escape(character))
        at += 1
    return "".join(out)


def _stars(pattern: str, at: int, stars: int) -> tuple[str, int]:
    """Two stars mean any directories only where they are a whole part of the path."""
    end = at + stars
    alone = stars == 2 and (at == 0 or pattern[at - 1] == "/")
    if alone and pattern[end : end + 1] == "/":
        return "(?:.*/)?", end + 1
    if alone and end == len(pattern):
        return ".*", end
    return "[^/]*", end


def _set_end(pattern: str, at: int) -> int:
    """Where `[...]` ends; 0: it does not, and is taken literally."""
    first = at + 1 + (pattern[at + 1 : at + 2] in ("!", "^"))
    return max(pattern.find("]", first + 1), 0)


def _set(inside: str) -> str:
    negated = inside[:1] in ("!", "^")
    body = "".join(character if character == "-" else re.escape(character) for character in inside[negated:])
    return f"[^/{body}]" if negated else f"[{body}]"
