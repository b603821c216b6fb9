"""What a script declares about itself: the literal `meta`, checked field by field. The line of every value is
known, so that each error names its line."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from holdfast.core.errors import BadScript, InvalidInput
from holdfast.core.shapes import Json, Record
from holdfast.tools.schema import check_schema

MAX_NAME = 1000
MAX_TEXT = 100_000
MAX_PHASES = 100
MAX_BUDGET = 10**12

T = TypeVar("T")


class PlannedPhase(Record, frozen=True, kw_only=True):
    title: str
    detail: str | None = None
    model: str | None = None


class Meta(Record, frozen=True, kw_only=True):
    name: str
    description: str
    phases: tuple[PlannedPhase, ...] = ()
    when_to_use: str | None = None
    # Output tokens of a run with all its agents.
    budget: int | None = None
    # Whether calls of a finished run are reused too.
    reuse: Literal["always"] | None = None
    # A JSON Schema of the arguments. None: any JSON, or nothing.
    args: dict[str, Json] | None = None


@dataclass(frozen=True)
class Literally:
    """A value as written in the source, with the members of an object or the items of a list."""

    value: Json
    line: int
    inside: dict[str | int, "Literally"] = field(default_factory=dict[str | int, "Literally"])


def bad(line: int, sentence: str) -> BadScript:
    return BadScript(f"Line {line}: {sentence}", line)


def make_meta(literal: Literally) -> tuple[Meta, tuple[str, ...]]:
    """The meta, and a warning for each field that is not known."""
    if not isinstance(literal.value, dict):
        raise bad(literal.line, "meta must be an object with a name and a description.")
    known = {"name", "description", "phases", "whenToUse", "when_to_use", "budget", "args", "reuse"}
    meta = Meta(
        name=_required(literal, "name", _name),
        description=_required(literal, "description", _text),
        phases=_optional(literal, "phases", _phases) or (),
        when_to_use=_optional(literal, "whenToUse", _text) or _optional(literal, "when_to_use", _text),
        budget=_optional(literal, "budget", _budget),
        args=_optional(literal, "args", _schema),
        reuse=_optional(literal, "reuse", _reuse),
    )
    return meta, tuple(
        f"Line {literal.inside[key].line}: meta.{key} is not known and means nothing here."
        for key in literal.inside
        if key not in known
    )


def _required(parent: Literally, key: str, read: Callable[[str, Literally], T]) -> T:
    found = parent.inside.get(key)
    if found is None:
        raise bad(parent.line, f"meta needs a {key}.")
    return read(f"meta.{key}", found)


def _optional(
    parent: Literally, key: str, read: Callable[[str, Literally], T], path: str = "meta"
) -> T | None:
    found = parent.inside.get(key)
    if found is None or found.value is None or found.value == "":
        return None
    return read(f"{path}.{key}", found)


def _text(path: str, literal: Literally) -> str:
    if not isinstance(literal.value, str) or not literal.value.strip():
        raise bad(literal.line, f"{path} must be text that is not empty.")
    if len(literal.value) > MAX_TEXT:
        raise bad(literal.line, f"{path} is longer than {MAX_TEXT} characters.")
    return literal.value.strip()


def _name(path: str, literal: Literally) -> str:
    name = _text(path, literal)
    if len(name) > MAX_NAME:
        raise bad(literal.line, f"{path} is longer than {MAX_NAME} characters.")
    if "/" in name or not name.isprintable():
        raise bad(
            literal.line, f"{path} must be one line without a slash: it is what the workflow is called by."
        )
    return name


def _phases(path: str, literal: Literally) -> tuple[PlannedPhase, ...]:
    if not isinstance(literal.value, list):
        raise bad(literal.line, f'{path} must be a list of objects like {{title: "Review"}}.')
    if len(literal.inside) > MAX_PHASES:
        raise bad(literal.line, f"{path} lists more than {MAX_PHASES} phases.")
    return tuple(_phase(f"{path}[{place}]", item) for place, item in literal.inside.items())


def _phase(path: str, literal: Literally) -> PlannedPhase:
    if isinstance(literal.value, str):
        return PlannedPhase(title=_text(path, literal))
    if not isinstance(literal.value, dict) or "title" not in literal.inside:
        raise bad(literal.line, f"{path} must be a title, or an object with one.")
    return PlannedPhase(
        title=_text(f"{path}.title", literal.inside["title"]),
        detail=_optional(literal, "detail", _text, path),
        model=_optional(literal, "model", _text, path),
    )


def _budget(path: str, literal: Literally) -> int:
    value = literal.value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MAX_BUDGET:
        raise bad(literal.line, f"{path} must be a whole number of output tokens above zero.")
    return value


def _reuse(path: str, literal: Literally) -> Literal["always"]:
    if literal.value != "always":
        raise bad(literal.line, f"{path} can only be 'always': a finished run lends its calls too.")
    return "always"


def _schema(path: str, literal: Literally) -> dict[str, Json]:
    try:
        return check_schema(literal.value)
    except InvalidInput as error:
        raise bad(literal.line, f"{path} must be a JSON Schema: {error.text}") from None
