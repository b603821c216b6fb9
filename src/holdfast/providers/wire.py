"""What a wire format is: what to send and how to read the answer; and limits on time and size. The transport
does the sending."""

from collections.abc import Sequence
from typing import Protocol

from holdfast.core.errors import AttemptFailed
from holdfast.core.shapes import Record
from holdfast.providers.failures import Endpoint
from holdfast.providers.interface import Event, ModelRequest

_MIB = 1024 * 1024


class StreamLimits(Record, frozen=True, kw_only=True):
    connect_seconds: float = 30.0
    # Without a whole line: a byte now and then is as good as silence.
    silence_seconds: float = 120.0
    # With nothing but keep-alives.
    idle_seconds: float = 900.0
    # What one event, and all bytes of an answer, may come to. What an answer may hold is the assembler's
    # limit.
    event_bytes: int = 64 * _MIB
    stream_bytes: int = 512 * _MIB


class Reading(Protocol):
    """Reads the events of one answer."""

    @property
    def done(self) -> bool:
        """Whether the terminal event was read: nothing after it matters."""
        ...

    def read(self, payload: bytes) -> Sequence[Event]: ...

    def end(self) -> Sequence[Event]:
        """The stream is over: the last events, or `AttemptFailed` if the answer is not whole."""
        ...


class WireFormat(Protocol):
    @property
    def kind(self) -> str: ...

    def path(self, request: ModelRequest) -> str:
        """Where the request goes, below the provider's address. Never with a key in it."""
        ...

    def headers(self, request: ModelRequest, key: str | None) -> dict[str, str]: ...

    def body(self, request: ModelRequest) -> bytes: ...

    def reading(self, request: ModelRequest, endpoint: Endpoint) -> Reading: ...

    def runs(self, request: ModelRequest) -> Sequence[str]:
        """The tools that the provider could run itself in this request."""
        ...

    def differently(self, request: ModelRequest, failed: AttemptFailed) -> bool:
        """Whether this refusal, which came before any of the answer, is answered by asking once more at once:
        the request then has another body."""
        ...
