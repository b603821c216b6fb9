"""A client of a feed as small as it can be: it applies events and complains about what must never happen: a
message twice or out of order, a part that does not go on where the preview ends, a preview that is left."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from holdfast.core.ids import ChatId
from holdfast.core.shapes import encode
from holdfast.feed.frames import Frame
from holdfast.feed.hub import Hub
from holdfast.store import messages as message_queries
from holdfast.store.interface import Store

Json = dict[str, Any]
Said = list[tuple[str, str, Any]]
PATIENCE_SECONDS = 40.0


class Shown:
    """The preview: the live parts of one episode."""

    def __init__(self, episode: tuple[int, int]) -> None:
        self.episode = episode
        self.n = 0
        self.text = ""


class Client:
    """With `told`, what was streamed in each episode, it shows nothing else."""

    def __init__(self, cursor: str | None = None, told: dict[tuple[int, int], str] | None = None) -> None:
        self.cursor = cursor
        self._told = told
        self.messages: dict[str, Json] = {}
        self.preview: Shown | None = None
        self.spans: dict[str, Json] = {}
        self.state: dict[str, Json] = {}
        self.names: list[str] = []
        self.connections: int = 0
        self.cuts = 0
        self.changed = asyncio.Event()
        self.complaint: BaseException | None = None

    def apply(self, event: str, event_id: str | None, data: Json) -> None:
        self.cursor = event_id or self.cursor
        self.names.append(event)
        match event:
            case "message":
                self._add(data["message"], data.get("replaces"))
            case "part":
                self._show(data)
            case "preview_reset":
                self.preview = None
            case "history_reset":
                self.messages.clear()
                self.preview = None
            case "span":
                self.spans[data["id"]] = data
            case _:
                self.state[event] = data
        self.changed.set()

    def apply_frame(self, frame: Frame) -> None:
        self.apply(frame.event, frame.id or None, msgspec.json.decode(frame.data))

    def _add(self, message: Json, replaces: Json | None) -> None:
        assert message["id"] not in self.messages, "a message came twice"
        assert all(message["id"] > other for other in self.messages), "a message came out of order"
        assert not message["removed"]
        assert message["visibility"] != "model"
        self.messages[message["id"]] = message
        if replaces and self.preview:
            assert self.preview.episode == (replaces["history_version"], replaces["attempt"])
            self.preview = None
        assert self.preview is None, "a preview was left when its history had gone on"

    def _show(self, data: Json) -> None:
        episode = (data["history_version"], data["attempt"])
        first = data.get("first", data["n"])
        if self.preview is None:
            assert first == 1, "the first parts are missing"
            self.preview = Shown(episode)
        assert self.preview.episode == episode, "a part of another episode"
        assert first == self.preview.n + 1, f"part {first} came after {self.preview.n}"
        self.preview.n = data["n"]
        self.preview.text += data["part"].get("text", "")
        if self._told is not None:
            assert self._told[episode].startswith(self.preview.text), "this was never streamed"

    @property
    def said(self) -> Said:
        return [(message["id"], message["role"], message["parts"]) for message in self.messages.values()]

    @property
    def trace(self) -> dict[str, Json]:
        """Without steps that never came to their end: nothing of those is stored."""
        return {
            key: span
            for key, span in self.spans.items()
            if span["kind"] not in ("step", "model_call") or span["finished_at"] is not None
        }

    @property
    def status(self) -> str | None:
        return self.state["status"]["status"] if "status" in self.state else None

    # --- in process ---

    async def connect(
        self, hub: Hub, chat_id: ChatId, events: int | None = None, *, slowness: int = 0, **more: Any
    ) -> None:
        """Watches, for so many events if told; goes on where it was. A slow one lets others go first."""
        self.connections += 1
        async with hub.watch(chat_id, cursor=self.cursor, **more) as watcher:
            async for batch in watcher:
                for _ in range(slowness):
                    await asyncio.sleep(0)
                for frame in batch.frames:
                    self.apply_frame(frame)
                    if events is not None:
                        events -= 1
                        if events <= 0:
                            return

    def note_end(self, task: "asyncio.Task[None]") -> None:
        """Its watching is over; if it had to complain, who waits for it hears so."""
        self.complaint = None if task.cancelled() else task.exception()
        self.changed.set()

    async def until(self, condition: Callable[["Client"], object]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not condition(self):
                if self.complaint is not None:
                    raise self.complaint
                self.changed.clear()
                await self.changed.wait()


async def said_in(store: Store, chat_id: ChatId) -> Said:
    """What the database says to anybody who asks, without what is only for providers."""
    found = await store.read(message_queries.page(chat_id, limit=10_000))
    said: Said = []
    for message in found:
        parts: list[Json] = msgspec.json.decode(encode(message.parts))
        said.append((message.id, message.role, [_without_provider_data(part) for part in parts]))
    return said


def _without_provider_data(part: Json) -> Json:
    return {name: value for name, value in part.items() if name != "provider_data"}


async def eventually(condition: Callable[[], bool]) -> None:
    """For what no event tells of: looks again and again."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - there is nothing to wait for
            await asyncio.sleep(0.01)
