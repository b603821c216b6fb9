"""What a chat shows for good, piece by piece, wherever it is shown."""

from dataclasses import dataclass
from datetime import datetime

from holdfast.core.failures import Failure
from holdfast.core.parts import ToolResult
from holdfast.core.shapes import Json


@dataclass(frozen=True, slots=True)
class UserEntry:
    """What a person said."""

    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class TextEntry:
    """A piece of what the model says. `goes_on`: of the same text as the piece before."""

    text: str
    goes_on: bool


@dataclass(frozen=True, slots=True)
class Thought:
    text: str
    seconds: float | None


@dataclass(frozen=True, slots=True)
class CallEntry:
    """A call that has its result. The input is None when the call was not seen."""

    result: ToolResult
    input: Json


@dataclass(frozen=True, slots=True)
class Said:
    """Anything else that is one line: a notice, a source, a file."""

    text: str


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The text before this was not kept: another attempt follows, or none."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    pass


@dataclass(frozen=True, slots=True)
class Begun:
    """History was removed: all of it follows anew."""


@dataclass(frozen=True, slots=True)
class FailureEntry:
    failure: Failure


Entry = UserEntry | TextEntry | Thought | CallEntry | Said | Withdrawn | Interrupted | Begun | FailureEntry
