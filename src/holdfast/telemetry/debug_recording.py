"""Writes the debug record, in the background and in batches, outside of every transaction of a turn. Whoever
records only leaves notes here, without waiting: recording never fails, slows or blocks what is recorded. What
could not be written is counted."""

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from types import TracebackType
from typing import Literal, Self

import structlog
from msgspec.structs import replace

from holdfast.core.clock import Clock
from holdfast.core.debug_runs import (
    DebugKind,
    DebugOperation,
    DebugStatus,
    may_follow,
)
from holdfast.core.errors import HoldfastError, StoreClosed, TryAgain
from holdfast.core.events import DebugHint
from holdfast.core.failures import Failure
from holdfast.core.ids import ChatId, DebugRunId, Ids, MessageId, named_uuid7
from holdfast.core.segments import Segments
from holdfast.core.text import one_line
from holdfast.core.usage import Usage
from holdfast.prompt.segments import SegmentContent
from holdfast.providers.assemble import ModelAnswer
from holdfast.providers.exchange_redaction import TEXT_CHARACTERS, ExchangeRedactor
from holdfast.providers.exchanges import HttpExchange, RawExchange
from holdfast.providers.interface import ModelRequest
from holdfast.store import debug_writing
from holdfast.store.debug_writing import RunRow, StepRow, TextRow
from holdfast.store.interface import Store
from holdfast.store.query import Query
from holdfast.telemetry.debug_rows import attempt_of, portions, redacted_failure, size_of
from holdfast.telemetry.debug_shapes import answer_shape, request_shape
from holdfast.telemetry.debug_wishes import DebugWishes
from holdfast.telemetry.metrics import Metrics

log = structlog.get_logger(__name__)

FIRST_MESSAGE_CHARACTERS = 200
LABEL_CHARACTERS = 80
# How long notes are collected before they are written.
BATCH_SECONDS = 0.25
# What may wait to be written; of what comes on top bodies are not kept.
MOST_WAITING_BYTES = 64 * 1024 * 1024
# And of more steps than this, nothing.
MOST_WAITING_STEPS = 10_000
# While the database is unavailable, and how long the last notes may take when the process stops.
AGAIN_SECONDS = (0.5, 1.0, 2.0)
LAST_SECONDS = 5.0
# Texts of segments are noted again after so long: what is noted is forgotten in time.
TEXT_SECONDS = 43_200.0
MOST_TEXTS = 20_000

_LABELS: dict[DebugKind, str] = {"title": "Title", "summary": "Summary", "compaction": "Compaction"}


class RecordedRun:
    """A turn, a title, a summary or a compaction that is being recorded."""

    def __init__(self, recorder: "DebugRecorder", row: RunRow) -> None:
        self._recorder = recorder
        self.row = row
        self.steps_begun = 0
        # Known when it was looked for: the steps of a worker before us, and what the turn began with.
        self.steps_before: int | None = None
        # A worker before us left something in progress, which ends with the first write.
        self.left = False
        # Whether its row has to be written.
        self.moved = True
        # What it was about is gone.
        self.is_over = False

    def step(
        self, operation: DebugOperation, request: ModelRequest, history_message_id: MessageId | None
    ) -> "RecordedStep":
        self.steps_begun += 1
        return RecordedStep(self._recorder, self, self.steps_begun, operation, request, history_message_id)

    def used(self, provider: str | None, model: str | None) -> None:
        if (provider, model) != (self.row.provider, self.row.model):
            self.row = replace(self.row, provider=provider, model=model)
            self.moved = True

    def end(self, status: Literal["completed", "error", "interrupted"]) -> None:
        if may_follow(self.row.status, status):
            self.row = replace(self.row, status=status, finished_at=self._recorder.now())
            self.moved = True
            self._recorder.note(self)


class RecordedStep:
    """One model operation that is being recorded, and the log of its HTTP requests."""

    def __init__(
        self,
        recorder: "DebugRecorder",
        run: RecordedRun,
        ordinal: int,
        operation: DebugOperation,
        request: ModelRequest,
        history_message_id: MessageId | None,
    ) -> None:
        self._recorder = recorder
        self.run = run
        self.ordinal = ordinal
        self.id = recorder.new_id()
        self.operation: DebugOperation = operation
        self.history_message_id = history_message_id
        self.status: DebugStatus = "in_progress"
        self.request: ModelRequest | None = request
        self.answer: ModelAnswer | None = None
        self.usage: Usage | None = None
        self.error: Failure | None = None
        self.started_at = recorder.now()
        self.finished_at: datetime | None = None
        self.attempts_begun = 0
        # Not written yet, by number.
        self.attempts: dict[int, RawExchange] = {}
        recorder.note(run, self)

    def again(self, request: ModelRequest) -> None:
        """The next attempt may be asked otherwise."""
        self.request = request
        self._recorder.note(self.run, self)

    # --- its HTTP requests ---

    def exchange(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> HttpExchange:
        self.attempts_begun += 1
        return HttpExchange(self._keep, self._recorder.clock, self.attempts_begun, method, url, headers, body)

    def _keep(self, exchange: RawExchange) -> None:
        self.attempts[exchange.number] = self._recorder.admitted(exchange, self.attempts.get(exchange.number))
        self._recorder.note(self.run, self)

    # --- its end ---

    def completed(self, answer: ModelAnswer, usage: Usage) -> None:
        if self._move("completed"):
            # Also of the attempts before that failed.
            self.answer, self.usage, self.error = answer, usage, None

    def failed(self, failure: Failure) -> None:
        if self._move("error"):
            self.error = failure

    def interrupted(self) -> None:
        self._move("interrupted")

    def _move(self, status: DebugStatus) -> bool:
        if not may_follow(self.status, status):
            return False
        self.status, self.finished_at = status, self._recorder.now()
        self._recorder.note(self.run, self)
        return True


class _Batch:
    """What is written together, taken from the notes: raw, until it is redacted in a thread."""

    def __init__(self) -> None:
        self.runs: dict[DebugRunId, RecordedRun] = {}
        self.steps: dict[str, RecordedStep] = {}
        self.texts: list[tuple[RecordedRun, SegmentContent]] = []

    def __bool__(self) -> bool:
        return bool(self.runs)

    def add(self, later: "_Batch") -> None:
        self.runs |= later.runs
        self.steps |= later.steps
        self.texts += later.texts


class DebugRecorder:
    """Open it as a context manager, on the loop of those who record."""

    def __init__(
        self, store: Store, clock: Clock, ids: Ids, metrics: Metrics, known: Callable[[], Iterable[str]]
    ) -> None:
        self.clock = clock
        self.wishes = DebugWishes(clock)
        self._store = store
        self._ids = ids
        self._metrics = metrics
        self._redactor = ExchangeRedactor(known)
        self._notes = _Batch()
        self._noted = asyncio.Event()
        # Nothing waits to be written.
        self._idle = asyncio.Event()
        self._idle.set()
        self._waiting_bytes = 0
        # When the texts of these segments were noted.
        self._texts: dict[tuple[ChatId, str], float] = {}
        self._writing: asyncio.Task[None] | None = None
        self._closing = False

    def now(self) -> datetime:
        return self.clock.now()

    def new_id(self) -> str:
        return self._ids.uuid7(self.clock.now())

    # --- notes ---

    def turn(self, chat_id: ChatId, turn: int, began_at: datetime, tip: MessageId | None) -> RecordedRun:
        """There is one for each turn, whichever workers record it."""
        name = blake2b(f"{chat_id} {turn}".encode(), digest_size=10).digest()
        return self._run(DebugRunId(named_uuid7(began_at, name)), chat_id, "chat_turn", turn, tip)

    def side(self, kind: DebugKind, chat_id: ChatId, turn: int, tip: MessageId | None) -> RecordedRun:
        """A title, a summary or a compaction."""
        return self._run(DebugRunId(self.new_id()), chat_id, kind, turn, tip)

    def _run(
        self, run_id: DebugRunId, chat_id: ChatId, kind: DebugKind, turn: int, tip: MessageId | None
    ) -> RecordedRun:
        return RecordedRun(
            self,
            RunRow(
                id=run_id,
                chat_id=chat_id,
                kind=kind,
                status="in_progress",
                turn=turn,
                message_id=None,
                history_message_id=tip,
                provider=None,
                model=None,
                first_message="",
                label="",
                started_at=self.now(),
                finished_at=None,
            ),
        )

    def note(self, run: RecordedRun, step: RecordedStep | None = None) -> None:
        if self._writing is None or run.is_over:
            return
        if step is not None:
            if len(self._notes.steps) >= MOST_WAITING_STEPS and step.id not in self._notes.steps:
                self._forget_attempts(step)
                self._metrics.debug_lost.inc()
                return
            self._notes.steps[step.id] = step
        self._notes.runs[run.row.id] = run
        self._noted.set()
        self._idle.clear()

    def lacks(self, chat_id: ChatId, segments: Segments) -> bool:
        """Whether the text of any of these may not be stored."""
        now = self.clock.elapsed()
        return any(now - self._texts.get((chat_id, one.hash), -math.inf) > TEXT_SECONDS for one in segments)

    def note_texts(self, run: RecordedRun, pieces: Sequence[SegmentContent]) -> None:
        """What segments say that are in no history."""
        if len(self._texts) > MOST_TEXTS:
            self._texts.clear()
        for piece in pieces:
            self._texts[run.row.chat_id, piece.segment.hash] = self.clock.elapsed()
        self._notes.texts += [(run, piece) for piece in pieces]
        self.note(run)

    def admitted(self, exchange: RawExchange, instead_of: RawExchange | None) -> RawExchange:
        """Without its bodies while too much waits."""
        size = size_of(exchange)
        self._waiting_bytes -= 0 if instead_of is None else size_of(instead_of)
        if self._waiting_bytes + size > MOST_WAITING_BYTES:
            self._metrics.debug_lost.inc()
            exchange = replace(exchange, request_body=b"", answer=b"")
            size = 0
        self._waiting_bytes += size
        return exchange

    # --- writing ---

    async def __aenter__(self) -> Self:
        self._writing = asyncio.create_task(self._write_notes(), name="debug record")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The last notes are written, if the database lets us."""
        writing, self._writing = self._writing, None
        self._closing = True
        self._noted.set()
        if writing is not None:
            await asyncio.wait({writing}, timeout=LAST_SECONDS)
            if not writing.done():
                writing.cancel()
                await asyncio.wait({writing})
                self._lost(self._notes, "the process stopped")

    async def written(self) -> None:
        """Everything that was noted until now is written, or lost."""
        await self._idle.wait()

    async def _write_notes(self) -> None:
        while True:
            await self._noted.wait()
            if not self._closing:
                await asyncio.sleep(BATCH_SECONDS)
            self._noted.clear()
            batch, self._notes = self._notes, _Batch()
            await self._write_or_lose(batch)
            if not self._notes:
                self._idle.set()
                if self._closing:
                    return

    async def _write_or_lose(self, batch: _Batch) -> None:
        for seconds in (*AGAIN_SECONDS, None):
            try:
                await self._write(batch)
                return
            except asyncio.CancelledError:
                self._lost(batch, "the process stopped")
                raise
            except StoreClosed as error:
                self._lost(batch, str(error))
                return
            except TryAgain as error:
                if seconds is None or self._closing:
                    self._lost(batch, error.text)
                    return
                await asyncio.sleep(seconds)
            except HoldfastError as error:
                self._lost(batch, error.text)
                return
            except Exception as error:
                log.error("debug record", exc_info=error)
                self._lost(batch, type(error).__name__)
                return

    def _lost(self, batch: _Batch, reason: str) -> None:
        if not batch:
            return
        for step in batch.steps.values():
            self._forget_attempts(step)
        self._metrics.debug_lost.inc(max(len(batch.steps), len(batch.runs)))
        log.warning("debug record not written", reason=reason, runs=len(batch.runs), steps=len(batch.steps))

    def _forget_attempts(self, step: RecordedStep) -> None:
        self._waiting_bytes -= sum(map(size_of, step.attempts.values()))
        step.attempts.clear()

    async def _write(self, batch: _Batch) -> None:
        await self._begin([run for run in batch.runs.values() if run.steps_before is None])
        runs = [run for run in batch.runs.values() if not run.is_over]
        # What is written now, and not what is noted meanwhile.
        taken = [_TakenStep(step) for step in batch.steps.values() if not step.run.is_over]
        texts = [(run, piece) for run, piece in batch.texts if not run.is_over]
        moved = [run for run in runs if run.moved]
        left = [run for run in runs if run.left]
        rows = [run.row for run in moved]
        ending = [run.row for run in left]
        for run in moved:
            run.moved = False
        hints = tuple(DebugHint(chat_id=chat_id) for chat_id in {run.row.chat_id for run in runs})
        try:
            for write in await asyncio.to_thread(self._writes, rows, ending, taken, texts, hints):
                await self._store.write(write)
        except BaseException:
            for run in moved:
                run.moved = True
            raise
        for run in left:
            run.left = False
        for one in taken:
            self._waiting_bytes -= one.forget_written()

    async def _begin(self, runs: Sequence[RecordedRun]) -> None:
        if not runs:
            return
        beginnings = await self._store.read(debug_writing.beginnings([run.row for run in runs]))
        found = {beginning.run_id: beginning for beginning in beginnings}
        self._redactor.refresh()
        for run in runs:
            beginning = found.get(run.row.id)
            if beginning is None:
                run.is_over = True
                continue
            said = one_line(self._redactor.text(beginning.first_message), FIRST_MESSAGE_CHARACTERS)
            label = _LABELS.get(run.row.kind) or one_line(said, LABEL_CHARACTERS)
            run.row = replace(run.row, message_id=beginning.message_id, first_message=said, label=label)
            run.steps_before, run.left, run.moved = beginning.steps, beginning.left, True

    def _writes(
        self,
        rows: Sequence[RunRow],
        ending: Sequence[RunRow],
        taken: Sequence["_TakenStep"],
        texts: Sequence[tuple[RecordedRun, SegmentContent]],
        hints: Sequence[DebugHint],
    ) -> list[Query[None]]:
        """In a thread: redacting a long history takes a while. Each is a transaction; the last one is told
        of."""
        redactor = self._redactor
        redactor.refresh()
        segments = [
            TextRow(
                chat_id=run.row.chat_id,
                hash=piece.segment.hash,
                body=redactor.text(piece.content.decode("utf-8", "replace"))[:TEXT_CHARACTERS],
            )
            for run, piece in texts
        ]
        first, *others = portions([one.row(redactor) for one in taken])
        return [
            debug_writing.put(rows, first, segments, ending=ending, hints=() if others else hints),
            *(
                debug_writing.put((), steps, (), hints=hints if steps is others[-1] else ())
                for steps in others
            ),
        ]


class _TakenStep:
    """A step as it was when its batch was taken."""

    def __init__(self, step: RecordedStep) -> None:
        self._step = step
        self._run = step.run.row
        self._number = (step.run.steps_before or 0) + step.ordinal
        self._status: DebugStatus = step.status
        self._request = step.request
        self._answer, self._usage, self._error = step.answer, step.usage, step.error
        self._finished_at = step.finished_at
        self._attempts = dict(step.attempts)

    def row(self, redactor: ExchangeRedactor) -> StepRow:
        step = self._step
        return StepRow(
            run=self._run,
            id=step.id,
            number=self._number,
            operation=step.operation,
            status=self._status,
            request=None if self._request is None else request_shape(self._request, redactor),
            response=None if self._answer is None else answer_shape(self._answer, redactor),
            usage=self._usage,
            error=None if self._error is None else redacted_failure(self._error, redactor),
            history_message_id=step.history_message_id,
            started_at=step.started_at,
            finished_at=self._finished_at,
            attempts=tuple(attempt_of(exchange, redactor) for exchange in self._attempts.values()),
        )

    def forget_written(self) -> int:
        """Returns how many bytes wait no longer."""
        step, size = self._step, 0
        if step.request is self._request:
            step.request = None
        for number, exchange in self._attempts.items():
            if step.attempts.get(number) is exchange:
                del step.attempts[number]
            size += size_of(exchange)
        return size
