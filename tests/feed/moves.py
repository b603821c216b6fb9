"""Everything that can happen to a chat while it is watched, one move at a time, chosen by a number among
those that are legal now. Parts of an episode that is over may still be streamed: watchers must not show
them."""

from collections.abc import Awaitable, Callable

from holdfast.chats.commands import (
    BeginAttempt,
    CallResult,
    Command,
    CommitStep,
    Edit,
    FinishCall,
    FinishTurn,
    Interrupt,
    NewMessage,
    NewStep,
    RequireAction,
    RetryTurn,
    StartCalls,
    SubmitResults,
)
from holdfast.chats.view import Call, View
from holdfast.core.events import Episode
from holdfast.core.ids import CallId
from holdfast.core.parts import Reasoning, ToolCall, ToolCallDelta, ToolResult
from holdfast.store import messages as message_queries
from tests.feed.stage import Chatting
from tests.store.world import call, fresh_id, text

Move = Callable[[], Awaitable[None]]


class Mover:
    def __init__(self, chat: Chatting, deltas: Callable[[], str]) -> None:
        self.chat = chat
        self._delta = deltas
        self._count = 0

    async def move(self, choice: int) -> None:
        view = await self.chat.view()
        moves = [*self._of_worker(view), *self._of_people(view)]
        await moves[choice % len(moves)]()

    async def rest(self) -> None:
        """Whatever is under way comes to its end."""
        while True:
            view = await self.chat.view()
            if view.chat.status in ("idle", "error"):
                return
            await self._towards_rest(view)

    # --- who may do what ---

    def _of_people(self, view: View) -> list[Move]:
        status = view.chat.status
        moves: list[Move] = [self._send, self._rename, self._edit]
        if status in ("running", "requires_action"):
            moves += [self._interrupt, self._steer]
        if status == "error":
            moves.append(lambda: self._do(RetryTurn()))
        return moves

    def _of_worker(self, view: View) -> list[Move]:
        chat = view.chat
        if chat.status not in ("running", "interrupting", "requires_action"):
            return [self._stream_on] if self.chat.streaming else []
        if chat.status == "requires_action":
            return [lambda: self._submit(view)]
        if chat.lease is None:
            return [self.chat.own]
        if chat.status == "interrupting":
            return [lambda: self._finish_interrupt(view)]
        if calls := [one for one in view.calls if not one.abandoned and one.state != "finished"]:
            return [lambda: self._go_on_with(calls), self._crash]
        if not self._streams(view):
            return [self.chat.begin, self._nudge, self._finish_turn]
        return [
            *[self._stream] * 4,
            self._think,
            self.chat.commit,
            self._finish,
            self._commit_calls,
            self._compact,
            self.chat.fail_attempt,
            self.chat.fail_turn,
            self._crash,
        ]

    def _streams(self, view: View) -> bool:
        """Whether what is streamed could still be committed."""
        chat = view.chat
        now = Episode(history_version=chat.history_version, attempt=chat.attempt)
        return self.chat.streaming == now and chat.retry is None

    async def _towards_rest(self, view: View) -> None:
        if view.chat.status == "requires_action":
            await self._submit(view)
        elif view.chat.lease is None:
            await self.chat.own()
        elif view.chat.status == "interrupting":
            await self._finish_interrupt(view)
        elif calls := [one for one in view.calls if not one.abandoned and one.state != "finished"]:
            await self._go_on_with(calls)
        elif not self._streams(view):
            await self.chat.begin()
        else:
            await self._stream()
            await self.chat.finish()

    # --- moves ---

    async def _do(self, *commands: Command) -> None:
        await self.chat.do(*commands)

    async def _send(self) -> None:
        if len((await self.chat.view()).queue) < 5:
            await self.chat.send(f"message {self._next()}")

    async def _steer(self) -> None:
        if len((await self.chat.view()).queue) < 5:
            await self.chat.send(f"steer {self._next()}", "steer")

    async def _rename(self) -> None:
        await self.chat.store.update_settings(self.chat.id, title=f"title {self._next()}")

    async def _edit(self) -> None:
        history = await self.chat.store.read(message_queries.page(self.chat.id, limit=10_000))
        said = [message for message in history if message.role == "user" and message.visibility == "both"]
        if said and not (await self.chat.view()).chat.archived:
            chosen = said[self._next() % len(said)]
            edit = Edit(message_id=chosen.id, parts=text(f"edited {self._count}"), created_by=self.chat.owner)
            await self._do(edit)

    async def _interrupt(self) -> None:
        await self._do(Interrupt())

    async def _nudge(self) -> None:
        """What only the model sees moves the history all the same."""
        hidden = NewMessage(role="user", parts=text(f"hidden {self._next()}"), visibility="model")
        await self._do(BeginAttempt(messages=(hidden,)))

    async def _stream(self) -> None:
        self.chat.stream(*[self._delta() for _ in range(1 + self._next() % 5)])

    async def _stream_on(self) -> None:
        """The worker has not heard yet that this no longer counts."""
        await self._stream()
        self.chat.crash()

    async def _think(self) -> None:
        self.chat.show(Reasoning(text=self._delta()))
        delta = ToolCallDelta(call_id=CallId("c1"), name="execute", text=self._delta())
        self.chat.show(delta)

    async def _finish(self) -> None:
        await self.chat.finish()

    async def _finish_turn(self) -> None:
        await self._do(FinishTurn())

    async def _commit_calls(self) -> None:
        waits = self._next() % 3 == 0
        first, second = call(f"call-{fresh_id()}"), call(f"call-{fresh_id()}")
        if waits:
            asked = call(f"call-{fresh_id()}", waits_for="client_tool")
            await self.chat.commit(asked, and_then=(RequireAction(),))
        else:
            await self.chat.commit(first, second, and_then=(StartCalls(call_ids=(first.call_id,)),))

    async def _compact(self) -> None:
        streaming = self.chat.streaming
        assert streaming is not None
        asked = ToolCall(call_id=CallId(f"call-{fresh_id()}"), name="chat_summarized", input={})
        result = ToolResult(call_id=asked.call_id, name=asked.name, output="short", outcome="succeeded")
        step = NewStep(
            kind="compaction", attempts=streaming.attempt, started_at=(await self.chat.view()).chat.updated_at
        )
        await self._do(
            CommitStep(
                step=step,
                messages=(
                    NewMessage(role="assistant", parts=(asked,), visibility="user", compaction=True),
                    NewMessage(role="tool", parts=(result,), visibility="user", compaction=True),
                    NewMessage(role="user", parts=text("short"), visibility="model", compaction=True),
                ),
            )
        )
        self.chat.crash()

    async def _go_on_with(self, calls: list[Call]) -> None:
        one = calls[self._next() % len(calls)]
        match one.state:
            case "pending":
                await self._do(StartCalls(call_ids=(one.call_id,)))
            case "started":
                done = FinishCall(call_id=one.call_id, run=one.run, outcome="succeeded", output=self._delta())
                await self._do(done)
            case _:
                if all(other.state in ("waiting", "finished") for other in calls):
                    await self._do(RequireAction())

    async def _submit(self, view: View) -> None:
        waiting = [one for one in view.calls if one.state == "waiting"]
        result = CallResult(call_id=waiting[0].call_id, output=self._delta())
        await self._do(SubmitResults(results=(result,)))

    async def _finish_interrupt(self, view: View) -> None:
        if any(not one.abandoned for one in view.calls) or not self._streams(view):
            self.chat.crash()
        await self.chat.finish_interrupt()

    async def _crash(self) -> None:
        """The worker dies, and another one takes over."""
        self.chat.crash()
        await self.chat.take_over()

    def _next(self) -> int:
        self._count += 1
        return self._count
