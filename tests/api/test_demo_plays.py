"""What a first visit offers, played to its end by a whole server."""

import pytest

from holdfast.providers.demo_plays import OFFERED
from tests.api.serving import Client


@pytest.mark.parametrize("sentence", OFFERED)
async def test_a_first_visit_ends_well(admin: Client, sentence: str) -> None:
    chat = await admin.start_chat(sentence)
    settled = await admin.until_settled(chat["id"])
    assert settled["status"] == "idle", settled
    messages = await admin.messages(chat["id"])
    results = [part for message in messages for part in message["parts"] if part["type"] == "tool_result"]
    assert results
    assert {part["outcome"] for part in results} == {"succeeded"}
    assert messages[0]["parts"][0]["text"] == sentence
    assert "{" not in messages[-1]["parts"][-1]["text"]
