"""What a worker leaves for the debug record."""

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from msgspec.structs import replace

from holdfast.core.debug_runs import DebugRun, DebugStep
from holdfast.core.ids import ChatId, RandomIds
from holdfast.store import debug_runs
from holdfast.telemetry.debug_recording import DebugRecorder
from tests.worker.engine import SETTINGS, Engine

ON = replace(SETTINGS, debug="on")
KEY = "sk-test-123456"


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
