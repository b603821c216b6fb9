"""Clients of the current victim. A request is repeated under the same key if the victim dies before it has
answered; the judge relies on the log of this."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from holdfast.chats.commands import (
    CallResult,
    Compact,
    Create,
    Decide,
    DeleteQueued,
    Edit,
    Interrupt,
    PeopleCommand,
    Promote,
    Send,
    SubmitResults,
)
from holdfast.core.calls import Verdict
from holdfast.core.chats import Chat, ClientTool, Settings
from holdfast.core.ids import CallId, ChatId, MessageId, QueueItemId
from holdfast.core.messages import Busy
from holdfast.core.parts import Text
from tests.crash.handle import Died, Handle
from tests.crash.orders import USER, Answer, Dump

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

    @property
    def succeeded(self) -> bool:
        return self.answer is not None and self.answer.refusal is None


class Clients:
    def __init__(self) -> None:
        self.log: list[Asked] = []
        self._present: Handle | None = None
        self._there = asyncio.Condition()
        self._tasks: set[asyncio.Task[Answer]] = set()

    async def present(self, handle: Handle) -> None:
        """The victim that clients talk to from now on."""
        async with self._there:
            self._present = handle
            self._there.notify_all()

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    # --- asking ---

    async def ask(self, command: PeopleCommand, chat_id: ChatId | None = None) -> Answer:
        """Asked until it is answered."""
        asked = Asked(chat_id, command, key=f"key-{len(self.log)}")
        self.log.append(asked)
        while asked.answer is None:
            asked.tries += 1
            asked.answer = await self._once(command.kind, command, chat_id=chat_id, key=asked.key)
        return asked.answer

    async def question(self, kind: str, command: object = None, **more: Any) -> Answer:
        while (answer := await self._once(kind, command, **more)) is None:
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

    def later(self, asking: Coroutine[Any, Any, Answer]) -> asyncio.Task[Answer]:
        """Asked beside whatever else happens."""
        task = asyncio.create_task(asking)
        self._tasks.add(task)
        return task

    # --- what people ask ---

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

    async def promote(self, chat_id: ChatId, item_id: QueueItemId) -> Answer:
        return await self.ask(Promote(item_id=item_id), chat_id)

    async def delete_queued(self, chat_id: ChatId, item_id: QueueItemId) -> Answer:
        return await self.ask(DeleteQueued(item_id=item_id), chat_id)

    async def compact(self, chat_id: ChatId) -> Answer:
        return await self.ask(Compact(), chat_id)

    async def decide(self, chat_id: ChatId, call_id: CallId, verdict: Verdict) -> Answer:
        return await self.ask(Decide(call_id=call_id, verdict=verdict, user_id=USER), chat_id)

    async def submit(self, chat_id: ChatId, call_id: CallId, output: str) -> Answer:
        return await self.ask(SubmitResults(results=(CallResult(call_id=call_id, output=output),)), chat_id)

    # --- what is so ---

    async def chats(self) -> dict[ChatId, Chat]:
        return {chat.id: chat for chat in (await self.question("chats")).chats}

    async def rests(self, root_id: ChatId) -> bool:
        """Whether of the chat and all below it nobody runs, and nobody is to be told of an end."""
        told = await self.question("family", chat_id=root_id)
        return not told.untold and all(chat.status in ("idle", "error") for chat in told.chats)

    async def dumps(self) -> dict[ChatId, Dump]:
        return {dump.chat.id: dump for dump in (await self.question("dump")).dumps}

    async def dump(self, chat_id: ChatId) -> Dump:
        return (await self.dumps())[chat_id]

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
                    # Any of them, and the same one again if it was too early.
                    verdicts: tuple[Verdict, ...] = ("done", "skip", "retry")
                    await self.decide(chat.id, call.call_id, verdicts[ord(call.call_id[-1]) % 3])
                case _:
                    await self.submit(chat.id, call.call_id, "seen")
