"""What a worker leaves for the debug record."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest
from msgspec.structs import replace

from holdfast.chats.commands import Compact, Delete, Edit, Interrupt
from holdfast.core.debug_runs import DebugRun, DebugStep
from holdfast.core.errors import Bug
from holdfast.core.failures import Failure
from holdfast.core.ids import ChatId, RandomIds
from holdfast.core.parts import Text
from holdfast.providers.interface import ModelRequest
from holdfast.store import debug_runs, settings_rules
from holdfast.store.preferences import choose
from holdfast.telemetry import debug_recording
from holdfast.telemetry.debug_recording import DebugRecorder
from tests.providers.replies import NoEnd, Stall, Status, fails, say
from tests.worker.engine import OWNER, PATIENCE_SECONDS, SETTINGS, Engine, model

ON = replace(SETTINGS, debug="on")
REQUEST = ModelRequest(model=model(), messages=())


def unheard(*_: object) -> None:
    """What a dead process notes."""


class Recording:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.recorder = DebugRecorder(
            engine.store, engine.clock, RandomIds(), engine.metrics, engine.providers.known_keys
        )

    async def runs(self, chat: ChatId) -> tuple[DebugRun, ...]:
        """The newest first."""
        await self.recorder.written()
        return await self.engine.store.read(debug_runs.page(chat, limit=100))

    async def steps(self, run: DebugRun) -> tuple[DebugStep, ...]:
        return await self.engine.store.read(debug_runs.steps(run.id, first=1, limit=100))

    async def until(self, chat: ChatId, condition: Callable[[DebugRun], bool]) -> None:
        """Looks again and again, for it is written in the background."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            for seconds in itertools.repeat(0.02):
                if any(condition(run) for run in await self.runs(chat)):
                    return
                await asyncio.sleep(seconds)

    async def only(self, chat: ChatId) -> tuple[DebugRun, tuple[DebugStep, ...]]:
        (run,) = await self.runs(chat)
        return run, await self.steps(run)


@pytest.fixture
async def recording(engine_everywhere: Engine) -> AsyncIterator[Recording]:
    recording = Recording(engine_everywhere)
    async with recording.recorder:
        yield recording
        await engine_everywhere.stop()


async def test_a_turn_with_its_steps_and_their_requests(recording: Recording) -> None:
    engine = recording.engine
    engine.start(ON, debug=recording.recorder)
    chat = await engine.create('call: add {"a": 1, "b": 2}\nsay: Three.')
    await engine.idle(chat)
    run, steps = await recording.only(chat)
    messages = await engine.history(chat)
    assert (run.kind, run.status, run.turn) == ("chat_turn", "completed", 1)
    assert (run.provider, run.model) == ("here", "default")
    assert run.message_id == messages[0].id
    assert run.history_message_id is not None
    assert run.finished_at is not None
    assert run.finished_at >= run.started_at
    summary = run.summary
    assert summary.first_message == 'call: add {"a": 1, "b": 2} say: Three.'
    assert (summary.steps, summary.has_error) == (2, False)
    assert summary.usage.total == sum(step.usage.total for step in await engine.steps(chat))
    assert [(step.number, step.operation, step.status) for step in steps] == [
        (1, "stream", "completed"),
        (2, "stream", "completed"),
    ]
    for step, asked in zip(steps, engine.asked, strict=True):
        (attempt,) = step.attempts
        assert (attempt.number, attempt.status, attempt.method) == (1, "completed", "POST")
        assert attempt.url == f"{engine.server.base_url('compatible')}/chat/completions"
        assert attempt.status_code == 200
        assert attempt.request_headers["Authorization"] == "[redacted]"
        assert attempt.request_body is not None
        assert asked.body["model"] in attempt.request_body
        assert attempt.response_body is not None
        assert "[DONE]" in attempt.response_body
        assert attempt.response_headers["Content-Type"] == "text/event-stream"
        assert attempt.duration_ms >= 0
        assert step.finished_at is not None
    request = cast(dict[str, Any], steps[1].request)
    assert [message["role"] for message in request["messages"]] == ["user", "assistant", "tool"]
    response = cast(dict[str, Any], steps[1].response)
    assert response["parts"] == [{"type": "text", "text": "Three.", "text_length": 6}]
    assert response["stop_reason"] == "stop"


async def test_attempts_at_one_step_share_it_and_a_success_clears_the_error(recording: Recording) -> None:
    engine = recording.engine
    engine.server.queue(fails(Status(529)), fails(NoEnd()), say("At last."))
    engine.start(ON, debug=recording.recorder)
    chat = await engine.create("Hello")
    await engine.idle(chat)
    run, (step,) = await recording.only(chat)
    assert (run.status, run.summary.has_error) == ("completed", False)
    assert (step.status, step.error) == ("completed", None)
    tried = [(attempt.number, attempt.status, attempt.status_code) for attempt in step.attempts]
    assert tried == [(1, "failed", 529), (2, "failed", 200), (3, "completed", 200)]
    refused, broken, _ = step.attempts
    assert refused.response_body is not None
    assert refused.error is not None
    # A stream that breaks is recorded with what came.
    assert broken.response_body is not None
    assert "chat.completion.chunk" in broken.response_body


async def test_a_turn_that_fails(recording: Recording) -> None:
    engine = recording.engine
    engine.server.queue(fails(Status(401)))
    engine.start(ON, debug=recording.recorder)
    chat = await engine.create("Hello")
    await engine.failed(chat)
    run, (step,) = await recording.only(chat)
    assert (run.status, run.summary.has_error) == ("error", True)
    assert step.status == "error"
    assert step.error is not None
    assert (step.error.kind, step.error.status_code) == ("auth", 401)


async def test_an_interrupt_records_what_came(recording: Recording) -> None:
    engine = recording.engine
    engine.server.queue(say("One two three", fault=Stall()))
    engine.start(ON, debug=recording.recorder)
    chat = await engine.create("Hello")
    await engine.until_asked(1)
    async with engine.watch(chat):
        await recording.until(chat, lambda run: run.summary.steps == 1)
        run, (step,) = await recording.only(chat)
        assert (run.status, step.status, step.finished_at) == ("in_progress", "in_progress", None)
        await engine.do(chat, Interrupt())
    await engine.idle(chat)
    run, (step,) = await recording.only(chat)
    assert (run.status, step.status) == ("interrupted", "interrupted")
    (attempt,) = step.attempts
    assert attempt.status == "failed"
    assert attempt.error is not None


async def test_titles_summaries_and_compactions_are_runs_of_their_own(recording: Recording) -> None:
    engine = recording.engine
    engine.server.queue(say("Answer."), say("A title"), say("A line"), say("In short."))
    engine.start(replace(ON, title_model="default"), debug=recording.recorder)
    chat = await engine.create("Hello")
    await engine.idle(chat)
    await recording.until(chat, lambda run: (run.kind, run.status) == ("summary", "completed"))
    await engine.do(chat, Compact())
    await engine.idle(chat)
    found = {run.kind: run for run in await recording.runs(chat)}
    assert set(found) == {"chat_turn", "title", "summary", "compaction"}
    assert {run.status for run in found.values()} == {"completed"}
    operations = {kind: (await recording.steps(run))[0].operation for kind, run in found.items()}
    assert operations == {
        "chat_turn": "stream",
        "compaction": "stream",
        "title": "generate",
        "summary": "generate",
    }
    assert found["title"].summary.label == "Title"


@pytest.mark.parametrize(
    "mode, of_chat, of_person, recorded",
    [
        ("off", True, True, False),
        ("allow", False, False, False),
        ("allow", True, False, True),
        ("allow", False, True, True),
        ("on", False, False, True),
    ],
)
async def test_who_has_a_record(
    engine: Engine, mode: str, of_chat: bool, of_person: bool, recorded: bool
) -> None:
    recording = Recording(engine)
    async with recording.recorder:
        await engine.store.write(choose(OWNER, {"debug": of_person}))
        engine.start(replace(SETTINGS, debug=cast(Any, mode)), debug=recording.recorder)
        chat = await engine.create("Hello", debug=of_chat)
        await engine.idle(chat)
        assert len(await recording.runs(chat)) == recorded
        await engine.stop()


async def test_where_nobody_records_nothing_is_asked_for_it(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = recording.engine
    asked: list[str] = []
    read, write = engine.store.read, engine.store.write

    async def reading(*queries: Any) -> Any:
        asked.extend(sql for query in queries for sql, _ in query.statements)
        return await read(*queries)

    async def writing(query: Any, **more: Any) -> Any:
        asked.extend(sql for sql, _ in query.statements)
        return await write(query, **more)

    monkeypatch.setattr(engine.store, "read", reading)
    monkeypatch.setattr(engine.store, "write", writing)
    engine.start(replace(SETTINGS, debug="allow"), debug=recording.recorder)
    chat = await engine.create('call: add {"a": 1, "b": 2}\nsay: Three.')
    await engine.idle(chat)
    await recording.recorder.written()
    assert settings_rules.SELECT_WISHED in asked
    assert debug_runs.WISHED not in asked
    assert not [sql for sql in asked if "debug_" in sql]


async def test_what_a_database_that_hangs_is_not_told_in_time_is_lost(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording(engine)
    monkeypatch.setattr(debug_recording, "LAST_SECONDS", 0.05)
    chat = await engine.create("Hello")

    async def hang(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    async with asyncio.timeout(PATIENCE_SECONDS):
        async with recording.recorder:
            recording.recorder.turn(chat, 1, engine.clock.now(), None).step("stream", REQUEST, None)
            monkeypatch.setattr(engine.store, "write", hang)
    monkeypatch.undo()
    assert await engine.store.read(debug_runs.page(chat, limit=9)) == ()
    assert "holdfast_debug_lost_total 1.0" in engine.metrics.exposition().decode()


async def test_removed_history_and_deleted_chats_take_their_record_along(recording: Recording) -> None:
    engine = recording.engine
    engine.start(ON, debug=recording.recorder)
    chat = await engine.create("First")
    await engine.idle(chat)
    await engine.send(chat, "Second, which is a slip of the pen")
    await engine.idle(chat)
    first, second = (await recording.runs(chat))[::-1]
    slip = (await engine.history(chat))[2]
    assert second.message_id == slip.id
    await engine.do(chat, Edit(message_id=slip.id, parts=(Text(text="Third"),), created_by=OWNER))
    await engine.idle(chat)
    left = await recording.runs(chat)
    assert first in left
    assert second not in left
    assert [run.summary.first_message for run in left] == ["Third", "First"]
    await engine.do(chat, Delete())
    assert await recording.runs(chat) == ()
    assert await recording.steps(first) == ()


async def test_a_worker_that_takes_over_goes_on_with_the_record(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = recording.engine
    engine.server.queue(say("Never", fault=Stall()), say("Whole."))
    dying = engine.start(ON, debug=recording.recorder)
    chat = await engine.create("Hello")
    await recording.until(chat, lambda run: run.summary.steps == 1)
    # As if it had died: nothing that it does from now on is written.
    monkeypatch.setattr(recording.recorder, "note", unheard)
    await engine.stop(dying)
    later = Recording(engine)
    async with later.recorder:
        engine.start(ON, debug=later.recorder)
        await engine.idle(chat)
        run, steps = await later.only(chat)
        assert run.status == "completed"
        assert [(step.number, step.status) for step in steps] == [(1, "interrupted"), (2, "completed")]
        await engine.stop()


async def test_what_a_crash_left_is_interrupted(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, store = recording.engine, recording.engine.store
    engine.server.queue(say("Never", fault=Stall()))
    worker = engine.start(ON, debug=recording.recorder)
    chat = await engine.create("Hello")
    await recording.until(chat, lambda run: run.summary.steps == 1)
    # Somebody works on it, however long ago it was touched.
    await store.write(debug_runs.end_left_over(0))
    assert (await recording.only(chat))[0].status == "in_progress"
    monkeypatch.setattr(recording.recorder, "note", unheard)
    await engine.stop(worker)
    await store.write(debug_runs.end_left_over())
    assert (await recording.only(chat))[0].status == "in_progress"
    await store.write(debug_runs.end_left_over(0))
    run, (step,) = await recording.only(chat)
    assert (run.status, step.status) == ("interrupted", "interrupted")
    assert step.finished_at is not None


async def test_old_records_are_forgotten(recording: Recording) -> None:
    engine = recording.engine
    engine.start(ON, debug=recording.recorder)
    chat = await engine.create("Hello")
    await engine.idle(chat)
    await engine.store.write(debug_runs.forget_old(1))
    assert len(await recording.runs(chat)) == 1
    await engine.store.write(debug_runs.forget_old(0))
    assert await recording.runs(chat) == ()


async def test_a_status_never_goes_down(recording: Recording) -> None:
    engine = recording.engine
    chat = await engine.create("Hello")
    run = recording.recorder.turn(chat, 1, engine.clock.now(), None)
    step = run.step("stream", REQUEST, None)
    run.end("completed")
    run.end("error")
    step.failed(Failure(kind="server", message="first"))
    step.interrupted()
    step.failed(Failure(kind="server", message="second"))
    shown, (written,) = await recording.only(chat)
    assert shown.status == "completed"
    assert written.status == "error"
    assert written.error is not None
    assert written.error.message == "second"
    # Nor by another writer, who knows less.
    late = recording.recorder.turn(chat, 1, run.row.started_at, None)
    late.row = replace(late.row, id=run.row.id)
    late.end("interrupted")
    assert (await recording.only(chat))[0].status == "completed"


async def test_a_database_that_refuses_never_fails_a_turn(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = recording.engine
    write = engine.store.write

    async def refuse(query: Any, **more: Any) -> Any:
        if any("debug_" in sql for sql, _ in query.statements):
            raise Bug("no room on the disk")
        return await write(query, **more)

    monkeypatch.setattr(engine.store, "write", refuse)
    engine.start(ON, debug=recording.recorder)
    chat = await engine.create("Hello")
    await engine.idle(chat)
    assert await recording.runs(chat) == ()
    assert "holdfast_debug_lost_total 0.0" not in engine.metrics.exposition().decode()


async def test_the_last_notes_are_written_when_the_process_stops(engine: Engine) -> None:
    recording = Recording(engine)
    engine.server.queue(say("Never", fault=Stall()))
    async with recording.recorder:
        worker = engine.start(ON, debug=recording.recorder)
        chat = await engine.create("Hello")
        await engine.until_asked(1)
        await engine.stop(worker)
    (run,) = await engine.store.read(debug_runs.page(chat, limit=9))
    (step,) = await recording.steps(run)
    assert step.status == "interrupted"
    assert len(step.attempts) == 1
