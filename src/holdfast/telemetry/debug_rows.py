"""Rows of the debug record from what was noted: without secrets, in portions that are written together."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from holdfast.core.debug_runs import DebugAttempt
from holdfast.core.failures import Failure
from holdfast.providers.exchange_redaction import TEXT_CHARACTERS, ExchangeRedactor
from holdfast.providers.exchanges import RawExchange
from holdfast.store.debug_writing import StepRow

# In one transaction: others write to the database too.
MOST_STEPS_AT_ONCE = 100
MOST_BYTES_AT_ONCE = 2 * 1024 * 1024


def portions(steps: Sequence[StepRow]) -> list[list[StepRow]]:
    portions: list[list[StepRow]] = [[]]
    size = 0
    for step in steps:
        length = sum(len(text) for text in _texts_of(step) if text is not None)
        if portions[-1] and (len(portions[-1]) >= MOST_STEPS_AT_ONCE or size + length > MOST_BYTES_AT_ONCE):
            portions.append([])
            size = 0
        portions[-1].append(step)
        size += length
    return portions


def _texts_of(step: StepRow) -> Iterator[str | None]:
    yield step.request
    yield step.response
    for attempt in step.attempts:
        yield attempt.request_body
        yield attempt.response_body


def attempt_of(exchange: RawExchange, redactor: ExchangeRedactor) -> DebugAttempt:
    return DebugAttempt(
        number=exchange.number,
        status="completed" if exchange.error is None else "failed",
        method=exchange.method,
        url=redactor.text(exchange.url),
        request_headers=redactor.headers(exchange.request_headers),
        request_body=redactor.request_body(exchange.request_body),
        response_headers=redactor.headers(exchange.response_headers),
        response_body=redactor.answer(exchange.answer, exchange.answer_bytes),
        status_code=exchange.status_code,
        error=None if exchange.error is None else redactor.text(exchange.error)[:TEXT_CHARACTERS],
        started_at=exchange.started_at,
        finished_at=exchange.finished_at,
        duration_ms=exchange.duration_ms,
    )


def redacted_failure(failure: Failure, redactor: ExchangeRedactor) -> Failure:
    return replace(
        failure,
        message=redactor.text(failure.message),
        detail=None if failure.detail is None else redactor.text(failure.detail),
    )


def size_of(exchange: RawExchange) -> int:
    return len(exchange.request_body) + len(exchange.answer)
