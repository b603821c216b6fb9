"""A scripted model provider over real HTTP: it speaks the OpenAI chat and responses formats, the Anthropic
messages format and Google's. It fails in every way a test asks for, refuses what the real ones refuse, and
keeps a log of all it was asked.

What it answers, first match: a reply queued for the model (`queue`), a script that the newest user message
names as `#name` (`script`), the function `answer`, else the steps in the user's message as the demo model
reads them. A script goes on by the number of answers the history already has, so it survives crashes of
whoever asks.

As a process: `python -m tests.providers.server --port 0 --log requests.jsonl` prints its address;
`POST /_queue`, `POST /_script`, `GET /_log` and `POST /_clear` stand for the methods. The log has a line
when a request comes and another with the same number when it is over.
"""

import argparse
import asyncio
import hashlib
import re
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import msgspec

from holdfast.providers.demo_script import parse_script
from tests.providers import anthropic_rules, google_rules, openai_rules, responses_rules, responses_stream
from tests.providers.answering import PAGE, Asked, answer
from tests.providers.demo_replies import reply_for
from tests.providers.openai_rules import Object, Refused
from tests.providers.replies import Call, Reply
from tests.providers.wire import ClientGone, Connection, Incoming

# What a page answers to a body.
Page = Callable[[bytes], tuple[int, Any]]
_CHAT = re.compile(r"(?:/([a-z]+))?(?:/v1|/openai/deployments/[^/]+)?/chat/completions")
_RESPONSES = re.compile(r"(?:/([a-z]+))?(?:/v1|/openai)?/responses")
_GOOGLE = re.compile(r"(?:/google)?/v1(?:beta)?/models/([^:/]+):streamGenerateContent")


def page(content: object, status: int = 200) -> Page:
    return lambda _: (status, content)


class ProviderServer:
    def __init__(
        self,
        *,
        key: str | None = None,
        models: frozenset[str] | None = None,
        log: Path | None = None,
        delay_seconds: float = 0.0,
    ) -> None:
        self.log: list[Asked] = []
        self.url = ""
        self.answer: Callable[[Asked], Reply | None] | None = None
        # A request waits for its answer while this is true of it.
        self.holds: Callable[[Asked], bool] = lambda _: False
        # Pause between the deltas of every reply that names none of its own.
        self.delay_seconds = delay_seconds
        # Answers to requests for anything but a model's answer, by path; and the headers they came with.
        self.pages: dict[str, Page] = {}
        self.asked_pages: list[tuple[str, dict[str, str]]] = []
        self._key = key
        self._models = models
        self._log_path = log
        self._log_file: BinaryIO | None = None
        self._queues: dict[str, deque[Reply]] = {}
        self._scripts: dict[str, tuple[Reply, ...]] = {}
        self._tries: dict[bytes, int] = {}
        # Responses that are kept, with their calls; a test takes one out to see what happens.
        self.kept_responses: dict[str, list[str]] = {}
        self._server: asyncio.Server | None = None
        self._open: set[Connection] = set()
        self.connections = 0

    # Scripts

    def queue(self, *replies: Reply, model: str = "*") -> None:
        """The next replies to requests for this model, each given once."""
        self._queues.setdefault(model, deque()).extend(replies)

    def script(self, name: str, *replies: Reply) -> None:
        self._scripts[name] = replies

    def clear(self) -> None:
        self._queues.clear()
        self._scripts.clear()
        self._tries.clear()
        self.log.clear()

    def base_url(self, family: str) -> str:
        """Where a provider of this family seems to live."""
        if family == "google":
            return f"{self.url}/google/v1beta"
        return f"{self.url}/{family}" if family in ("anthropic", "deepseek") else f"{self.url}/{family}/v1"

    @property
    def refusals(self) -> list[str]:
        """What was wrong with requests: a test of legality expects none."""
        return [asked.refusal for asked in self.log if asked.refusal is not None]

    # Life

    async def start(self, port: int = 0) -> None:
        if self._log_path is not None:
            self._log_file = self._log_path.open("ab", buffering=0)
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", port, limit=2**20)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for connection in self._open:
            connection.abort()
        async with asyncio.timeout(5):
            while self._open:  # noqa: ASYNC110 - it lasts a moment, and an event for it would be set a hundred times
                await asyncio.sleep(0.001)
        if self._server is not None:
            await self._server.wait_closed()
        if self._log_file is not None:
            self._log_file.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    # Requests

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(reader, writer)
        self._open.add(connection)
        self.connections += 1
        try:
            while connection.open and (incoming := await connection.request()) is not None:
                await self._route(connection, incoming)
        except (ClientGone, ConnectionError):
            pass
        finally:
            self._open.discard(connection)
            writer.close()

    async def _route(self, connection: Connection, incoming: Incoming) -> None:
        path = incoming.path.partition("?")[0]
        if path.startswith("/_"):
            await self._control(connection, path, incoming.body)
        elif incoming.method == "POST" and (found := _CHAT.fullmatch(path)):
            await self._asked(connection, incoming, "openai", found[1] or "compatible")
        elif incoming.method == "POST" and (found := _RESPONSES.fullmatch(path)):
            await self._asked(connection, incoming, "responses", found[1] or "compatible")
        elif incoming.method == "POST" and (found := _GOOGLE.fullmatch(path)):
            await self._asked(connection, incoming, "google", "google", model=found[1])
        elif incoming.method == "POST" and path.endswith("/v1/messages"):
            await self._asked(connection, incoming, "anthropic", "anthropic")
        elif path in self.pages:
            self.asked_pages.append((path, dict(incoming.headers)))
            status, content = self.pages[path](incoming.body)
            await connection.answer(status, msgspec.json.encode(content))
        elif path == "/":
            await connection.answer(200, PAGE, {"Content-Type": "text/html"})
        else:
            await connection.answer(404, b'{"detail":"Not Found"}')

    async def _control(self, connection: Connection, path: str, body: bytes) -> None:
        match path:
            case "/_queue":
                order = msgspec.json.decode(body, type=_Order)
                self.queue(*order.replies, model=order.name or "*")
            case "/_script":
                order = msgspec.json.decode(body, type=_Order)
                self.script(order.name, *order.replies)
            case "/_clear":
                self.clear()
            case "/_log":
                await connection.answer(200, msgspec.json.encode(self.log))
                return
            case _:
                await connection.answer(404, b"{}")
                return
        await connection.answer(200, b"{}")

    async def _asked(
        self, connection: Connection, incoming: Incoming, wire: str, family: str, model: str | None = None
    ) -> None:
        asked = self._note(incoming, wire, family, model)
        try:
            self._check(asked)
            reply = self._choose(asked)
            self._keep(asked, reply)
            asked.outcome = "failed" if reply.fault is not None else "answered"
            while self.holds(asked):
                await connection.pause(0.02)
            await answer(connection, asked, reply, reply.delay_seconds or self.delay_seconds)
        except Refused as refused:
            asked.outcome, asked.refusal = "refused", str(refused)
            await connection.answer(refused.status, msgspec.json.encode(refused.body))
        except (ClientGone, ConnectionError):
            asked.outcome = "gone"
            raise
        finally:
            asked.finished_at = time.time()
            self._write(asked)

    def _keep(self, asked: Asked, reply: Reply) -> None:
        if asked.format == "responses" and asked.body.get("store", True) and reply.fault is None:
            calls = [part for part in reply.content if isinstance(part, Call)]
            own = [
                f"{asked.number}_{index}"
                for index, part in enumerate(reply.content)
                if isinstance(part, Call)
            ]
            ids = [call.id or f"call_{name}" for call, name in zip(calls, own, strict=True)]
            self.kept_responses[responses_stream.response_id(asked.number)] = ids

    def _note(self, incoming: Incoming, wire: str, family: str, model: str | None) -> Asked:
        try:
            body = msgspec.json.decode(incoming.body, type=Object)
        except msgspec.DecodeError:
            body = Object()
        asked = Asked(
            number=len(self.log),
            at=time.time(),
            format=wire,
            family=family,
            model=model or str(body.get("model")),
            body=body,
            path=incoming.path,
            headers=dict(incoming.headers),
            raw=incoming.body,
        )
        self.log.append(asked)
        self._write(asked)
        return asked

    def _write(self, asked: Asked) -> None:
        if self._log_file is not None:
            self._log_file.write(msgspec.json.encode(asked) + b"\n")

    def _check(self, asked: Asked) -> None:
        headers = asked.headers
        given = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        given = given or headers.get("x-goog-api-key") or headers.get("api-key") or ""
        if self._key is not None and given != self._key:
            if asked.format == "google":
                raise google_rules.refuse("API key not valid. Please pass a valid API key.")
            if asked.format == "anthropic":
                raise anthropic_rules.refuse("invalid x-api-key", 401, "authentication_error")
            text = f"Incorrect API key provided: {given[:6]}***{given[-4:]}."
            raise openai_rules.refuse(asked.family, text, code="invalid_api_key", status=401)
        if self._models is not None and asked.model not in self._models:
            if asked.format == "anthropic":
                raise anthropic_rules.refuse(f"model: {asked.model}", 404, "not_found_error")
            if asked.format == "google":
                text = f"models/{asked.model} is not found for API version v1beta, or is not supported for "
                raise google_rules.refuse(f"{text}generateContent.", 404, "NOT_FOUND")
            text = f"The model `{asked.model}` does not exist or you do not have access to it."
            raise openai_rules.refuse(asked.family, text, code="model_not_found", status=404)
        if asked.format == "anthropic":
            anthropic_rules.check(asked.body, headers)
        elif asked.format == "responses":
            previous = asked.body.get("previous_response_id")
            open_calls = self.kept_responses.get(previous, []) if previous is not None else []
            responses_rules.check(asked.body, self.kept_responses, open_calls)
        elif asked.format == "google":
            google_rules.check(asked.model, asked.body, asked.path)
        else:
            openai_rules.check(asked.family, asked.body)

    def _choose(self, asked: Asked) -> Reply:
        for name in (asked.model, "*"):
            if self._queues.get(name):
                return self._queues[name].popleft()
        key = hashlib.sha256(asked.raw).digest()
        self._tries[key] = self._tries.get(key, 0) + 1
        said, answered = newest(asked)
        for name, replies in self._scripts.items():
            if f"#{name}" in said:
                return replies[answered] if answered < len(replies) else Reply()
        if self.answer is not None and (reply := self.answer(asked)) is not None:
            return reply
        return reply_for(said, answered, self._tries[key], asked.body)


class _Order(msgspec.Struct):
    replies: tuple[Reply, ...]
    name: str = ""


def newest(asked: Asked) -> tuple[str, int]:
    """The text of the newest user message that is not a tool result, and how many answers came after it."""
    answered = 0
    for role, content in reversed(_said(asked.body)):
        if role == "assistant":
            answered += 1
        if role == "user" and (text := _text_of(content)):
            return text, answered
    return "", answered


def _said(body: Object) -> list[tuple[str, Any]]:
    """Who said what, in any of the formats."""
    if "contents" in body:
        return [_said_by_google(one) for one in body["contents"]]
    if isinstance(body.get("input"), list):
        return _said_in_items(body["input"])
    return [(one["role"], one.get("content") or "") for one in body.get("messages", [])]


def _said_by_google(content: Object) -> tuple[str, Any]:
    role = "assistant" if content["role"] == "model" else "user"
    return role, [{"type": "text", **part} for part in content["parts"] if "text" in part]


def _said_in_items(items: list[Object]) -> list[tuple[str, Any]]:
    """Items of one answer that follow each other are one answer."""
    said: list[tuple[str, Any]] = []
    for item in items:
        ours = item.get("role") == "user" or item.get("type") == "function_call_output"
        if ours:
            texts = [{**chunk, "type": "text"} for chunk in item.get("content", []) if "text" in chunk]
            said.append((item.get("role", "tool"), texts))
        elif not said or said[-1][0] != "assistant":
            said.append(("assistant", []))
    return said


def _text_of(content: Any) -> str:
    """What the person said, without notices of ours, such as a workspace's instructions, that stand beside
    it."""
    if isinstance(content, str):
        return _last_script(_without_notice(content))
    texts = [block["text"] for block in content if block.get("type") == "text"]
    return "\n".join(said for text in texts if (said := _without_notice(text)))


def _last_script(text: str) -> str:
    """Messages of the user that follow each other are sent as one: the last that is a script is played."""
    paragraphs = text.split("\n\n")
    for number in range(len(paragraphs) - 1, 0, -1):
        if parse_script(paragraphs[number]) or paragraphs[number].startswith("#"):
            return "\n\n".join(paragraphs[number:])
    return text


def _without_notice(text: str) -> str:
    while text.startswith("[notice: "):
        text = text.partition("]\n")[2].lstrip("\n")
    return text


async def _serve(port: int, log: Path | None, delay_seconds: float) -> None:
    server = ProviderServer(log=log, delay_seconds=delay_seconds)
    await server.start(port)
    print(server.url, flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        await server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted model provider.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path, help="a file that gets a line of JSON for each request")
    parser.add_argument("--delay-seconds", type=float, default=0.0, help="the pause between deltas")
    given = parser.parse_args()
    try:
        asyncio.run(_serve(given.port, given.log, given.delay_seconds))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
