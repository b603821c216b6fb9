"""An exported chat, read strictly: every field known and of its type, every value within bounds, and a
history that is valid for every provider. Ids only have to be consistent; new ones are assigned."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import fields

from holdfast.api.bodies import checked_json, decode
from holdfast.api.export_formats import EXPORT_VERSION
from holdfast.api.import_scan import ExportFile, Read
from holdfast.api.problems import Problem, invalid
from holdfast.core.chats import Chat
from holdfast.core.ids import CallId, FileId, MessageId, is_call_id, is_uuid7
from holdfast.core.messages import Message
from holdfast.core.parts import File, Notice, Part, Reasoning, Source, Text, ToolCall, ToolResult
from holdfast.core.shapes import Border, encode
from holdfast.core.text import clean_deep
from holdfast.core.usage import Usage

MAX_PARTS = 10_000
MAX_FILES = 2_000
MAX_TURN = 1_000_000_000
MAX_AMOUNT = 2**53
# For names of models, efforts and tools, kinds of files, and codes of notices.
MAX_NAME = 200
MAX_ADDRESS = 10_000
_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
# Never exported: what a provider must get back verbatim.
_UNSHOWN = "provider_data"


class ExportHead(Border, frozen=True, kw_only=True):
    """The file without its messages. Parts of the chat that are not imported may be missing."""

    holdfast_export: int
    chat: Any
    messages: tuple[()] = ()


@dataclass(frozen=True, slots=True)
class Exported:
    """The content of the file. `digest` is the same for files with the same content, however they are
    written."""

    chat: Any
    messages: tuple[Message, ...]
    files: tuple[FileId, ...]
    digest: bytes


def read_export(read: Read) -> Exported:
    """Blocking and long: for a thread. Raises Problem."""
    file = ExportFile(read)
    head = decode(file.head(), ExportHead)
    if head.holdfast_export != EXPORT_VERSION:
        raise invalid("holdfast_export", f"this server reads version {EXPORT_VERSION} of exported chats")
    chat = _chat(head.chat)
    digest = hashlib.sha256(encode(chat))
    history = ExportedHistory(chat.id)
    for number, body in enumerate(file.messages()):
        message = _message(body, number)
        history.add(message, number)
        digest.update(encode(message))
    if not history.messages:
        raise invalid("messages", "there is none")
    return Exported(chat, tuple(history.messages), tuple(history.files), digest.digest())


class ExportedHistory:
    """Messages one after another: unique ids, increasing turns, and each call with at most one result, which
    comes before anything else. The importer answers calls without a result."""

    def __init__(self, chat_id: str | UnsetType) -> None:
        self.messages: list[Message] = []
        self.files: dict[FileId, None] = {}
        self._chat_id = chat_id
        self._ids: set[MessageId] = set()
        self._calls: set[CallId] = set()
        self._open: dict[CallId, ToolCall] = {}
        self._turn = 0

    def add(self, message: Message, number: int) -> None:
        where = f"messages.{number}"
        if not is_uuid7(message.id) or message.id in self._ids:
            raise invalid(f"{where}.id", "not an id, or another message has it too")
        if self._chat_id is not UNSET and message.chat_id != self._chat_id:
            raise invalid(f"{where}.chat_id", "not the id of the chat")
        if not self._turn <= message.turn <= MAX_TURN:
            raise invalid(f"{where}.turn", "the turn must not be lower than that of the message before")
        if message.compaction and message.visibility == "model" and message.role not in ("user", "system"):
            raise invalid(f"{where}.role", "a summary for the model has the role user or system")
        self._ids.add(message.id)
        self._turn = message.turn
        if not message.removed:
            self._follow(message, where)
        for place, part in enumerate(message.parts):
            self._look(message, part, f"{where}.parts.{place}")
        self.messages.append(message)

    def _follow(self, message: Message, where: str) -> None:
        """Which calls wait for a result after the message."""
        if message.role != "tool":
            self._open = {}
        for place, part in enumerate(message.parts):
            if isinstance(part, ToolResult):
                call = self._open.get(part.call_id)
                if call is None or (message.role == "assistant" and not call.provider_executed):
                    raise invalid(
                        f"{where}.parts.{place}.call_id",
                        "there is no call directly before it that this could be the result of",
                    )
                del self._open[part.call_id]
            elif isinstance(part, ToolCall):
                self._open[part.call_id] = part

    def _look(self, message: Message, part: Part, where: str) -> None:
        match part:
            case ToolCall():
                if message.role != "assistant":
                    raise invalid(where, "only an assistant calls tools")
                if not is_call_id(part.call_id) or part.call_id in self._calls:
                    raise invalid(f"{where}.call_id", "not the id of a call, or another call has it too")
                self._calls.add(part.call_id)
            case ToolResult():
                if message.role not in ("assistant", "tool"):
                    raise invalid(where, "a result must be in a message with the role tool")
            case Reasoning():
                if message.role != "assistant":
                    raise invalid(where, "only an assistant reasons")
            case File():
                if not is_uuid7(part.file_id):
                    raise invalid(f"{where}.file_id", "not an id")
                self.files.setdefault(part.file_id)
                if len(self.files) > MAX_FILES:
                    raise invalid(where, f"more than {MAX_FILES} files")
            case Text() | Source() | Notice():
                pass


def _chat(value: Any) -> Any:
    try:
        return msgspec.convert(value, strict(Chat, lenient=True))
    except msgspec.ValidationError as error:
        raise _placed(error, "chat") from None


def _message(body: bytes, number: int) -> Message:
    where = f"messages.{number}"
    try:
        decode(body, strict(Message))
    except Problem as problem:
        raise _under(where, problem) from None
    message = clean_deep(msgspec.json.decode(body, type=Message))
    _check_bounds(message, where)
    return message


def _check_bounds(message: Message, where: str) -> None:
    if len(message.parts) > MAX_PARTS:
        raise invalid(f"{where}.parts", f"more than {MAX_PARTS}")
    _check_times(where, (message.created_at,))
    for name, value in (("model", message.model), ("effort", message.effort)):
        _check_length(f"{where}.{name}", value, MAX_NAME)
    if message.usage is not None:
        _check_usage(message.usage, f"{where}.usage")
    for place, part in enumerate(message.parts):
        _check_part(part, f"{where}.parts.{place}")


def _check_part(part: Part, where: str) -> None:
    match part:
        case Text():
            pass
        case Reasoning():
            _check_times(where, (part.started_at, part.finished_at))
        case ToolCall():
            _check_length(f"{where}.name", part.name, MAX_NAME)
            checked_json(f"{where}.input", part.input)
        case ToolResult():
            _check_length(f"{where}.name", part.name, MAX_NAME)
            _check_times(where, (part.started_at, part.finished_at))
            checked_json(f"{where}.output", part.output)
        case File():
            _check_length(f"{where}.media_type", part.media_type, MAX_NAME)
            _check_length(f"{where}.name", part.name, MAX_ADDRESS)
            _check_amounts(f"{where}.size", (part.size,))
        case Source():
            _check_length(f"{where}.url", part.url, MAX_ADDRESS)
            _check_length(f"{where}.title", part.title, MAX_ADDRESS)
        case Notice():
            _check_length(f"{where}.code", part.code, MAX_NAME)
            checked_json(f"{where}.data", part.data)


def _check_usage(usage: Usage, where: str) -> None:
    amounts = (getattr(usage, field.name) for field in fields(Usage))
    _check_amounts(where, (amount for amount in amounts if amount is not None))


def _check_amounts(where: str, amounts: Iterable[float]) -> None:
    # Written so that NaN does not pass.
    if not all(0 <= amount <= MAX_AMOUNT for amount in amounts):
        raise invalid(where, "an impossible amount")


def _check_times(where: str, moments: Iterable[datetime | None]) -> None:
    for moment in moments:
        if moment is not None and (moment.tzinfo is None or not _EARLIEST <= moment <= _LATEST):
            raise invalid(where, "a time without its zone, or too far in the past or future")


def _check_length(where: str, text: str | None, most: int) -> None:
    if text is not None and len(text) > most:
        raise invalid(where, f"longer than {most} characters")


def _placed(error: msgspec.ValidationError, where: str) -> Problem:
    message, _, place = str(error).partition(" - at `")
    path = place.rstrip("`").removeprefix("$").lstrip(".").replace("[", ".").replace("]", "")
    return invalid(f"{where}.{path}" if path else where, message)


def _under(where: str, problem: Problem) -> Problem:
    """The same problem, located in a piece of the file."""
    (error,) = problem.body.errors
    field = where if error.field == "body" else f"{where}.{error.field}"
    return invalid(field, error.message)


@cache
def strict(kind: type[msgspec.Struct], *, lenient: bool = False) -> Any:
    """A shape with the fields of one of ours, at every level, that refuses all others. Made from ours, so
    that what a later version exports is read by it too. `lenient`: every field may be missing."""
    config = kind.__struct_config__
    wanted: list[tuple[str, Any, Any]] = []
    for each in fields(kind):
        if each.name == _UNSHOWN:
            continue
        known = _strict_type(each.type)
        if lenient:
            wanted.append((each.name, Union[known, UnsetType], UNSET))  # noqa: UP007 - made while it runs
        elif each.required:
            wanted.append((each.name, known, msgspec.NODEFAULT))
        else:
            wanted.append((each.name, known, None if each.default is msgspec.NODEFAULT else each.default))
    return msgspec.defstruct(
        kind.__name__,
        cast(Any, wanted),
        kw_only=True,
        forbid_unknown_fields=True,
        tag=config.tag,
        tag_field=config.tag_field,
    )


def _strict_type(kind: Any) -> Any:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return strict(kind)
    inner = tuple(each if each is ... else _strict_type(each) for each in get_args(kind))
    if get_origin(kind) is tuple:
        return tuple[inner]
    if get_origin(kind) in (Union, UnionType):
        return Union[inner]  # noqa: UP007 - made while it runs
    return cast(Any, kind)
