"""The scripted provider refuses what the real ones refuse, in the responses format and in Google's."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import aiohttp
import pytest

from tests.providers.responses_rules import sealed
from tests.providers.server import ProviderServer

USER: dict[str, Any] = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
CALL: dict[str, Any] = {"type": "function_call", "call_id": "c1", "name": "note", "arguments": "{}"}
OUTPUT: dict[str, Any] = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
THOUGHT: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": sealed("x")}


@pytest.fixture
async def http() -> AsyncGenerator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def post(http: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> tuple[int, str]:
    async with http.post(url, json=body) as response:
        return response.status, await response.text()


def asked(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "input": list(items), "stream": True, "store": False, **more}


@pytest.mark.parametrize(
    "body, says",
    [
        (asked(), "Missing required parameter: 'input'"),
        (asked(USER, bogus=1), "Unknown parameter: 'bogus'"),
        (asked(USER, previous_response_id="resp_9"), "Previous response with id 'resp_9' not found"),
        (asked(USER, OUTPUT), "No tool call found for function call output with call_id c1"),
        (asked(USER, CALL), "No tool output found for function call c1"),
        (asked(USER, CALL, USER, OUTPUT), "No tool output found for function call c1"),
        (asked(USER, THOUGHT, USER), "without its required following item"),
        (asked(USER, {**THOUGHT, "encrypted_content": "forged"}, CALL, OUTPUT), "could not be verified"),
        (asked(USER, {"type": "reasoning", "id": "rs_1", "summary": []}, CALL, OUTPUT), "not kept"),
        (asked(USER, {**CALL, "arguments": "{"}, OUTPUT), "Invalid 'input[1]"),
        (asked({**USER, "content": [{"type": "output_text", "text": "Hi"}]}), "Invalid value: 'output_text'"),
        (asked(USER, tools=[{"type": "function", "name": "n", "parameters": {}}]), "additionalProperties"),
        (asked(USER, tool_choice="required"), "only allowed when tools"),
    ],
)
async def test_responses(
    server: ProviderServer, http: aiohttp.ClientSession, body: dict[str, Any], says: str
) -> None:
    status, text = await post(http, server.base_url("openai") + "/responses", body)
    assert status in (400, 404)
    assert says in json.loads(text)["error"]["message"]
    assert server.log[0].outcome == "refused"


def said(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


HI = said("user", {"text": "Hi"})
ASKS: dict[str, Any] = {"functionCall": {"name": "note", "args": {}}, "thoughtSignature": "sig-1"}
TOLD: dict[str, Any] = {"functionResponse": {"name": "note", "response": {"output": "ok"}}}


def contents(*given: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"contents": list(given), **more}


@pytest.mark.parametrize(
    "body, says",
    [
        (contents(), "contents is not specified"),
        (contents(HI, bogus=1), 'Unknown name "bogus"'),
        (contents(HI, generationConfig={"max_tokens": 1}), 'Unknown name "max_tokens"'),
        (contents(said("assistant", {"text": "Hi"})), "valid role"),
        (contents(said("user")), "must not be empty"),
        (contents(HI, said("user", TOLD)), "immediately after a function call turn"),
        (contents(HI, said("model", ASKS)), "followed by a function response turn"),
        (contents(HI, said("model", ASKS, ASKS), said("user", TOLD)), "number of function response parts"),
        (contents(said("model", ASKS), said("user", TOLD)), "immediately after a user turn"),
        (
            contents(HI, said("model", {"functionCall": {"name": "note"}}), said("user", TOLD)),
            "missing a thought_signature",
        ),
        (
            contents(HI, said("model", {**ASKS, "thoughtSignature": "forged"}), said("user", TOLD)),
            "Corrupted thought signature",
        ),
    ],
)
async def test_google(
    server: ProviderServer, http: aiohttp.ClientSession, body: dict[str, Any], says: str
) -> None:
    url = server.base_url("google") + "/models/gemini-3.8-flash:streamGenerateContent?alt=sse"
    status, text = await post(http, url, body)
    assert (status, json.loads(text)["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert says in json.loads(text)["error"]["message"]


async def test_a_key_in_the_address_is_refused(server: ProviderServer, http: aiohttp.ClientSession) -> None:
    url = server.base_url("google") + "/models/gemini-3.8-flash:streamGenerateContent?alt=sse&key=secret"
    assert (await post(http, url, contents(HI)))[0] == 400
