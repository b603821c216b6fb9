"""The scripted provider itself: it refuses what the real ones refuse, and works as a process of its own."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from tests.providers.replies import Drop, Reply, Say, fails, say
from tests.providers.server import ProviderServer

ROOT = Path(__file__).parents[2]
CALL = {"id": "c1", "type": "function", "function": {"name": "note", "arguments": "{}"}}
USE: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "note", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}


@pytest.fixture
async def http() -> AsyncGenerator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def post(
    http: aiohttp.ClientSession, url: str, body: dict[str, Any], headers: dict[str, str] | None = None
) -> tuple[int, str]:
    async with http.post(url, json=body, headers=headers) as response:
        return response.status, await response.text()


def chat(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), "stream": True, **more}


@pytest.mark.parametrize(
    "body, says",
    [
        (chat(), "minimum length 1"),
        ({"messages": []}, "model"),
        (chat({"role": "user", "content": ""}), "expected a string"),
        (chat({"role": "user", "content": "x"}, bogus=1), "Unrecognized request argument supplied: bogus"),
        (chat({"role": "user", "content": "x"}, {"role": "assistant", "content": None}), "expected a string"),
        (chat({"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": []}), "empty array"),
        (
            chat({"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [CALL]}),
            "did not have response messages: c1",
        ),
        (
            chat({"role": "tool", "tool_call_id": "c1", "content": "x"}),
            "must be a response to a preceeding message with 'tool_calls'",
        ),
        (
            chat(
                {"role": "assistant", "tool_calls": [CALL]},
                {"role": "user", "content": "late"},
                {"role": "tool", "tool_call_id": "c1", "content": "x"},
            ),
            "must be followed by tool messages",
        ),
        (
            chat({"role": "assistant", "tool_calls": [{**CALL, "id": "x" * 41}]}),
            "string too long",
        ),
        (chat({"role": "user", "content": "x"}, tool_choice="none"), "only allowed when 'tools'"),
        (chat({"role": "user", "content": "x", "reasoning_content": "y"}), "is unsupported"),
    ],
)
async def test_openai_refuses(
    server: ProviderServer, http: aiohttp.ClientSession, body: dict[str, Any], says: str
) -> None:
    status, text = await post(http, server.base_url("compatible") + "/chat/completions", body)
    assert (status, json.loads(text)["error"]["type"]) == (400, "invalid_request_error")
    assert says in text
    assert server.log[0].outcome == "refused"


def claude(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 2000,
        "messages": list(messages),
        "stream": True,
        **more,
    }


HELLO = {"role": "user", "content": "Hello"}


@pytest.mark.parametrize(
    "body, says",
    [
        ({"model": "c", "messages": [HELLO]}, "max_tokens: Field required"),
        (claude(), "at least one message"),
        (claude(HELLO, bogus=1), "bogus: Extra inputs are not permitted"),
        (claude({"role": "assistant", "content": "x"}), "first message must use"),
        (claude(HELLO, {"role": "assistant", "content": "x"}), "prefill"),
        (claude({"role": "user", "content": ""}), "non-empty content"),
        (claude({"role": "user", "content": [{"type": "text", "text": " "}]}), "non-whitespace"),
        (claude({"role": "system", "content": "x"}, HELLO), "user"),
        (claude(HELLO, {"role": "assistant", "content": [USE]}, HELLO), "without `tool_result` blocks"),
        (claude({"role": "user", "content": [RESULT]}), "unexpected `tool_use_id`"),
        (
            claude(
                HELLO, {"role": "assistant", "content": [USE]}, {"role": "user", "content": [RESULT, RESULT]}
            ),
            "single result",
        ),
        (
            claude(
                HELLO,
                {"role": "assistant", "content": [USE]},
                {"role": "user", "content": [{"type": "text", "text": "x"}, RESULT]},
            ),
            "must come first",
        ),
        (
            claude(HELLO, {"role": "assistant", "content": [{**USE, "id": "a b"}]}, HELLO),
            "should match pattern",
        ),
        (
            claude(HELLO, {"role": "assistant", "content": [{**USE, "input": "{}"}]}, HELLO),
            "valid dictionary",
        ),
        (
            claude(HELLO, {"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}]}, HELLO),
            "signature: Field required",
        ),
        (
            claude(
                HELLO,
                {
                    "role": "assistant",
                    "content": [{"type": "thinking", "thinking": "x", "signature": "forged"}],
                },
                HELLO,
            ),
            "Invalid `signature`",
        ),
        (claude(HELLO, thinking={"type": "enabled", "budget_tokens": 5000}), "must be greater than"),
        (
            claude(HELLO, thinking={"type": "enabled", "budget_tokens": 1500}, temperature=0.5),
            "only be set to 1",
        ),
    ],
)
async def test_anthropic_refuses(
    server: ProviderServer, http: aiohttp.ClientSession, body: dict[str, Any], says: str
) -> None:
    url = server.base_url("anthropic") + "/v1/messages"
    status, text = await post(http, url, body, {"anthropic-version": "2023-06-01"})
    assert (status, json.loads(text)["error"]["type"]) == (400, "invalid_request_error")
    assert says in json.loads(text)["error"]["message"]


async def test_a_script_goes_by_the_history_not_by_the_count_of_requests(
    server: ProviderServer, http: aiohttp.ClientSession
) -> None:
    server.script("tale", say("one"), say("two"))
    url = server.base_url("compatible") + "/chat/completions"
    first = chat({"role": "user", "content": "Tell me #tale"})
    second = chat(
        {"role": "user", "content": "Tell me #tale"},
        {"role": "assistant", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
    )
    for body, expected in ((first, "one"), (first, "one"), (second, "two"), (second, "two")):
        assert expected in (await post(http, url, body))[1]


@pytest.mark.heavy
async def test_as_a_process(tmp_path: Path, http: aiohttp.ClientSession) -> None:
    log = tmp_path / "requests.jsonl"
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.providers.server", "--log", str(log)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().strip()
        replies = [Reply(content=(Say("queued"),)), fails(Drop(0.5))]
        order = msgspec.to_builtins({"replies": replies})
        assert (await post(http, url + "/_queue", order))[0] == 200
        body = chat({"role": "user", "content": "say: from the message"})
        assert "queued" in (await post(http, url + "/v1/chat/completions", body))[1]
        with pytest.raises(aiohttp.ClientError):
            await post(http, url + "/v1/chat/completions", body)
        assert "from the mes" in (await post(http, url + "/v1/chat/completions", body))[1]
        async with asyncio.timeout(5):
            lines = log.read_text().splitlines()
            while '"outcome":"open"' in lines[-1]:
                await asyncio.sleep(0.01)
                lines = log.read_text().splitlines()
        last = {line["number"]: line["outcome"] for line in map(json.loads, lines)}
        assert last == {0: "answered", 1: "failed", 2: "answered"}
    finally:
        process.terminate()
        await process.wait()
