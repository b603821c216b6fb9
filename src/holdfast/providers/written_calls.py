"""Calls as models write them, read from the text between their tags. Pure: a text in, the calls out, or none
when it is not a call or not whole yet."""

import ast
import re
from typing import cast

from holdfast.core.shapes import Json, Record
from holdfast.providers.encoding import stable_text
from holdfast.providers.input_repair import Parsed, parse_input

_NAMES = ("name", "function", "tool", "tool_name", "function_name", "recipient_name")
_INPUTS = ("arguments", "parameters", "args", "input", "tool_input", "params")
# More than any model asks for at once.
_MOST_CALLS = 128
_MOST_CHARACTERS = 1_000_000


class WrittenCall(Record, frozen=True, kw_only=True):
    """`input` is JSON text."""

    name: str
    input: str


def tagged_calls(text: str) -> list[WrittenCall]:
    """Hermes and Qwen: an object, or `<function=name>` with parameters in tags."""
    if (at := text.find("<function=")) >= 0:
        return _functions(text[at:])
    return json_calls(text)


def json_calls(text: str) -> list[WrittenCall]:
    """One object, a list of them, or several one after the other; Llama separates them by `;`."""
    if len(text) > _MOST_CHARACTERS:
        return []
    calls: list[WrittenCall] = []
    rest = text.strip()
    while rest:
        value, length = first_value(rest)
        found = _of_value(value)
        if not found:
            return []
        calls += found
        rest = rest[length:].lstrip(" \n\r\t;,")
    return calls[:_MOST_CALLS]


def mistral_calls(text: str) -> list[WrittenCall]:
    """A list of objects, or `name[ARGS]{...}` once or more often."""
    if "[ARGS]" not in text:
        return json_calls(text)
    calls: list[WrittenCall] = []
    for piece in text.split("[TOOL_CALLS]"):
        name, _, rest = piece.partition("[ARGS]")
        name = name.partition("[CALL_ID]")[0].strip()
        value = _whole(rest)
        if not name or value is None:
            return []
        calls.append(WrittenCall(name=name, input=stable_text(value)))
    return calls


_DEEPSEEK = re.compile(
    r"(?:<｜tool▁call▁begin｜>)?\s*(?:function\s*<｜tool▁sep｜>\s*)?([^\s<`{]+)\s*(?:<｜tool▁sep｜>)?\s*"
)


def deepseek_calls(text: str) -> list[WrittenCall]:
    calls: list[WrittenCall] = []
    for piece in text.split("<｜tool▁call▁end｜>"):
        if not piece.replace("<｜tool▁calls▁end｜>", "").strip():
            continue
        found = _DEEPSEEK.match(piece)
        if found is None:
            return []
        given = piece[found.end() :].strip()
        given = given.removeprefix("```json").removeprefix("```").removesuffix("```").strip()
        if (value := _whole(given)) is None:
            return []
        calls.append(WrittenCall(name=found[1], input=stable_text(value)))
    return calls


_INVOKE = re.compile(
    r"<(?:｜DSML｜)?invoke\s+name=\"([^\"]{1,200})\"\s*>(.*?)</(?:｜DSML｜)?invoke>", re.DOTALL
)
_INVOKE_PARAMETER = re.compile(
    r"<(?:｜DSML｜)?parameter\s+name=\"([^\"]{1,200})\"(?:\s+string=\"(true|false)\")?\s*>(.*?)"
    r"</(?:｜DSML｜)?parameter>",
    re.DOTALL,
)


def invoke_calls(text: str) -> list[WrittenCall]:
    """`<invoke name="...">` with parameters, as DeepSeek and others write it."""
    if len(text) > _MOST_CHARACTERS:
        return []
    calls: list[WrittenCall] = []
    for name, inside in _INVOKE.findall(text)[:_MOST_CALLS]:
        given: dict[str, Json] = {
            key: value if string == "true" else _guess(value)
            for key, string, value in _INVOKE_PARAMETER.findall(inside)
        }
        calls.append(WrittenCall(name=name, input=stable_text(given)))
    return calls


_FUNCTION = re.compile(r"<function=([^>\s]{1,200})>(.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\s]{1,200})>\n?(.*?)\n?</parameter>", re.DOTALL)


def _functions(text: str) -> list[WrittenCall]:
    """Qwen's coder puts each parameter into a tag, Llama a JSON object behind the name."""
    if len(text) > _MOST_CHARACTERS:
        return []
    calls: list[WrittenCall] = []
    for name, inside in _FUNCTION.findall(text)[:_MOST_CALLS]:
        if "<parameter=" in inside:
            if inside.rstrip().endswith("</parameter>") is False:
                return []
            given: Json = {key: _guess(value) for key, value in _PARAMETER.findall(inside)}
        elif (given := _whole(inside.strip() or "{}")) is None:
            return []
        calls.append(WrittenCall(name=name, input=stable_text(given)))
    return calls


def python_calls(text: str) -> list[WrittenCall]:
    """`[name(key=value), ...]`, with plain values."""
    if len(text) > 100_000:
        return []
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    if not isinstance(tree, ast.List):
        return []
    calls: list[WrittenCall] = []
    for one in tree.elts[:_MOST_CALLS]:
        if not isinstance(one, ast.Call) or not isinstance(one.func, ast.Name) or one.args:
            return []
        try:
            given = {word.arg: cast(Json, ast.literal_eval(word.value)) for word in one.keywords if word.arg}
            calls.append(WrittenCall(name=one.func.id, input=stable_text(given)))
        except (ValueError, TypeError, RecursionError, SyntaxError):
            return []
    return calls


def _of_value(value: Json) -> list[WrittenCall]:
    if isinstance(value, list):
        each = [_of_value(one) for one in cast(list[Json], value)]
        return [call for calls in each for call in calls] if each and all(each) else []
    if not isinstance(value, dict):
        return []
    fields = cast(dict[str, Json], value)
    inner = fields.get("function")
    if isinstance(inner, dict):
        return _of_value(cast(Json, inner))
    name = next((fields[key] for key in _NAMES if isinstance(fields.get(key), str)), None)
    if not isinstance(name, str) or not name.strip():
        return []
    given = next((fields[key] for key in _INPUTS if key in fields), None)
    if given is None and len(fields) > 1 + ("id" in fields) + ("type" in fields):
        return []  # an object that has a name, and is about something else
    text = given if isinstance(given, str) else stable_text({} if given is None else given)
    return [WrittenCall(name=name.strip().removeprefix("functions."), input=text)]


def first_value(text: str) -> tuple[Json, int]:
    """The first JSON value, and where it ends; nearly JSON counts when nothing follows."""
    import json

    try:
        value, end = cast(tuple[Json, int], json.JSONDecoder(strict=False).raw_decode(text))
    except (ValueError, RecursionError):
        return _whole(text), len(text)
    return value, end


def _whole(text: str) -> dict[str, Json] | None:
    """An object that is all there: what breaks off is not completed here, more may come."""
    if not text.rstrip().endswith("}"):
        return None
    match parse_input(text, cut=True):
        case Parsed(value=value):
            return value
        case _:
            return None


def _guess(text: str) -> Json:
    """A parameter in a tag has no type: what reads as a JSON number, truth value, list or object is one."""
    import msgspec

    stripped = text.strip()
    if stripped[:1] in "{[" or stripped in ("true", "false", "null") or _NUMBER.fullmatch(stripped):
        try:
            return cast(Json, msgspec.json.decode(stripped))
        except (msgspec.DecodeError, UnicodeEncodeError):
            return text
    return text


_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
