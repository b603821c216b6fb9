"""Tool input as models write it: JSON, or nearly. What can only have been meant one way is repaired; the rest
is kept verbatim and marked, so that the model can be told."""

import ast
import json
import re
from typing import cast

import msgspec

from holdfast.core.parts import ToolCall
from holdfast.core.shapes import MAX_DEPTH, Json, Record, check_json
from holdfast.core.text import clean, clean_deep

# Under these names the raw text is stored: what the model sees again, and why it was refused.
RAW = "invalid_json"
REASON = "invalid_input"
# Mending looks at every character, on the loop that others wait for.
_MENDED_CHARACTERS = 100_000


class Parsed(Record, frozen=True, kw_only=True):
    value: dict[str, Json]


class Invalid(Record, frozen=True, kw_only=True):
    text: str
    reason: str


def parse_input(text: str, *, cut: bool = False) -> Parsed | Invalid:
    """`cut` when the answer stopped at its limit: then what is missing at the end may be more than brackets,
    and is not made up."""
    reason = ""
    attempts = (_as_is, _unfenced, _python) if cut else (_as_is, _unfenced, _closed, _first, _python)
    for attempt in attempts if len(text) <= _MENDED_CHARACTERS else (_as_is,):
        try:
            value = attempt(text)
        except (ValueError, RecursionError, SyntaxError, MemoryError) as error:
            # The first reading names the fault in what the model wrote, the later ones in what we made of it.
            reason = reason or f"not valid JSON: {error}"
            if cut:
                reason = "the answer reached its limit before the input was whole"
            continue
        if isinstance(value, str) and value.lstrip()[:1] == "{":
            # An object that was encoded twice.
            inner = parse_input(value)
            if isinstance(inner, Parsed):
                return inner
        if not isinstance(value, dict):
            return Invalid(text=clean(text), reason="not a JSON object")
        fields = cast(dict[str, Json], value)
        try:
            check_json(fields)
        except ValueError as error:
            return Invalid(text=clean(text), reason=str(error))
        return Parsed(value=clean_deep(fields))
    return Invalid(text=clean(text), reason=reason)


def invalid_input(call: ToolCall) -> str | None:
    """Why the input of this call cannot be used, for the result that tells the model so."""
    match call.provider_data:
        case {"invalid_input": str(reason)}:
            return reason
        case _:
            return None


def _as_is(text: str) -> Json:
    if not text.strip():
        return {}
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        # Line breaks inside a text and lone surrogates are wrong but clear.
        try:
            return cast(Json, json.loads(text, strict=False, parse_constant=_refuse_constant))
        except ValueError:
            raise ValueError(str(error)) from None


_FENCE = re.compile(r"\s*```[A-Za-z]*\s*\n?(.*?)\n?\s*```\s*", re.DOTALL)
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")


def _unfenced(text: str) -> Json:
    fenced = _FENCE.fullmatch(text)
    return _as_is(_without_trailing_commas(fenced[1] if fenced else text))


def _closed(text: str) -> Json:
    """With the brackets that are missing at the end. A text that breaks off inside a string is left alone:
    what it would have said is not known, and half a file is not to be written."""
    stripped = text.strip()
    fenced = _FENCE.fullmatch(stripped)
    stripped = (fenced[1] if fenced else stripped).strip()
    open_brackets = _open_brackets(stripped)
    if not open_brackets or stripped[-1:] in (":", ","):
        raise ValueError("it breaks off")
    return _as_is(_without_trailing_commas(stripped + "".join(reversed(open_brackets))))


def _first(text: str) -> Json:
    """Without what follows the object: brackets too many, or the same once more."""
    stripped = text.strip()
    value, end = cast(tuple[Json, int], json.JSONDecoder(strict=False).raw_decode(stripped))
    rest = stripped[end:].strip()
    if rest.strip("}] \n\t") and rest != stripped[:end]:
        raise ValueError("more follows")
    return value


def _python(text: str) -> Json:
    """Python's way to write the same: True, None, single quotes."""
    stripped = text.strip()
    if stripped[:1] != "{":
        raise ValueError("not a Python literal")
    return _plain(cast(Json, ast.literal_eval(stripped)))


def _plain(value: Json) -> Json:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case dict() if all(isinstance(key, str) for key in cast(dict[Json, Json], value)):
            return {key: _plain(item) for key, item in cast(dict[str, Json], value).items()}
        case list() | tuple():
            return [_plain(item) for item in cast(list[Json], value)]
        case _:
            raise ValueError("not JSON")


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _without_trailing_commas(text: str) -> str:
    if "," not in text:
        return text
    return "".join(
        piece if inside else _TRAILING_COMMA.sub(r"\1", piece) for piece, inside in _split_strings(text)
    )


def _open_brackets(text: str) -> list[str]:
    closers: list[str] = []
    for piece, inside in _split_strings(text):
        if inside:
            if not _ends_string(piece):
                raise ValueError("it breaks off inside a text")
            continue
        for character in piece:
            if character in "{[":
                closers.append("}" if character == "{" else "]")
                if len(closers) > MAX_DEPTH:
                    raise ValueError("it is nested too deeply")
            elif character in "}]" and (not closers or closers.pop() != character):
                raise ValueError("brackets do not match")
    return closers


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)


def _split_strings(text: str) -> list[tuple[str, bool]]:
    """The text in pieces, with whether each is a string."""
    pieces: list[tuple[str, bool]] = []
    position = 0
    for match in _STRING.finditer(text):
        pieces.append((text[position : match.start()], False))
        pieces.append((match[0], True))
        position = match.end()
    pieces.append((text[position:], False))
    return pieces


def _ends_string(piece: str) -> bool:
    return len(piece) > 1 and piece.endswith('"') and not _ends_escaped(piece)


def _ends_escaped(piece: str) -> bool:
    body = piece[:-1]
    return (len(body) - len(body.rstrip("\\"))) % 2 == 1
