"""Traces as a receiver of OpenTelemetry gets them, from a server that is a process of its own."""

import json
import signal
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.trace_parents import parsed
from tests.providers.server import ProviderServer
from tests.server.process import ServeProcess
from tests.telemetry.receiving import Spans, receiving

pytestmark = pytest.mark.heavy

SECRET_WORD = "aubergine"
TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"
UNWANTED = f"00-{TRACE}-b7ad6b7169203331-00"
SCRIPT = """\
export const meta = { name: 'tiny', description: 'one agent' }
return await agent('say: from the agent')
"""


@asynccontextmanager
async def serving(
    directory: Path, endpoint: str, *, database: str | None = None, **environ: str
) -> AsyncGenerator[tuple[ServeProcess, ProviderServer]]:
    provider = ProviderServer()
    await provider.start()
    config = (
        f'[providers.fake]\nkind = "mistral"\nbase_url = "{provider.base_url("mistral")}"\napi_key = "none"\n'
        '[models.default]\nprovider = "fake"\nmodel = "big-model"\ncontext_limit = 100000\n'
        '[titles]\nmodel = "default"\nsummaries = false\n'
    )
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_BSP_SCHEDULE_DELAY": "100",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
        **environ,
    }
    try:
        async with ServeProcess(directory, database=database, config=config, environ=variables) as server:
            await server.start()
            yield server, provider
    finally:
        await provider.stop()


def named(spans: Spans, name: str, **attributes: Any) -> dict[str, Any]:
    found = [
        span
        for span in spans
        if span["name"] == name
        and all(span["attributes"].get(key.replace("__", ".")) == value for key, value in attributes.items())
    ]
    assert len(found) == 1, (name, [span["name"] for span in spans])
    return found[0]


async def test_a_family_and_a_run_arrive_as_traces(tmp_path: Path) -> None:
    task = (
        f'say: {SECRET_WORD}\ncall: spawn_agent {{"prompt": "say: {SECRET_WORD} too", "label": "helper"}}\n'
        'call: wait_agents {}\ncall: read_file {"path": "missing.txt"}\nsay: done'
    )
    async with receiving() as receiver, serving(tmp_path, receiver.address) as (server, provider):
        admin = server.admin
        answer = await admin.post("chats", {"content": task}, headers={"traceparent": PARENT})
        chat_id = answer.json["id"]
        settled = await admin.until_settled(chat_id)
        assert settled["status"] == "idle", settled["last_error"]
        run = await admin.post("workflow-runs", {"script": SCRIPT, "language": "javascript"})
        run_id = run.json["id"]
        unwanted = await admin.post("chats", {"content": "say: unwanted"}, headers={"traceparent": UNWANTED})
        await admin.until_settled(unwanted.json["id"])
        spans = await receiver.until(
            lambda spans: (
                any(span["name"] == "invoke_workflow tiny" for span in spans)
                and sum(span["name"] == "invoke_agent" for span in spans) >= 3
                and any(span["attributes"].get("holdfast.step.kind") == "title" for span in spans)
            )
        )

        turn = named(spans, "invoke_agent", gen_ai__conversation__id=chat_id)
        assert (turn["trace_id"], turn["parent_id"]) == (TRACE, "b7ad6b7169203331")
        assert turn["attributes"]["gen_ai.provider.name"] == "mistral_ai"
        assert turn["attributes"]["gen_ai.request.model"] == "big-model"
        assert turn["status"] == 0
        assert turn["resource"]["service.name"] == "holdfast"
        assert turn["resource"]["deployment.environment.name"] == "test"
        below = [span for span in spans if span["parent_id"] == turn["span_id"]]
        assert {span["trace_id"] for span in below} == {TRACE}
        # The whole turn, in the order of its steps and calls.
        steps = [span for span in below if span["attributes"].get("holdfast.step.kind") == "model"]
        assert len(steps) == 4
        assert {span["name"] for span in steps} == {"chat big-model"}
        assert {span["kind"] for span in steps} == {3}
        for span in steps:
            # Two clocks of one process, some microseconds apart.
            assert turn["started_at"] - 10**7 <= span["started_at"] <= span["finished_at"]
            assert span["attributes"]["gen_ai.usage.output_tokens"] > 0
            assert span["attributes"]["gen_ai.operation.name"] == "chat"
        failed = named(spans, "execute_tool read_file")
        assert (failed["status"], failed["attributes"]["error.type"]) == (2, "failed")
        assert named(spans, "execute_tool wait_agents")["status"] == 0

        # A sub-agent is below the call that started it.
        spawned = named(spans, "execute_tool spawn_agent")
        agent = next(span for span in spans if span["parent_id"] == spawned["span_id"])
        assert (agent["name"], agent["trace_id"]) == ("invoke_agent", TRACE)
        # An agent of a run is below the run, which nobody's request said to be part of anything.
        workflow = named(spans, "invoke_workflow tiny")
        assert workflow["attributes"]["holdfast.run.id"] == run_id
        assert not workflow["parent_id"]
        worker = next(span for span in spans if span["parent_id"] == workflow["span_id"])
        assert (worker["name"], worker["trace_id"]) == ("invoke_agent", workflow["trace_id"])
        # A title is made beside the turn.
        title = named(spans, "chat big-model", holdfast__step__kind="title")
        assert title["parent_id"] == turn["span_id"]

        # Providers are told of the spans that arrive.
        sent = [parsed(asked.headers["traceparent"]) for asked in provider.log]
        ids = {span["span_id"] for span in spans}
        assert all(one is not None and (one.span_id in ids or not one.sampled) for one in sent)
        assert {one.sampled for one in sent if one is not None} == {True, False}

        # Nothing twice; nothing of what nobody wants to know; nothing of what was said.
        assert len({(span["trace_id"], span["span_id"]) for span in spans}) == len(spans)
        assert unwanted.json["id"] not in json.dumps(spans)
        assert SECRET_WORD not in json.dumps(spans)
        assert "Traceback" not in server.logged()


async def test_what_was_said_comes_on_request_and_takeovers_leave_no_gap(
    tmp_path: Path, postgres_url: str
) -> None:
    environ = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}
    task = f'call: todo {{"items": [{{"text": "{SECRET_WORD}"}}]}}\nwait: 2\nsay: It is done.'
    async with (
        receiving() as receiver,
        serving(tmp_path, receiver.address, database=postgres_url, **environ) as (server, provider),
    ):
        chat_id = (await server.admin.start_chat(task))["id"]
        while len(provider.log) < 2:
            await server.admin.chat(chat_id)
        # What the dead process had committed is exported by the one that ends the turn.
        server.kill()
        await server.ended()
        await server.start()
        await server.admin.until_settled(chat_id)
        # A turn that a person ends, without a worker: its question is answered by an interrupt.
        asking = (
            await server.admin.start_chat('call: ask_user {"questions": [{"id": "a", "text": "Tea?"}]}')
        )["id"]
        await server.admin.until_status(asking, "requires_action")
        await server.admin.post(f"chats/{asking}/interrupt")
        await server.admin.until_status(asking, "idle")
        server.signal(signal.SIGTERM)
        assert await server.ended() == 0
        # What had ended was sent before the process was gone.
        spans = await receiver.spans()
        turn = named(spans, "invoke_agent", gen_ai__conversation__id=chat_id)
        asked = json.loads(turn["attributes"]["gen_ai.input.messages"])
        assert asked[0]["role"] == "user"
        assert SECRET_WORD in asked[0]["parts"][0]["content"]
        said = json.loads(turn["attributes"]["gen_ai.output.messages"])
        assert said[-1]["parts"][-1] == {"type": "text", "content": "It is done."}
        call = named(spans, "execute_tool todo")
        assert SECRET_WORD in call["attributes"]["gen_ai.tool.call.arguments"]
        assert call["parent_id"] == turn["span_id"]
        ended = named(spans, "invoke_agent", gen_ai__conversation__id=asking)
        assert ended["attributes"]["holdfast.turn.outcome"] == "interrupted"


@pytest.mark.parametrize("dead", [False, True], ids=["silent", "dead"])
async def test_a_receiver_that_does_not_answer_holds_up_nothing(tmp_path: Path, dead: bool) -> None:
    async with receiving("--silent") as receiver:
        endpoint = "http://127.0.0.1:9" if dead else receiver.address
        async with serving(tmp_path, endpoint) as (server, _):
            for number in range(20):
                chat = await server.admin.start_chat(f"say: number {number}")
                await server.admin.until_settled(chat["id"])
            server.signal(signal.SIGTERM)
            began = time.monotonic()
            assert await server.ended() == 0
            # Its own limits are 2 and 3 s; a request to the receiver takes 10 s to time out, and is repeated.
            assert time.monotonic() - began < 9
            assert "Traceback" not in server.logged()
