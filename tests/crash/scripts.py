"""Messages for the scripted provider: each carries its own script, and a tag by which it is found again in
history, queue and requests. What the model says is marked at both ends, so that a cut or doubled text
shows."""

import itertools
import json
import re
from collections.abc import Iterable

from holdfast.core.parts import Part, Text
from tests.crash.tools import Gate

TAG = re.compile(r"\[(t\d+)\]")
_WHOLE = re.compile(r"(<<(\w+)( [\w\[\]]+)* \2>>)+")
_numbers = itertools.count(1)

WORDS = "one two three four five six seven eight nine ten eleven twelve"


def message(*steps: str, tag: str | None = None) -> str:
    """A message whose script has these steps and a last word."""
    tag = tag or new_tag()
    return "\n".join((f"[{tag}]", *steps, say(f"{tag} done {tag}")))


def new_tag() -> str:
    return f"t{next(_numbers)}"


def say(text: str, *, pace_seconds: float = 0.0) -> str:
    """`text` begins and ends with the same word."""
    said = f"<<{text}>>"
    return f"pace: {pace_seconds}\nsay slowly: {said}" if pace_seconds else f"say: {said}"


def slowly(seconds: float) -> str:
    """A text that takes about so long to stream."""
    tag = new_tag()
    pieces = len(WORDS) // 12 + 4
    return say(f"{tag} {WORDS} {tag}", pace_seconds=round(seconds / pieces, 3))


def call(tool: str, *, before: float = 0.0, after: float = 0.0, gate: Gate = "none") -> str:
    return f"call: {one(tool, before=before, after=after, gate=gate)}"


def calls(*given: str) -> str:
    """Calls at once, each made by `one`."""
    return "calls: " + "; ".join(given)


def one(tool: str, *, before: float = 0.0, after: float = 0.0, gate: Gate = "none") -> str:
    """A call that waits so many seconds before and after its effect, or until the gate is opened."""
    given = {"before_seconds": round(before, 3), "after_seconds": round(after, 3), "gate": gate}
    return f"{tool} {json.dumps(given)}"


def tag_of(parts: Iterable[Part]) -> str:
    """The tag of a message; empty if it has none."""
    text = "\n".join(part.text for part in parts if isinstance(part, Text))
    found = TAG.search(text)
    return found[1] if found else ""


def is_whole(text: str) -> bool:
    """Whether this is something the provider said, from its first to its last word."""
    return _WHOLE.fullmatch(text) is not None or text.startswith(("You said: ", "The script is done."))
