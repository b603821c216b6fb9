"""One HTTP request to a provider and its answer, collected while it happens for whoever keeps it. Collecting
only takes references and the beginning of the answer: it neither waits nor fails."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol

from holdfast.core.clock import Clock, Stopwatch
from holdfast.core.shapes import Record

# Of an answer: more than is stored, so that what is cut off can be told from what is whole.
COLLECTED_BYTES = 64 * 1024


class RawExchange(Record, frozen=True, kw_only=True):
    """As it was, with its secrets. `error`: it failed, or nobody read on. `answer_bytes` is how long the
    answer was, of which `answer` may be the beginning."""

    number: int
    method: str
    url: str
    request_headers: Mapping[str, str]
    request_body: bytes
    response_headers: Mapping[str, str]
    answer: bytes
    answer_bytes: int
    status_code: int | None
    error: str | None
    started_at: datetime
    finished_at: datetime
    duration_ms: int


class HttpExchange:
    """It is kept when the answer is over, whether anybody closes it or not; an error that comes after that
    replaces what was kept under the same number."""

    def __init__(
        self,
        keep: Callable[[RawExchange], None],
        clock: Clock,
        number: int,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
    ) -> None:
        self._keep = keep
        self._watch = Stopwatch(clock)
        self._number = number
        self._request = (method, url, headers, body)
        self._status: int | None = None
        self._headers: Mapping[str, str] = {}
        self._answer: list[bytes] = []
        self._collected = 0
        self._bytes = 0
        self._is_kept = False

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        self._status, self._headers = status, headers

    def read(self, chunk: bytes) -> None:
        self._bytes += len(chunk)
        if self._collected < COLLECTED_BYTES:
            piece = chunk[: COLLECTED_BYTES - self._collected]
            self._answer.append(piece)
            self._collected += len(piece)

    def ended(self) -> None:
        """The answer was read to its end."""
        self._put(None)

    def failed(self, error: str) -> None:
        self._put(error)

    def closed(self) -> None:
        """Nobody reads on. Without an end or an error before, that is one."""
        if not self._is_kept:
            self._put("The answer was not read to its end.")

    def _put(self, error: str | None) -> None:
        self._is_kept = True
        method, url, headers, body = self._request
        self._keep(
            RawExchange(
                number=self._number,
                method=method,
                url=url,
                request_headers=headers,
                request_body=body,
                response_headers=self._headers,
                answer=b"".join(self._answer),
                answer_bytes=self._bytes,
                status_code=self._status,
                error=error,
                started_at=self._watch.started_at,
                finished_at=self._watch.now(),
                duration_ms=round(self._watch.seconds * 1000),
            )
        )


class ExchangeLog(Protocol):
    """Who keeps the exchanges of one model call."""

    def exchange(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> HttpExchange: ...
