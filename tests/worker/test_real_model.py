"""The engine with a real small model: a title, a summary at a small context, and a call that it writes as
text. What it says is nonsense often enough; how it comes is what counts."""

import asyncio
from typing import Any

import msgspec
import pytest
from aiohttp import ClientSession

from holdfast.core.ids import ChatId
from holdfast.core.parts import Text, ToolCall, ToolCallDelta
from holdfast.providers.configs import ModelConfig, ProviderConfig
from holdfast.providers.failures import Endpoint
from holdfast.providers.families import FAMILIES
from holdfast.providers.interface import ModelRequest
from holdfast.providers.openai import OpenAIFormat
from holdfast.providers.redact import Redactor
from holdfast.providers.registry import complete
from holdfast.providers.transport import HttpAdapter
from holdfast.providers.wire import StreamLimits
from holdfast.store.settings_rules import settings
from holdfast.worker.compact import TOOL
from holdfast.worker.settings import WorkerSettings
from tests.local_model import LocalModel
from tests.providers.calling import NOTE, ask, user
from tests.worker.engine import QUICK_RETRIES, Engine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
LONG = StreamLimits(silence_seconds=600.0)
BY_MODEL = WorkerSettings(
    title_model="default", retry=QUICK_RETRIES, poll_seconds=0.2, compaction_seconds=600.0
)


@pytest.fixture
def local(engine: Engine, local_model: LocalModel) -> Engine:
    """The engine with the model as its only one, and a context that a few messages fill."""
    provider = ProviderConfig(name="local", kind="llamacpp", base_url=local_model.base_url, api_key="none")
    given: dict[str, Any] = {"provider": "local", "model": local_model.name, "tools": False, "max_output": 48}
    small = ModelConfig(name="default", context_limit=900, compaction_threshold=50, **given)
    engine.providers.replace(complete([provider], [small], {}))
    return engine


async def generated_title(engine: Engine, chat_id: ChatId) -> str:
    async with asyncio.timeout(900):
        while True:
            found = await engine.store.read(settings(chat_id))
            assert found is not None
            if found.title_source == "generated":
                return found.title
            await asyncio.sleep(0.2)


async def test_a_title_and_a_summary(local: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.worker.engine.PATIENCE_SECONDS", 900.0)
    local.start(BY_MODEL)
    chat_id = await local.create("Tell me about the sea.")
    async with local.watch(chat_id) as live:
        await local.idle(chat_id)
        assert len([part for part in live.parts if isinstance(part, Text)]) > 3, "it streams"
    assert 0 < len(await generated_title(local, chat_id)) <= 80
    words = "The sea is wide and the ships are small. " * 25
    for number in range(4):
        await local.send(chat_id, f"{number}: {words}")
        await local.settled(chat_id)
        if any(step.kind == "compaction" for step in await local.steps(chat_id)):
            break
    summaries = [result for result in await local.results(chat_id) if result.name == TOOL]
    assert [result.outcome for result in summaries[:1]] == ["succeeded"]
    steps = await local.steps(chat_id)
    assert all(step.usage.input > 0 for step in steps if step.outcome == "succeeded")


# The model may say nothing but a call, with a number of its choice.
GRAMMAR = r"""
root ::= "<tool_call>\n{\"name\": \"note\", \"arguments\": {\"n\": " [1-9] "}}\n</tool_call>"
"""


class ServerWithoutTools(OpenAIFormat):
    """Asks as one must ask a server that knows no tools: the model has only its text to call by."""

    def body(self, request: ModelRequest) -> bytes:  # pyright: ignore[reportImplicitOverride]
        fields = msgspec.json.decode(super().body(request), type=dict[str, Any])
        del fields["tools"]
        return msgspec.json.encode({**fields, "grammar": GRAMMAR})


async def test_a_call_that_it_writes_as_text(local_model: LocalModel) -> None:
    endpoint = Endpoint(provider="local", url=local_model.base_url, key_place="", redactor=Redactor())
    model = ModelConfig(name="default", provider="local", model=local_model.name, max_output=64)
    live: list[Any] = []
    async with ClientSession() as session:
        adapter = HttpAdapter(
            session, ServerWithoutTools(FAMILIES["llamacpp"]), endpoint, key=None, limits=LONG, environ={}
        )
        request = ModelRequest(model=model, messages=(user("Note a number."),), tools=(NOTE,))
        answer = await ask(adapter, request, live=live)
    (call,) = answer.parts
    assert isinstance(call, ToolCall)
    assert call.name == "note"
    assert call.input in [{"n": number} for number in range(1, 10)]
    assert all(isinstance(part, ToolCallDelta) for part in live), "none of it was shown as text"
