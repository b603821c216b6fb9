"""What the scripted provider answers, as data: the content, the pace, and the way it goes wrong. JSON can
carry it, so a server in another process takes the same scripts."""

from typing import Any

import msgspec


class _Tagged(msgspec.Struct, frozen=True, tag_field="type"):
    pass


class Say(_Tagged, frozen=True, tag="say"):
    text: str


class Think(_Tagged, frozen=True, tag="think"):
    text: str


class Redacted(_Tagged, frozen=True, tag="redacted"):
    """Thinking that only its provider can read."""

    data: str = "cipher"


class Call(_Tagged, frozen=True, tag="call"):
    name: str
    # A text is sent as it is, valid or not.
    input: dict[str, Any] | str = msgspec.field(default_factory=dict[str, Any])
    # The provider makes one up when none is given.
    id: str | None = None


class Refuse(_Tagged, frozen=True, tag="refuse"):
    """A refusal in words; plain text in formats that have no shape for it."""

    text: str


class Search(_Tagged, frozen=True, tag="search"):
    """A web search that the provider runs itself (not in the chat format)."""

    query: str
    url: str
    title: str


class RunCode(_Tagged, frozen=True, tag="run_code"):
    """Code that the provider runs itself."""

    code: str
    output: str


Content = Say | Think | Redacted | Call | Refuse | Search | RunCode


class _Fault(msgspec.Struct, frozen=True, tag_field="fault"):
    pass


class Status(_Fault, frozen=True, tag="status"):
    """An error before the stream; without a body, the one its format has for this status."""

    status: int
    body: str | None = None
    headers: dict[str, str] = msgspec.field(default_factory=dict[str, str])


class Drop(_Fault, frozen=True, tag="drop"):
    """The connection closes after this share of the answer; `reset` breaks it instead."""

    after: float = 0.4
    reset: bool = False


class Hang(_Fault, frozen=True, tag="hang"):
    """Nothing comes: not even a status, or (`after_headers`) nothing but it."""

    after_headers: bool = False


class Stall(_Fault, frozen=True, tag="stall"):
    """After this share of the answer nothing more comes."""

    after: float = 0.4


class Dribble(_Fault, frozen=True, tag="dribble"):
    """One byte at a time."""

    seconds: float = 20.0


class KeepAlives(_Fault, frozen=True, tag="keep_alives"):
    """Comments and nothing else, for ever."""

    seconds: float = 10.0


class Page(_Fault, frozen=True, tag="page"):
    """A web page where a stream should be."""

    status: int = 200


class NoEnd(_Fault, frozen=True, tag="no_end"):
    """The stream ends well, but the terminal event never came."""


class ErrorEvent(_Fault, frozen=True, tag="error_event"):
    """An error inside the stream, after this share of it."""

    error_type: str = "overloaded_error"
    message: str = "Overloaded"
    after: float = 0.4


class BadUtf8(_Fault, frozen=True, tag="bad_utf8"):
    """Every text has a byte that is no UTF-8."""


class Garbage(_Fault, frozen=True, tag="garbage"):
    """An event that is no JSON."""


class Raw(_Fault, frozen=True, tag="raw"):
    """These bytes as the stream."""

    text: str


Fault = (
    Status | Drop | Hang | Stall | Dribble | KeepAlives | Page | NoEnd | ErrorEvent | BadUtf8 | Garbage | Raw
)


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    content: tuple[Content, ...] = ()
    # input, output, cache_read, cache_write, reasoning; left out, they are estimated. Any number will do.
    usage: dict[str, Any] | None = None
    # As the format names it; left out, it follows from the content.
    stop: str | None = None
    # Characters in a delta.
    piece: int = 12
    first_delay_seconds: float = 0.0
    delay_seconds: float = 0.0
    fault: Fault | None = None


def say(text: str, **more: Any) -> Reply:
    return Reply(content=(Say(text),), **more)


def call(name: str, input: dict[str, Any] | str | None = None, **more: Any) -> Reply:  # noqa: A002
    return Reply(content=(Call(name, {} if input is None else input),), **more)


def calls(*given: Call, **more: Any) -> Reply:
    return Reply(content=given, **more)


def many_calls(count: int, name: str = "note") -> Reply:
    return Reply(content=tuple(Call(name, {"n": n}) for n in range(count)))


def same_id_twice(name: str = "note") -> Reply:
    return Reply(content=(Call(name, {"n": 1}, "twin"), Call(name, {"n": 2}, "twin")))


def fails(fault: Fault, text: str = "This answer never arrives whole, whatever you do.") -> Reply:
    return Reply(content=(Say(text),), fault=fault)
