"""Random commands of people, workers and the server itself on a family of chats, with crashes, clocks that
jump and fences that no longer hold."""

from collections.abc import Sequence
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    multiple,
    rule,
    run_state_machine_as_test,
)
from msgspec.structs import replace

from holdfast.chats.change import Refusal
from holdfast.chats.commands import (
    Archive,
    BeginAttempt,
    CallResult,
    Command,
    Compact,
    Create,
    Decide,
    Delete,
    DeleteQueued,
    DeliveryKey,
    Edit,
    EditQueued,
    ExpireCalls,
    FailTurn,
    FinishCall,
    FinishInterrupt,
    FinishTurn,
    Fork,
    HoldQueued,
    Interrupt,
    LapseHolds,
    MoveQueued,
    Notify,
    Promote,
    Reconcile,
    Release,
    ReleaseQueued,
    RequireAction,
    RetryTurn,
    Send,
    Stop,
    SubmitResults,
    Unarchive,
)
from holdfast.chats.view import View
from holdfast.core.calls import Verdict
from holdfast.core.chats import Settings
from holdfast.core.ids import CallId, ChatId, MessageId, QueueItemId, WorkerId
from holdfast.core.messages import Busy
from holdfast.core.origins import FromChat
from holdfast.core.parts import Parts
from holdfast.core.usage import Budget
from holdfast.store.interface import Applied, Once, Replayed
from tests.chats.driving import Driver, ManualClock
from tests.chats.machine import ONE_DAY
from tests.chats.making import OWNER, numbered, text
from tests.chats.working import BROKEN, TOOLS, answer, fence_of, next_commands

picks = st.integers(min_value=0, max_value=59)
busies: st.SearchStrategy[Busy] = st.sampled_from(("queue", "queue", "steer", "interrupt"))
tokens = st.sampled_from(("right", "none", "wrong"))
VERDICTS: tuple[Verdict, ...] = ("approve", "deny", "retry", "done", "skip")
# Seconds. Leases last 15, holds 120, questions to client tools 300, idempotency keys a day.
JUMPS = (0.000_001, 1, 6, 16, 121, 301, 90_000, -0.5, -40, -4_000)
PLAIN: tuple[Command, ...] = (
    Interrupt(),
    Interrupt(),
    Stop(),
    Compact(),
    RetryTurn(),
    RetryTurn(),
    Archive(),
    Unarchive(),
    Unarchive(),
    Reconcile(),
    LapseHolds(),
    ExpireCalls(),
)
GOALS = (
    "action",
    "action",
    "archived",
    "calls",
    "compaction",
    "error",
    "held",
    "idle",
    "interrupting",
    "uncertain",
)
MOVES = (
    *GOALS,
    *("queue", "steer", "interrupt", "promote", "move", "edit_queued", "hold", "release", "delete_queued"),
    *("submit", "submit", "decide", "decide", "edit", "lapse", "expire", "notify", "hand_over"),
    *("work", "work", "work_on", "too_late", "at_will", "spawn", "fork", "crash", "jump", "delete"),
    *("plain",) * 6,
)
moves = st.tuples(st.sampled_from(MOVES), st.integers(min_value=0, max_value=9_999))
FENCED = ("lease_number", "history_version", "status", "attempt")
AT_WILL: tuple[Command, ...] = (
    Release(),
    RequireAction(),
    FinishTurn(),
    FinishInterrupt(),
    FailTurn(failure=BROKEN),
)


class Family(RuleBasedStateMachine):
    """Chats that are deleted stay in the bundle: asking them is a test too."""

    chats = Bundle("chats")
    workers = Bundle("workers")

    def __init__(self, driver: Driver | None = None) -> None:
        super().__init__()
        self.driver = driver or Driver(ManualClock())
        # What workers remember of chats, not always the newest.
        self.remembered: dict[ChatId, View] = {}
        self.answered: dict[str, tuple[Send, Applied, datetime]] = {}

    def teardown(self) -> None:  # pyright: ignore[reportImplicitOverride] - `override` comes with Python 3.12
        self.driver.clean_up()

    # --- chats begin ---

    @initialize(target=workers)
    def first_worker(self) -> WorkerId:
        return self.driver.register_worker()

    @initialize(target=chats)
    def first_chat(self) -> ChatId:
        return self._create(None)

    @rule(target=chats, budget=st.sampled_from((None, None, 25)))
    def create(self, budget: int | None) -> ChatId | MultipleResults[ChatId]:
        return multiple() if self._crowded() else self._create(budget)

    def _crowded(self) -> bool:
        """A few chats see more of each other than many."""
        return len(self.driver.pure.chats) >= 5

    def _create(self, budget: int | None) -> ChatId:
        chat_id = self._new_id()
        capped = None if budget is None else Budget(tokens=budget)
        command = Create(
            owner_id=OWNER, settings=Settings(title=f"chat {chat_id}", budget=capped), parts=self._words()
        )
        assert isinstance(self.driver.ask(chat_id, command), Applied)
        return chat_id

    @rule(target=chats, parent=chats, pick=picks)
    def spawn(self, parent: ChatId, pick: int) -> ChatId | MultipleResults[ChatId]:
        """A call of the parent, if one is there, starts a sub-agent."""
        if self._crowded():
            return multiple()
        chat_id, above = self._new_id(), self.driver.view(parent)
        calls = [call.call_id for call in above.calls] if above else []
        command = Create(
            owner_id=OWNER,
            settings=Settings(),
            parts=self._words(),
            origin=FromChat(chat_id=parent, call_id=calls[pick % len(calls)] if calls else None),
            root_id=above.chat.root_id if above else parent,
        )
        answer = self.driver.ask(chat_id, command)
        assert isinstance(answer, Refusal) == (above is None)
        return chat_id if above else multiple()

    @rule(target=chats, source=chats, pick=picks)
    def fork(self, source: ChatId, pick: int) -> ChatId | MultipleResults[ChatId]:
        if self._crowded():
            return multiple()
        chat_id, history = self._new_id(), self.driver.pure.history(source)
        up_to = history[pick % len(history)].id if history and pick % 3 else None
        command = Fork(owner_id=OWNER, source_id=source, settings=Settings(), up_to=up_to)
        answer = self.driver.ask(chat_id, command)
        assert isinstance(answer, Refusal) == (not history)
        return chat_id if history else multiple()

    # --- people ---

    @rule(chat=chats, busy=busies)
    def send(self, chat: ChatId, busy: Busy) -> None:
        self.driver.ask(chat, Send(parts=self._words(), busy=busy, created_by=OWNER))

    @rule(chat=chats, busy=busies, count=st.sampled_from((2, 2, 3, 3, 4, 21)))
    def send_many(self, chat: ChatId, busy: Busy, count: int) -> None:
        for _ in range(count):
            self.driver.ask(chat, Send(parts=self._words(), busy=busy, created_by=OWNER))
        view = self.driver.view(chat)
        assert view is None or len(view.queue) <= 20

    @rule(chat=chats, key=st.sampled_from("ab"), same=st.booleans())
    def send_once(self, chat: ChatId, key: str, same: bool) -> None:
        """The same key again is answered as before and does nothing; with another body it is refused."""
        known = self.answered.get(key)
        if known and self.driver.clock.now() >= known[2] + ONE_DAY:
            known = None
        command = known[0] if known and same else Send(parts=self._words(), created_by=OWNER)
        once = Once(
            user_id=OWNER,
            method="POST",
            path="/messages",
            key=f"{self.driver.started}-{key}",
            fingerprint=repr(command.parts),
            respond=lambda applied: (202, repr(applied.change.answer).encode()),
        )
        answer = self.driver.ask(chat, command, once=once)
        if isinstance(answer, Applied):
            self.answered[key] = (command, answer, self.driver.clock.now())
        elif isinstance(answer, Replayed):
            assert known is not None
            assert command is known[0]
            assert answer == Replayed(202, repr(known[1].change.answer).encode())

    @rule(chat=chats, pick=picks)
    def promote(self, chat: ChatId, pick: int) -> None:
        chat, item_id = self._item(chat, pick)
        self.driver.ask(chat, Promote(item_id=item_id))

    @rule(chat=chats, pick=picks, position=st.integers(min_value=-1, max_value=4))
    def move(self, chat: ChatId, pick: int, position: int) -> None:
        chat, item_id = self._item(chat, pick)
        self.driver.ask(chat, MoveQueued(item_id=item_id, position=position))

    @rule(chat=chats, pick=picks, token=tokens)
    def edit_queued(self, chat: ChatId, pick: int, token: str) -> None:
        chat, item_id = self._item(chat, pick)
        held_by = self._token(chat, item_id, token)
        self.driver.ask(chat, EditQueued(item_id=item_id, parts=self._words(), hold_token=held_by))

    @rule(chat=chats, pick=picks, token=tokens)
    def hold(self, chat: ChatId, pick: int, token: str) -> None:
        chat, item_id = self._item(chat, pick)
        self.driver.ask(chat, HoldQueued(item_id=item_id, hold_token=self._token(chat, item_id, token)))

    @rule(chat=chats, pick=picks, token=tokens)
    def release(self, chat: ChatId, pick: int, token: str) -> None:
        chat, item_id = self._item(chat, pick)
        self.driver.ask(chat, ReleaseQueued(item_id=item_id, hold_token=self._token(chat, item_id, token)))

    @rule(chat=chats, pick=picks)
    def delete_queued(self, chat: ChatId, pick: int) -> None:
        chat, item_id = self._item(chat, pick)
        self.driver.ask(chat, DeleteQueued(item_id=item_id))

    @rule(chat=chats, command=st.sampled_from(PLAIN))
    def ask(self, chat: ChatId, command: Command) -> None:
        self.driver.ask(chat, command)

    @rule(chat=chats, pick=picks)
    def edit(self, chat: ChatId, pick: int) -> None:
        messages = [message for (of, _), message in self.driver.pure.messages.items() if of == chat]
        of_users = [message for message in messages if message.role == "user" and not message.removed]
        chosen = of_users if pick % 5 else messages
        message_id = chosen[pick % len(chosen)].id if chosen else MessageId(numbered(1))
        self.driver.ask(chat, Edit(message_id=message_id, parts=self._words(), created_by=OWNER))

    @rule(chat=chats, really=st.integers(min_value=0, max_value=3))
    def delete(self, chat: ChatId, really: int) -> None:
        if really == 3:
            self.driver.ask(chat, Delete())

    @rule(chat=chats, pick=picks, every=st.booleans(), is_error=st.booleans())
    def submit_results(self, chat: ChatId, pick: int, every: bool, is_error: bool) -> None:
        chat, asked = self._asked(chat)
        asked = asked or [CallId("unknown")]
        chosen = asked if every else [asked[pick % len(asked)]]
        results = tuple(
            CallResult(call_id=call_id, output=self._marker(), is_error=is_error) for call_id in chosen
        )
        self.driver.ask(chat, SubmitResults(results=results))

    @rule(chat=chats, pick=picks, verdict=st.sampled_from(VERDICTS))
    def decide(self, chat: ChatId, pick: int, verdict: Verdict) -> None:
        chat, asked = self._asked(chat)
        known = [call_id for of, call_id in self.driver.pure.calls if of == chat]
        chosen = (asked if pick % 5 else known) or [CallId("unknown")]
        call_id = chosen[pick % len(chosen)]
        self.driver.ask(chat, Decide(call_id=call_id, verdict=verdict, user_id=OWNER, note=self._marker()))

    # --- the server ---

    @rule(chat=chats, key=st.sampled_from("xyz"), wake=st.booleans())
    def notify(self, chat: ChatId, key: str, wake: bool) -> None:
        command = Notify(source="person", key=key, text=self._marker(), wake=wake)
        self.driver.ask(chat, command)
        # Once more is as good as once.
        again = self.driver.ask(chat, replace(command, text=self._marker()))
        if isinstance(again, Applied):
            assert again.change.is_empty

    @rule(pick=picks, wake=st.booleans())
    def hand_over(self, pick: int, wake: bool) -> None:
        """A child's end arrives at its parent as a notice."""
        ends = list(self.driver.pure.deliveries.items())
        if not ends:
            return
        key, (delivery, taken) = ends[pick % len(ends)]
        assert delivery.parent_id is not None
        command = Notify(
            source="agent",
            key=key.notice_key,
            text=f"{key.child_id} ended turn {key.turn}",
            wake=wake,
            delivery=key,
        )
        answer = self.driver.ask(delivery.parent_id, command)
        if isinstance(answer, Applied):
            assert answer.change.is_empty == taken

    @rule(jump=st.sampled_from(JUMPS))
    def clock_jumps(self, jump: float) -> None:
        self.driver.clock.advance(jump)

    # --- workers ---

    @rule(target=workers)
    def another_worker(self) -> WorkerId:
        return self.driver.register_worker()

    @rule(worker=workers, limit=st.integers(min_value=0, max_value=3), agents=st.integers(0, 3))
    def acquire(self, worker: WorkerId, limit: int, agents: int) -> None:
        for view in self.driver.acquire(worker, limit, agents):
            self.remembered[view.chat.id] = view

    @rule(worker=workers)
    def renew(self, worker: WorkerId) -> None:
        self.driver.renew(worker)

    @rule(worker=workers)
    def retire(self, worker: WorkerId) -> None:
        self.driver.retire(worker)

    @rule(worker=workers, seconds=st.sampled_from((8.0, 16.0)), taken_over=st.booleans())
    def crash(self, worker: WorkerId, seconds: float, taken_over: bool) -> None:
        """All others live on; with 16 seconds its lease is over."""
        for _ in range(2):
            self.driver.clock.advance(seconds / 2)
            for other in list(self.driver.pure.workers):
                if other != worker:
                    self.driver.renew(other)
        if taken_over:
            self.acquire(self.driver.register_worker(), 9, 9)

    @rule(chat=chats, steps=st.lists(picks, min_size=1, max_size=6), remembers=st.booleans())
    def work(self, chat: ChatId, steps: Sequence[int], remembers: bool) -> None:
        self._work(self._leased(chat), steps, remembers)

    @rule(chat=chats, steps=st.lists(picks, min_size=4, max_size=12))
    def work_on(self, chat: ChatId, steps: Sequence[int]) -> None:
        """A worker takes whatever is free, and gets a good way."""
        self.acquire(self.driver.register_worker(), 9, 9)
        self._work(chat, steps, remembers=True)

    def _work(self, chat: ChatId, steps: Sequence[int], remembers: bool) -> None:
        for pick in steps:
            view = self.driver.view(chat)
            if view is None or view.chat.lease is None:
                return
            commands = next_commands(view, pick, self._marker(), self._ends_for(chat, pick))
            fence = fence_of(view, whole=not isinstance(commands[0], FinishCall))
            seen = self.remembered.get(chat) if remembers else None
            answer = self.driver.ask(chat, *commands, fence=fence, view=seen)
            assert isinstance(answer, Applied), (commands, answer)
            if answer.view is not None and pick % 4:
                self.remembered[chat] = answer.view

    @rule(
        chat=chats,
        wrong=st.sampled_from(FENCED),
        pick=picks,
    )
    def work_too_late(self, chat: ChatId, wrong: str, pick: int) -> None:
        """A fence that no longer holds in one thing is enough."""
        view = self.driver.view(chat)
        if view is None:
            return
        fence = fence_of(view)
        match wrong:
            case "lease_number":
                fence = replace(fence, lease_number=fence.lease_number - 1)
            case "history_version":
                fence = replace(fence, history_version=view.chat.history_version - 1)
            case "status":
                fence = replace(fence, status="interrupting" if fence.status == "running" else "running")
            case _:
                fence = replace(fence, attempt=view.chat.attempt + 1)
        commands = next_commands(view, pick, self._marker())
        answer = self.driver.ask(chat, *commands, fence=fence, view=self.remembered.get(chat))
        assert isinstance(answer, Refusal)
        assert answer.code == "stale"

    @rule(chat=chats, command=st.sampled_from(AT_WILL))
    def work_at_will(self, chat: ChatId, command: Command) -> None:
        view = self.driver.view(chat)
        if view is not None and view.chat.lease is not None:
            self.driver.ask(chat, command, fence=fence_of(view))

    @rule(chat=chats, pick=picks)
    def finish_too_late(self, chat: ChatId, pick: int) -> None:
        """The end of a call that was answered, or runs under another number, is refused."""
        calls = [call for (of, _), call in self.driver.pure.calls.items() if of == chat]
        view = self.driver.view(chat)
        if not calls or view is None:
            return
        call = calls[pick % len(calls)]
        run = call.run if call.state != "started" else call.run + 1
        command = FinishCall(call_id=call.call_id, run=run, outcome="succeeded", output="late")
        answer = self.driver.ask(chat, command, fence=fence_of(view, whole=False))
        assert isinstance(answer, Refusal)

    # --- the way to a situation: chance alone seldom gets there ---

    @rule(chat=chats, goal=st.sampled_from(GOALS), queued=st.integers(min_value=0, max_value=2), pick=picks)
    def reach(self, chat: ChatId, goal: str, queued: int, pick: int) -> None:
        self._reach(chat, goal, queued, pick)

    @rule(moves=st.lists(moves, min_size=1, max_size=25))
    def live_on(self, moves: Sequence[tuple[str, int]]) -> None:
        """Many steps at once, on whatever chats there are: far quicker than one rule at a time."""
        for move, number in moves:
            known = list(self.driver.pure.chats)
            if not known:
                return
            chat, pick = known[number % len(known)], number // len(known)
            if move in GOALS:
                self._reach(chat, move, pick % 3, pick // 3)
            else:
                self._move(chat, move, pick)

    def _reach(self, chat: ChatId, goal: str, queued: int, pick: int) -> None:
        if self._run(chat) is None:
            return
        for _ in range(queued):
            self.send(chat, ("queue", "steer")[pick % 2])
        match goal:
            case "calls":
                self._own(chat, *answer(self._marker(), TOOLS[pick % 4 :][:3], start=True))
            case "action":
                asks = TOOLS[4 + pick % 4 :][: 1 + pick // 4 % 2]
                self._own(chat, *answer(self._marker(), asks))
                self._own(chat, RequireAction())
            case "uncertain":
                self._own(chat, *answer(self._marker(), TOOLS[pick % 2 :][:2], start=True))
                self.crash(self._owner(chat), 16.0, taken_over=True)
                self._work(chat, (pick, pick + 1), remembers=False)
            case "held":
                self.send(chat, "queue")
                for item in view.queue[: 1 + pick % 2] if (view := self.driver.view(chat)) else ():
                    self.driver.ask(chat, HoldQueued(item_id=item.id))
                self._own(chat, FinishTurn())
            case "interrupting":
                if pick % 2:
                    self._own(chat, *answer(self._marker(), TOOLS[pick % 4 :][:3], start=True))
                self.driver.ask(chat, Interrupt())
            case "error":
                self._own(chat, FailTurn(failure=BROKEN))
            case "compaction":
                self._own(chat, FailTurn(failure=BROKEN))
                self.driver.ask(chat, Compact())
            case "archived":
                self.driver.ask(chat, Stop())
                self._own(chat, FinishInterrupt() if pick % 2 else FailTurn(failure=BROKEN))
                self.driver.ask(chat, Archive())
            case _:
                self._own(chat, FinishTurn())

    def _move(self, chat: ChatId, move: str, pick: int) -> None:
        match move:
            case "queue" | "steer" | "interrupt":
                self.send(chat, move)
            case "promote":
                self.promote(chat, pick)
            case "move":
                self.move(chat, pick, pick % 3)
            case "edit_queued":
                self.edit_queued(chat, pick, "right")
            case "hold":
                self.hold(chat, pick, "right")
            case "release":
                self.release(chat, pick, "right")
            case "delete_queued":
                self.delete_queued(chat, pick)
            case "submit":
                self.submit_results(chat, pick, every=pick % 2 == 0, is_error=pick % 3 == 0)
            case "decide":
                self.decide(chat, pick, VERDICTS[pick % len(VERDICTS)])
            case "edit":
                self.edit(chat, pick)
            case "lapse":
                self.clock_jumps(121)
                self.driver.ask(chat, LapseHolds())
            case "expire":
                self.clock_jumps(301)
                self.driver.ask(chat, ExpireCalls())
            case "notify":
                self.notify(chat, "xyz"[pick % 3], wake=pick % 2 == 0)
            case "work":
                self._work(chat, (pick, pick + 7, pick // 3), remembers=pick % 2 == 0)
            case "work_on":
                self.work_on(chat, (pick, pick // 2, pick // 3, pick + 1, pick + 2))
            case "too_late":
                self.work_too_late(chat, FENCED[pick % 4], pick)
            case "at_will":
                self.work_at_will(chat, AT_WILL[pick % len(AT_WILL)])
            case "spawn":
                self.spawn(chat, pick)
            case "fork":
                self.fork(chat, pick)
            case "hand_over":
                self.hand_over(pick, wake=pick % 2 == 0)
            case "crash":
                self.crash(self._owner(chat), 16.0, taken_over=pick % 2 == 0)
            case "jump":
                self.clock_jumps(JUMPS[pick % len(JUMPS)])
            case "delete":
                self.delete(chat, pick % 4)
            case _:
                self.driver.ask(chat, PLAIN[pick % len(PLAIN)])

    def _run(self, chat: ChatId) -> View | None:
        """The chat begins a turn under a live lease, if it is not archived or gone."""
        for command in (
            Unarchive(),
            Stop(),
            LapseHolds(),
            Send(parts=self._words(), busy="interrupt", created_by=OWNER),
        ):
            self.driver.ask(chat, command)
        self.crash(self._owner(chat), 16.0, taken_over=True)
        self._own(chat, FinishInterrupt())
        view = self.driver.view(chat)
        if view is None or view.chat.lease is None:
            return None
        self._own(chat, BeginAttempt())
        return self.driver.view(chat)

    def _own(self, chat: ChatId, *commands: Command) -> None:
        """Its owner asks, if it has one."""
        view = self.driver.view(chat)
        if view is not None and view.chat.lease is not None:
            self.driver.ask(chat, *commands, fence=fence_of(view))

    def _owner(self, chat: ChatId) -> WorkerId:
        view = self.driver.view(chat)
        lease = view.chat.lease if view else None
        return lease.worker_id if lease else WorkerId("nobody")

    # --- what there is ---

    def _marker(self) -> str:
        return f"m{self.driver.number}"

    def _words(self) -> Parts:
        return text(self._marker())

    def _new_id(self) -> ChatId:
        return ChatId(numbered(self.driver.number << 16))

    def _item(self, chat: ChatId, pick: int) -> tuple[ChatId, QueueItemId]:
        """An item that waits, in another chat if none does in this one; or one that did once."""
        pure = self.driver.pure
        waiting = [key for key in pure.queue if key[0] == chat] or list(pure.queue)
        if waiting and pick % 5:
            return waiting[pick % len(waiting)]
        sent = [m.queue_item_id for (of, _), m in pure.messages.items() if of == chat and m.queue_item_id]
        return chat, sent[pick % len(sent)] if sent else QueueItemId(numbered(1))

    def _token(self, chat: ChatId, item_id: QueueItemId, which: str) -> str | None:
        item = self.driver.pure.queue.get((chat, item_id))
        right = item.hold_token if item else None
        return {"right": right, "none": None}.get(which, "wrong")

    def _asked(self, chat: ChatId) -> tuple[ChatId, list[CallId]]:
        """Calls that wait for somebody, in another chat if none does in this one."""
        waiting = [key for key, call in self.driver.pure.calls.items() if call.state == "waiting"]
        chosen = next((of for of, _ in waiting if of == chat), waiting[0][0] if waiting else chat)
        return chosen, [call_id for of, call_id in waiting if of == chosen]

    def _leased(self, chat: ChatId) -> ChatId:
        """This chat if a worker owns it, else one that is owned."""
        owned = [each.id for each in self.driver.pure.chats.values() if each.lease is not None]
        return chat if chat in owned or not owned else owned[0]

    def _ends_for(self, chat: ChatId, pick: int) -> tuple[DeliveryKey, ...]:
        """Ends of children that a call may hand over."""
        if pick % 3:
            return ()
        ends = self.driver.pure.deliveries.items()
        # Also one that was handed over before; its notice may still wait.
        return tuple(key for key, (end, taken) in ends if end.parent_id == chat and not (taken and pick % 2))


def test_the_pure_machine() -> None:
    run_state_machine_as_test(Family, settings=settings(stateful_step_count=30))


@settings(max_examples=60)
@given(life=st.lists(moves, min_size=80, max_size=200))
def test_long_lives(life: list[tuple[str, int]]) -> None:
    """Fewer kinds of steps than the rules know, but many more of them."""
    family = Family()
    family.first_chat()
    family.live_on(life)
    family.teardown()


@pytest.mark.slow
def test_the_pure_machine_for_long() -> None:
    run_state_machine_as_test(Family, settings=settings(max_examples=5_000, stateful_step_count=60))


@pytest.mark.slow
@settings(max_examples=3_000)
@given(life=st.lists(moves, min_size=150, max_size=400))
def test_very_long_lives(life: list[tuple[str, int]]) -> None:
    family = Family()
    family.first_chat()
    family.live_on(life)
    family.teardown()
