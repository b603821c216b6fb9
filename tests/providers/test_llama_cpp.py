"""A real model behind everything: llama.cpp as people run it, found, added, talked to and watched."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.serving import Server, served
from tests.local_model import LocalModel

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture
def server(tmp_path: Path, local_model: LocalModel) -> Iterator[Server]:
    """With the model as its only one. It has no tools: to read their descriptions would take it minutes."""
    with served(tmp_path) as server:
        named = ("--provider", "local", "--model", local_model.name)
        server.done("provider", "set", "local", "--kind", "llamacpp", "--base-url", local_model.base_url)
        server.done("model", "discover", "local", "--add", local_model.name)
        server.done("model", "set", local_model.name, *named, "--no-tools", "--max-output", "48")
        server.done("model", "default", local_model.name)
        yield server


def test_it_is_found_with_its_context(server: Server, local_model: LocalModel) -> None:
    [found] = json.loads(server.done("model", "discover", "local", "--json"))["local"]
    assert found["model"] == local_model.name
    assert found["context_limit"] == local_model.context
    assert f"{local_model.name}: answers" in server.done("model", "test", local_model.name)


def test_its_answer_streams_and_is_kept(server: Server, local_model: LocalModel) -> None:
    said = server.run("run", "--json", "Tell me about the sea.", limit_seconds=900)
    assert said.returncode == 0, said.stderr
    events = [json.loads(line) for line in said.stdout.splitlines()]
    pieces = [event["data"]["part"] for event in events if event["event"] == "part"]
    assert len(pieces) > 5
    assert "".join(piece.get("text", "") for piece in pieces) == _answer(server)


def test_a_chat_goes_on(server: Server) -> None:
    first = server.run("run", "Say hello.", limit_seconds=900)
    assert first.returncode == 0, first.stderr
    assert first.stdout.strip()
    second = server.run("run", "--chat", "last", "--json-result", "And in other words?", limit_seconds=900)
    result: dict[str, Any] = json.loads(second.stdout)
    assert result["text"].strip()
    assert result["usage"]["total"] > 0


def _answer(server: Server) -> str:
    messages = [json.loads(line) for line in server.done("logs", "last", "--json").splitlines()]
    parts = [part for message in messages if message["role"] == "assistant" for part in message["parts"]]
    return "".join(part["text"] for part in parts if part["type"] == "text")
