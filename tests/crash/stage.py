"""A stage: one database, one scripted provider, one ledger, and the victims that come and go on it. What
clients ask is asked again, under the same key, when a victim dies before it has answered; the log of it is
what the judge believes."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from holdfast.chats.commands import (
    CallResult,
    Compact,
    Create,
    Decide,
    Edit,
    Interrupt,
    PeopleCommand,
    RetryTurn,
    Send,
    SubmitResults,
)
from holdfast.core.calls import Verdict
from holdfast.core.chats import Chat, ClientTool, Settings
from holdfast.core.ids import CallId, ChatId, MessageId
from holdfast.core.messages import Busy
from holdfast.core.parts import Text
from holdfast.store.open import open_store
from holdfast.worker.settings import WorkerSettings
from tests.crash.handle import Died, Handle
from tests.crash.ledger import Ledger
from tests.crash.orders import USER, Answer, Dump, Setup
from tests.crash.points import Point
from tests.crash.summaries import around_summaries
from tests.providers.server import ProviderServer

# After the last fault everything settles within 60 s; times four.
SETTLE_SECONDS = 240.0
CLIENT_TOOL = ClientTool(
    name="client_look", description="Looks at the caller's side.", input_schema={"type": "object"}
)


@dataclass
class Asked:
    """One request of a client, as it was asked and answered."""

    chat_id: ChatId | None
    command: PeopleCommand
    key: str
    # How often it was sent; all but the last time without an answer.
    tries: int = 0
    answer: Answer | None = None


@dataclass
class Kill:
    """A victim's end, and what was known about the moment."""

    how: str
    at: float = field(default_factory=time.time)


class Stage:
    def __init__(
        self, directory: Path, database: str, provider: ProviderServer, settings: WorkerSettings
    ) -> None:
        self.directory = directory
        self.provider = provider
        self.ledger = Ledger(directory / "ledger.jsonl")
        self.log: list[Asked] = []
        self.kills: list[Kill] = []
        self.starts = 0
        self._pipe = os.pipe()
        self._handles: list[Handle] = []
        self._present: Handle | None = None
        self._there = asyncio.Condition()
        self._tasks: set[asyncio.Task[Answer]] = set()
        self._setup = Setup(
            database=database,
            data=str(directory / "data"),
            ledger=str(directory / "ledger.jsonl"),
            provider_url=provider.url,
            settings=settings,
            kept_open=self._pipe[1],
        )
        provider.answer = around_summaries()

    # --- victims ---

    async def begin(self, point: Point | None = None, *, working: bool = True) -> Handle:
        """A victim that is starting."""
        self.starts += 1
        log = self.directory / f"victim-{self.starts}.log"
        handle = await Handle.begin(replace(self._setup, point=point, working=working), log)
        self._handles.append(handle)
        return handle

    async def start(self, point: Point | None = None, *, working: bool = True) -> Handle:
        """A victim that is ready, and the one that clients talk to from now on."""
        handle = await self.begin(point, working=working)
        await handle.ready()
        await self.present(handle)
        return handle

    async def present(self, handle: Handle) -> None:
        async with self._there:
            self._present = handle
            self._there.notify_all()

    async def dead(self, handle: Handle, how: str) -> None:
        """Waits for the end of a victim that was to be killed."""
        async with asyncio.timeout(SETTLE_SECONDS):
            code = await handle.gone()
        assert code == -9, f"the victim ended by itself ({code}) at {how}:\n{handle.log()}"
        self.kills.append(Kill(how))

    async def kill(self, handle: Handle, how: str = "killed by the driver") -> None:
        handle.kill()
        await self.dead(handle, how)

    def disturbed(self, how: str) -> None:
        """A victim lost its work without dying: that too may cost a request."""
        self.kills.append(Kill(how))

    async def leave_victims(self) -> None:
        """All victims stop as servers do."""
        for handle in self._handles:
            if handle.alive:
                code = await handle.leave()
                assert code == 0, f"the victim did not stop well ({code}):\n{handle.log()}"

    async def leave(self) -> None:
        """The end of the play: nothing is left of anybody."""
        await self.leave_victims()
        os.close(self._pipe[1])
        self._pipe = (self._pipe[0], -1)
        # The end of the file comes when the last descendant of any victim is gone.
        async with asyncio.timeout(120):
            left = await asyncio.to_thread(os.read, self._pipe[0], 1)
        assert left == b""

    def clear(self) -> None:
        for handle in self._handles:
            handle.thaw()
            handle.kill()

    async def close(self) -> None:
        self.clear()
        for task in self._tasks:
            task.cancel()
        for handle in self._handles:
            with suppress(TimeoutError):
                async with asyncio.timeout(60):
                    await handle.gone()
        for fd in self._pipe:
            if fd >= 0:
                os.close(fd)

    # --- clients ---

    async def ask(self, command: PeopleCommand, chat_id: ChatId | None = None) -> Answer:
        """Asked until it is answered."""
        asked = Asked(chat_id, command, key=f"key-{len(self.log)}")
        self.log.append(asked)
        while asked.answer is None:
            asked.tries += 1
            asked.answer = await self._once(command.kind, command, chat_id=chat_id, key=asked.key)
        return asked.answer

    async def question(self, kind: str, command: object = None) -> Answer:
        while (answer := await self._once(kind, command)) is None:
            pass
        return answer

    async def _once(self, kind: str, command: object, **more: Any) -> Answer | None:
        """None: the victim died, and another is there to be asked."""
        async with self._there:
            await self._there.wait_for(lambda: self._present is not None)
            handle = self._present
        assert handle is not None
        try:
            return await handle.ask(kind, command, **more)
        except Died:
            async with self._there, asyncio.timeout(SETTLE_SECONDS):
                await self._there.wait_for(lambda: self._present is not handle)
            return None

    async def create(self, text: str, model: str = "plain") -> ChatId:
        return (await self.created(text, model))[0]

    async def created(self, text: str, model: str = "plain") -> tuple[ChatId, MessageId]:
        """A new chat and its first message."""
        settings = Settings(model=model, client_tools=(CLIENT_TOOL,))
        told = (await self.ask(Create(owner_id=USER, settings=settings, parts=(Text(text=text),)))).told
        assert told is not None
        assert told.message_id is not None
        return told.chat_id, told.message_id

    async def send(
        self, chat_id: ChatId, text: str, busy: Busy = "queue", model: str | None = None
    ) -> Answer:
        parts = (Text(text=text),)
        return await self.ask(Send(parts=parts, busy=busy, model=model, created_by=USER), chat_id)

    async def edit(self, chat_id: ChatId, message_id: MessageId, text: str) -> Answer:
        parts = (Text(text=text),)
        return await self.ask(Edit(message_id=message_id, parts=parts, created_by=USER), chat_id)

    async def interrupt(self, chat_id: ChatId) -> Answer:
        return await self.ask(Interrupt(), chat_id)

    async def compact(self, chat_id: ChatId) -> Answer:
        return await self.ask(Compact(), chat_id)

    async def retry(self, chat_id: ChatId) -> Answer:
        return await self.ask(RetryTurn(), chat_id)

    async def decide(self, chat_id: ChatId, call_id: CallId, verdict: Verdict) -> Answer:
        return await self.ask(Decide(call_id=call_id, verdict=verdict, user_id=USER), chat_id)

    async def submit(self, chat_id: ChatId, call_id: CallId, output: str) -> Answer:
        return await self.ask(SubmitResults(results=(CallResult(call_id=call_id, output=output),)), chat_id)

    # --- what is so ---

    def open_gate(self) -> None:
        """Calls that wait for it go on."""
        self.ledger.gate.touch()

    async def chats(self) -> dict[ChatId, Chat]:
        return {chat.id: chat for chat in (await self.question("chats")).chats}

    async def dumps(self) -> dict[ChatId, Dump]:
        return {dump.chat.id: dump for dump in (await self.question("dump")).dumps}

    async def dump(self, chat_id: ChatId) -> Dump:
        return (await self.dumps())[chat_id]

    async def check(self) -> list[str]:
        """What is wrong with the database, seen from outside and beside a server that is at work."""
        store = await open_store(
            self._setup.database, data=Path(self._setup.data), publish=lambda _: None, mode="tool"
        )
        try:
            return await store.check()
        finally:
            await store.close()

    async def until(self, holds: Callable[[], bool], seconds: float = SETTLE_SECONDS) -> None:
        async with asyncio.timeout(seconds):
            while not holds():  # noqa: ASYNC110 - what is waited for happens in other processes
                await asyncio.sleep(0.01)

    def later(self, asking: Coroutine[Any, Any, Answer]) -> asyncio.Task[Answer]:
        """Asked beside whatever else happens."""
        task = asyncio.create_task(asking)
        self._tasks.add(task)
        return task

    async def until_chat(self, chat_id: ChatId, holds: Callable[[Chat], bool]) -> Chat:
        async with asyncio.timeout(SETTLE_SECONDS):
            while not holds(chat := (await self.chats())[chat_id]):  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.02)
        return chat

    async def settle(self) -> dict[ChatId, Chat]:
        """Waits until no chat is busy; whoever is asked something answers."""
        async with asyncio.timeout(SETTLE_SECONDS):
            while True:
                chats = await self.chats()
                if all(chat.status in ("idle", "error") for chat in chats.values()):
                    return chats
                for chat in chats.values():
                    await self._act(chat)
                await asyncio.sleep(0.03)

    async def _act(self, chat: Chat) -> None:
        for call in chat.action.calls if chat.action else ():
            match call.kind:
                case "approval":
                    await self.decide(chat.id, call.call_id, "approve")
                case "uncertain":
                    await self.decide(chat.id, call.call_id, "done")
                case _:
                    await self.submit(chat.id, call.call_id, "seen")

    def asked_of(self, text: str) -> int:
        """How many requests the provider got whose messages have this text."""
        return sum(text.encode() in asked.raw for asked in self.provider.log)

    def effects_of(self, chat_id: ChatId, tool: str | None = None) -> int:
        return sum(line.chat_id == chat_id for line in self.ledger.effects(tool))


@asynccontextmanager
async def a_stage(
    directory: Path, database: str, settings: WorkerSettings | None = None
) -> AsyncGenerator[Stage]:
    async with ProviderServer() as provider:
        stage = Stage(directory, database, provider, settings or WorkerSettings())
        try:
            yield stage
        finally:
            await stage.close()
