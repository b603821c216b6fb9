"""Traces for other tools, exported from what is committed: a turn or a run that has ended is read from its
rows and sent. Nobody waits for it: what comes faster than it can be read, or than the receiver takes, is
dropped."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import structlog

from holdfast.core.errors import CannotExport, StoreClosed
from holdfast.core.events import BusEvent, Hint, RunHint
from holdfast.core.ids import ChatId, FlowRunId, RunId
from holdfast.providers.registry import ModelRegistry
from holdfast.store import flow_runs, named_agents, runs
from holdfast.store.interface import Publish, Store
from holdfast.store.steps import traced
from holdfast.telemetry.genai_spans import (
    ExportedSpan,
    NamedModel,
    TracedAgent,
    provider_named,
    run_span_of,
    turn_spans,
)
from holdfast.telemetry.otlp import OtlpSender, is_wanted, wants_content
from holdfast.telemetry.trace_context import Tracing, place_of_flow_run, place_of_run, place_of_turn

log = structlog.get_logger(__name__)

# Turns and runs that wait to be read; the oldest are dropped.
MOST_WAITING = 10_000
# Spans that are remembered, so that none is sent twice.
MOST_SENT = 50_000
# Spans that are handed over before others have their turn.
AT_ONCE = 100
# At a stop: to read what ended last, and to send it.
READ_SECONDS = 2.0
FLUSH_SECONDS = 3.0


class Sender(Protocol):
    def send(self, spans: Sequence[ExportedSpan]) -> None: ...

    def close(self, seconds: float) -> bool: ...


# A turn with its number; a run. `beside`: only the model calls that were made after the turn's end.
_Turn = tuple[ChatId, int, bool]


class TraceExport:
    def __init__(self, make: Callable[[], Sender], *, content: bool) -> None:
        self._make = make
        self._content = content
        self._waiting: deque[_Turn | RunId] = deque(maxlen=MOST_WAITING)
        self._wake = asyncio.Event()
        self._stopping = False
        self._sent: OrderedDict[str, None] = OrderedDict()
        self._sender: Sender | None = None
        self._work: asyncio.Task[None] | None = None

    @classmethod
    def wanted(cls, environ: Mapping[str, str]) -> "TraceExport | None":
        """None: nothing is exported, and nothing of this runs."""
        if not is_wanted(environ):
            return None
        return cls(lambda: OtlpSender(environ), content=wants_content(environ))

    def listening(self, publish: Publish) -> Publish:
        """What the store tells others is heard here too: the process that committed is the one that
        exports."""

        def heard(event: BusEvent) -> None:
            self._hear(event)
            publish(event)

        return heard

    def _hear(self, event: BusEvent) -> None:
        match event:
            case Hint(chat_id=chat_id, ended=ended):
                for turn in ended:
                    self._put((chat_id, turn, False))
            case RunHint(run_id=run_id, over=True):
                self._put(run_id)
            case _:
                pass

    def made_beside(self, chat_id: ChatId, turn: int) -> None:
        """A title or a summary, or what an attempt cost that was given up too late."""
        self._put((chat_id, turn, True))

    def _put(self, item: _Turn | RunId) -> None:
        if not self._stopping:
            self._waiting.append(item)
            self._wake.set()

    # --- the work ---

    def begin(self, store: Store, models: ModelRegistry) -> Tracing:
        self._work = asyncio.create_task(self._run(store, models), name="trace export")
        return Tracing(store, self.made_beside)

    async def close(self) -> None:
        """What has ended is still sent, within a few seconds."""
        self._stopping = True
        self._wake.set()
        if self._work is not None:
            await asyncio.wait({self._work}, timeout=READ_SECONDS)
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
        if self._sender is not None and not await asyncio.to_thread(self._sender.close, FLUSH_SECONDS):
            log.warning("not all spans were exported", seconds=FLUSH_SECONDS)

    async def _run(self, store: Store, models: ModelRegistry) -> None:
        try:
            sender = self._sender = await asyncio.to_thread(self._make)
        except CannotExport as error:
            log.warning("no spans are exported", reason=error.text)
            self._stopping = True
            self._waiting.clear()
            return
        while self._waiting or not self._stopping:
            if not self._waiting:
                self._wake.clear()
                await self._wake.wait()
                continue
            try:
                found = await self._spans(store, models, self._waiting.popleft())
            except StoreClosed:
                return
            except Exception as error:  # noqa: BLE001 - the border of the export: one trace is missing
                log.warning("a trace could not be exported", reason=f"{type(error).__name__}: {error}")
                continue
            new = [span for span in found if self._is_new(span)]
            for first in range(0, len(new), AT_ONCE):
                sender.send(new[first : first + AT_ONCE])
                # A turn of a thousand steps takes its time: chats go on in between.
                await asyncio.sleep(0)

    async def _spans(
        self, store: Store, models: ModelRegistry, item: _Turn | RunId
    ) -> tuple[ExportedSpan, ...]:
        if isinstance(item, str):
            return await _of_run(store, item)
        chat_id, number, beside = item
        place = await place_of_turn(store, chat_id, number)
        if place is None or not place.span.sampled:
            return ()
        rows, agent = await store.read(traced(chat_id, number, number), named_agents.of_chat(chat_id))
        return turn_spans(
            chat_id,
            place,
            rows,
            lambda provider, model: _named(models, provider, model),
            agent=None if agent is None else TracedAgent(id=agent.id, name=agent.name),
            content=self._content,
            beside=beside,
        )

    def _is_new(self, span: ExportedSpan) -> bool:
        key = span.place.trace_id + span.place.span_id
        if key in self._sent:
            return False
        self._sent[key] = None
        if len(self._sent) > MOST_SENT:
            self._sent.popitem(last=False)
        return True


async def _of_run(store: Store, run_id: RunId) -> tuple[ExportedSpan, ...]:
    run = await store.read(runs.run(run_id))
    if run is not None:
        span = run_span_of(run, await place_of_run(store, run_id))
    else:
        flow_run_id = FlowRunId(run_id)
        flow_run = await store.read(flow_runs.run(flow_run_id))
        place = await place_of_flow_run(store, flow_run_id)
        span = None if flow_run is None else run_span_of(flow_run, place)
    return () if span is None else (span,)


def _named(models: ModelRegistry, provider: str | None, model: str | None) -> NamedModel:
    """As they are configured now; a model that is gone keeps the name that it had here."""
    setup = models.setup
    config = setup.models.get(model or "")
    known = setup.providers.get(provider or "")
    return NamedModel(
        model=(model or "unknown") if config is None else config.model,
        provider=(provider or "unknown") if known is None else provider_named(models.family(known)),
    )
