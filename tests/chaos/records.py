"""The five records of a round, gathered when everything has settled: what clients asked and were answered,
what the provider was asked, the ledger, what watchers hold, and the final state."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from holdfast.store.open import open_store
from tests.chaos.clients import Asked, Clients, Json
from tests.chaos.stage import Stage
from tests.chaos.watchers import Roamer
from tests.providers.answering import Asked as Requested


@dataclass(frozen=True)
class Dump:
    """Everything the API says about one chat: history with what was removed, and what waits."""

    chat: Json
    messages: Sequence[Json]
    queue: Sequence[Json] = ()
    spans: Sequence[Json] = ()

    @property
    def visible(self) -> list[tuple[str, str, Any]]:
        """As a watcher is told."""
        return [
            (message["id"], message["role"], message["parts"])
            for message in self.messages
            if not message["removed"] and message["visibility"] != "model"
        ]


@dataclass(frozen=True)
class Watched:
    """What one watcher holds at the end."""

    chat_id: str
    manner: str
    said: Sequence[tuple[str, str, Any]]
    left: str = ""
    complaint: str = ""
    # How often shown text was taken back.
    resets: int = 0


@dataclass(frozen=True)
class Records:
    log: Sequence[Asked]
    requests: Sequence[Requested]
    ledger: Sequence[str]
    watched: Sequence[Watched]
    dumps: dict[str, Dump]
    # Of workflows.
    runs: Sequence[Json] = ()
    # How often something was broken.
    faults: int = 0
    complaints: Sequence[str] = ()
    logs: str = ""
    canaries: Sequence[str] = ()
    flaws: Sequence[str] = field(default_factory=list[str])


async def gather_records(stage: Stage, watchers: Sequence[Roamer], faults: int) -> Records:
    runs = await runs_of(stage)
    chats = await family(stage.observer, await roots_of(stage))
    dumps = {chat["id"]: await _dump(stage.observer, chat) for chat in chats}
    return Records(
        log=stage.clients.log,
        requests=list(stage.provider.log),
        ledger=stage.ledger,
        watched=[_watched(one) for one in watchers],
        dumps=dumps,
        runs=runs,
        faults=faults,
        complaints=[*stage.clients.complaints, *stage.observer.complaints],
        logs=stage.logs(),
        canaries=stage.canaries,
        flaws=await _flaws(stage),
    )


async def family(clients: Clients, roots: Sequence[str]) -> list[Json]:
    """These chats and all below them, as they are now."""
    found: list[Json] = []
    waiting = list(roots)
    while waiting:
        chat = await clients.chat(waiting.pop())
        found.append(chat)
        below = await clients.everything(f"chats?parent_id={chat['id']}")
        waiting += [child["id"] for child in below]
    return found


async def roots_of(stage: Stage) -> list[str]:
    """The chats that people began, and those that their workflows did."""
    begun = [asked.chat_id for asked in stage.clients.log if asked.kind == "create" and asked.succeeded]
    for run in _run_ids(stage):
        begun += [chat["id"] for chat in await stage.observer.everything(f"chats?run_id={run}")]
    return [chat_id for chat_id in begun if chat_id is not None]


async def runs_of(stage: Stage) -> list[Json]:
    return [await stage.observer.get(f"workflow-runs/{run}") for run in _run_ids(stage)]


def _run_ids(stage: Stage) -> list[str]:
    return [asked.about for asked in stage.clients.log if asked.kind == "run" and asked.succeeded]


async def _dump(clients: Clients, chat: Json) -> Dump:
    path = f"chats/{chat['id']}"
    messages, queue, spans = await asyncio.gather(
        clients.everything(f"{path}/messages?removed=true&visibility=all"),
        clients.everything_short(f"{path}/queue"),
        clients.everything(f"{path}/trace"),
    )
    return Dump(chat, messages, queue, spans)


def _watched(watcher: Roamer) -> Watched:
    left = "" if watcher.preview is None else watcher.preview.text
    complaint = "" if watcher.complaint is None else repr(watcher.complaint)
    resets = watcher.names.count("preview_reset")
    return Watched(watcher.chat_id, watcher.manner, watcher.said, left, complaint, resets)


async def _flaws(stage: Stage) -> list[str]:
    """What is wrong with the database, seen from outside and beside servers that are at work."""
    data: Path = stage.servers[0].process.data
    store = await open_store(stage.database, data=data, publish=lambda _: None, mode="tool")
    try:
        return await store.check()
    finally:
        await store.close()


def marks(records: Records) -> Counter[str]:
    """What was going on, and what the fault did that people could notice: without it nothing is proven."""
    parts = [part for dump in records.dumps.values() for one in dump.messages for part in one["parts"]]
    return Counter(
        {
            "asked again": sum(asked.tries > 1 for asked in records.log),
            "taken back": sum(watched.resets for watched in records.watched),
            "commands": sum(part.get("name") == "execute" and "input" in part for part in parts),
            "uncertain": sum(part.get("outcome") == "uncertain" for part in parts),
        }
    )


def searchable(records: Records) -> bytes:
    """All that anybody could see of a round."""
    seen = {
        "logs": records.logs,
        "answers": [asked.json for asked in records.log],
        "watched": [watched.said for watched in records.watched],
        "chats": [(dump.chat, dump.messages, dump.spans) for dump in records.dumps.values()],
    }
    return msgspec.json.encode(seen)
