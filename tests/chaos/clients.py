"""People of the load: they talk to any server that answers, ask again under the same key until they are
answered, and keep a log of it, which the judge believes."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

import aiohttp
import msgspec

Json = dict[str, Any]
Busy = Literal["queue", "interrupt", "steer"]
# One request; a server that is away refuses at once, one that is frozen does not answer at all.
ANSWER_SECONDS = 5.0
# Somebody must answer within: the longest fault, a restart, and room for a busy machine.
GIVE_UP_SECONDS = 240.0
AGAIN_SECONDS = 0.1
# What says that the same request may be answered later, or elsewhere.
LATER = frozenset({429, 503})


class GaveUp(Exception):
    """Nobody answered for minutes."""


@dataclass
class Asked:
    """One request that changes something, as it was asked and answered."""

    kind: str
    chat_id: str | None
    key: str
    # The message it carries, by its tag; empty: none.
    tag: str = ""
    busy: str = ""
    # What else it names: a queue item, a message, a title.
    about: str = ""
    tries: int = 0
    status: int = 0
    json: Json = field(default_factory=dict[str, Any])

    @property
    def succeeded(self) -> bool:
        return 200 <= self.status < 300


class Clients:
    """`addresses` gives the servers that may be asked now; each request goes to any of them."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        addresses: Callable[[], Sequence[str]],
        token: str,
        chance: Random,
    ) -> None:
        self.log: list[Asked] = []
        # Answers that nobody should get: a 500, a page that is no JSON.
        self.complaints: list[str] = []
        self.session = session
        self.addresses = addresses
        self.token = token
        self._chance = chance
        # Keys of several rounds must differ.
        self._name = f"{chance.getrandbits(32):08x}"

    # --- one request ---

    async def ask(
        self, method: str, path: str, body: Json | None = None, asked: Asked | None = None
    ) -> tuple[int, Json]:
        """Asked until somebody answers; under the key of what is noted, if anything is."""
        async with _patience():
            while True:
                if asked is not None:
                    asked.tries += 1
                answer = await self._once(method, path, body, None if asked is None else asked.key)
                if answer is not None:
                    return answer
                await asyncio.sleep(AGAIN_SECONDS * self._chance.uniform(0.5, 2.0))

    async def _once(
        self, method: str, path: str, body: Json | None, key: str | None
    ) -> tuple[int, Json] | None:
        """None: no answer, or one that says to come again."""
        there = self.addresses()
        if not there:
            return None
        headers = {"Authorization": f"Bearer {self.token}"} | (
            {} if key is None else {"Idempotency-Key": key}
        )
        url = f"{self._chance.choice(there)}/api/v1/{path}"
        try:
            async with self.session.request(
                method, url, json=body, headers=headers, timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS)
            ) as response:
                raw, status = await response.read(), response.status
        except (aiohttp.ClientError, ConnectionError, TimeoutError):
            return None
        if status in LATER:
            if "Retry-After" not in response.headers:
                self.complaints.append(f"{method} {path}: {status} without Retry-After")
            return None
        if status >= 500:
            self.complaints.append(f"{method} {path}: {status} {raw[:200]!r}")
            return None
        return status, msgspec.json.decode(raw) if raw else {}

    async def command(
        self,
        kind: str,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        chat_id: str | None = None,
        tag: str = "",
        busy: str = "",
        about: str = "",
    ) -> Asked:
        asked = Asked(kind, chat_id, f"{self._name}-{len(self.log)}", tag, busy, about)
        self.log.append(asked)
        asked.status, asked.json = await self.ask(method, path, body, asked)
        return asked

    # --- what people do ---

    async def create(self, text: str, tag: str, **more: Any) -> str:
        """A new chat; its id."""
        asked = await self.command("create", "POST", "chats", {"content": text, **more}, tag=tag)
        assert asked.status == 201, asked
        asked.chat_id = asked.json["id"]
        asked.about = more.get("title", "")
        return asked.json["id"]

    async def send(self, chat_id: str, text: str, tag: str, busy: Busy = "queue", **more: Any) -> Asked:
        body = {"content": text, "busy": busy, **more}
        return await self.command(
            "send", "POST", f"chats/{chat_id}/messages", body, chat_id=chat_id, tag=tag, busy=busy
        )

    async def edit(self, chat_id: str, message_id: str, text: str, tag: str) -> Asked:
        path = f"chats/{chat_id}/messages/{message_id}"
        return await self.command("edit", "PATCH", path, {"content": text}, chat_id=chat_id, tag=tag)

    async def on_queued(self, kind: str, chat_id: str, item_id: str, **more: Any) -> Asked:
        """`delete`, `promote`, or `change` with what is to be changed; `tag` is a new message's."""
        path = f"chats/{chat_id}/queue/{item_id}"
        tag = more.pop("tag", "")
        match kind:
            case "delete":
                return await self.command("delete", "DELETE", path, chat_id=chat_id, about=item_id)
            case "promote":
                return await self.command(
                    "promote", "POST", f"{path}/promote", chat_id=chat_id, about=item_id
                )
            case _:
                return await self.command(
                    "change", "PATCH", path, more, chat_id=chat_id, about=item_id, tag=tag
                )

    async def on_chat(self, kind: Literal["interrupt", "compact", "retry"], chat_id: str) -> Asked:
        return await self.command(kind, "POST", f"chats/{chat_id}/{kind}", chat_id=chat_id)

    async def run(self, script: str, language: str, **more: Any) -> Asked:
        """Starts a workflow."""
        asked = await self.command(
            "run", "POST", "workflow-runs", {"script": script, "language": language, **more}
        )
        assert asked.status == 202, asked
        asked.about = asked.json["id"]
        return asked

    async def rename(self, chat_id: str, title: str) -> Asked:
        return await self.command(
            "rename", "PATCH", f"chats/{chat_id}", {"title": title}, chat_id=chat_id, about=title
        )

    async def answer_all(self, chat: Json, times: int = 1) -> None:
        """Whatever its calls, and those of its sub-agents, wait for."""
        action: Json | None = chat["action"]
        for call in action["calls"] if action is not None else ():
            for _ in range(times):
                await self.answer(chat["id"], call)

    async def answer(self, chat_id: str, call: Json) -> Asked:
        """Whatever a call waits for."""
        path = f"chats/{call.get('chat_id') or chat_id}"
        if call["kind"] == "approval":
            return await self.command(
                "decide",
                "POST",
                f"{path}/calls/{call['call_id']}/decision",
                {"decision": "approve"},
                chat_id=chat_id,
                about=call["call_id"],
            )
        output = {"answers": {"why": "because"}} if call["kind"] == "question" else "seen"
        results = [{"call_id": call["call_id"], "output": output}]
        return await self.command(
            "submit",
            "POST",
            f"{path}/tool-results",
            {"results": results},
            chat_id=chat_id,
            about=call["call_id"],
        )

    # --- what is so ---

    async def get(self, path: str) -> Json:
        status, json = await self.ask("GET", path)
        assert status == 200, (path, status, json)
        return json

    async def everything(self, path: str) -> list[Json]:
        """All pages of a list."""
        items: list[Json] = []
        cursor = ""
        while True:
            page = await self.get(f"{path}{'&' if '?' in path else '?'}limit=200{cursor}")
            items += page["items"]
            if page.get("next_cursor") is None:
                return items
            cursor = f"&cursor={page['next_cursor']}"

    async def everything_short(self, path: str) -> list[Json]:
        """Of a list that has no pages."""
        return (await self.get(path))["items"]

    async def chat(self, chat_id: str) -> Json:
        return await self.get(f"chats/{chat_id}")

    async def until(self, chat_id: str, holds: Callable[[Json], bool]) -> Json:
        async with _patience():
            while not holds(chat := await self.chat(chat_id)):  # noqa: ASYNC110 - it happens elsewhere
                await asyncio.sleep(0.1)
        return chat


@asynccontextmanager
async def _patience() -> AsyncGenerator[None]:
    """Turns a wait without end into a verdict."""
    try:
        async with asyncio.timeout(GIVE_UP_SECONDS):
            yield
    except TimeoutError:
        raise GaveUp(f"nobody answered for {GIVE_UP_SECONDS:g} s") from None
