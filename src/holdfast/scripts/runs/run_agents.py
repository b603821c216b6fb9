"""The agents of a run that wait for a free slot, work or have just ended. Decisions go into the journal;
chats are started and stopped only after it was written."""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from holdfast.chats.change import Refusal
from holdfast.chats.start import NewAgent
from holdfast.core.clock import Clock
from holdfast.core.ids import ChatId, Ids
from holdfast.core.runs import CallError, Ended, Run
from holdfast.core.usage import Usage
from holdfast.duties.persistence import persist
from holdfast.scripts.engines.messages import AgentCall
from holdfast.scripts.engines.script_calls import BUDGET_SPENT
from holdfast.scripts.journal import Place
from holdfast.scripts.runs.agent_chats import AgentChats
from holdfast.scripts.runs.ends import SKIPPED, CallFinished, KeepWaiting, Remind, meaning, name_of
from holdfast.scripts.runs.run_journal import RunJournal
from holdfast.scripts.runs.settings import RunSettings
from holdfast.store import agent_ends
from holdfast.store.agent_ends import AgentEnd
from holdfast.store.interface import Store
from holdfast.store.query import constant
from holdfast.worker.agent_starts import AgentStarts

# How long an agent whose sub-agents have ended may take to be told, before its last answer counts.
HEARING_SECONDS = 10.0
NOTHING_LEFT = CallError(kind="budget", message=BUDGET_SPENT)


class RunAgents:
    def __init__(
        self,
        run: Run,
        journal: RunJournal,
        *,
        store: Store,
        chats: AgentChats,
        agent_starts: AgentStarts,
        settings: RunSettings,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._run = run
        self._journal = journal
        self._store = store
        self._chats = chats
        self._agent_starts = agent_starts
        self._settings = settings
        self._clock = clock
        self._ids = ids
        self._at_once = min(run.max_concurrency or settings.max_concurrency, settings.max_concurrency)
        self._calls: dict[Place, AgentCall] = {}
        self._waiting: deque[Place] = deque()
        self._working: dict[ChatId, Place] = {}
        # Started, but not known to exist; and whether they may exist already.
        self._to_begin: dict[Place, bool] = {}
        # Calls that have ended because their agents could not be started.
        self._failed: list[Place] = []
        self._to_stop: list[ChatId] = []
        self._to_remind: list[ChatId] = []
        # Those that wait for a person, as far as is known.
        self._asking: frozenset[ChatId] = frozenset()
        # Those that will be woken by the ends of their sub-agents, and since when nothing has happened.
        self._holding: dict[ChatId, tuple[AgentEnd, datetime | None]] = {}

    # --- decisions, put into the journal ---

    def engage(self, place: Place, call: AgentCall) -> None:
        """A call that has not ended: a new one waits for a slot, one that was started continues."""
        self._calls[place] = call
        row = self._journal.row(place)
        if row.started_at is None:
            self._waiting.append(place)
        else:
            assert row.chat_id is not None
            self._working[row.chat_id] = place
            self._to_begin[place] = True

    @property
    def admits(self) -> bool:
        """Whether somebody waits while a slot is free."""
        return bool(self._waiting) and (len(self._working) < self._at_once or self._journal.budget_is_spent)

    @property
    def must_act(self) -> bool:
        return bool(self._to_begin or self._to_stop or self._to_remind)

    def admit(self) -> list[Place]:
        """Gives free slots to those who wait. Once the budget is spent there are none, and those who wait are
        told."""
        now = self._clock.now()
        if self._waiting and self._journal.budget_is_spent:
            refused = [place for place in self._waiting if self._is_open(place)]
            self._waiting.clear()
            for place in refused:
                self._leave(place, Ended(outcome="failed", error=NOTHING_LEFT))
            return refused
        while self._waiting and len(self._working) < self._at_once:
            place = self._waiting.popleft()
            if not self._is_open(place):
                continue  # nobody waits for it any more
            chat_id = ChatId(self._ids.uuid7(now))
            self._journal.started(place, now, chat_id=chat_id)
            self._working[chat_id] = place
            self._to_begin[place] = False
        return []

    def expire(self) -> list[Place]:
        """Agents that took too long."""
        now = self._clock.now()
        late = [place for place in self._working.values() if self._deadline(place) <= now]
        for place in late:
            seconds = self._seconds(place)
            self._journal.say(
                "warning",
                f"{name_of(self._calls[place])} took longer than {seconds:g} s and was stopped.",
                now,
            )
            self._leave(place, Ended(outcome="failed"))
        return late

    def dismiss(self, places: Iterable[Place]) -> list[Place]:
        """Those of these agents that have not ended, and that nobody waits for any more."""
        dismissed = [place for place in places if place in self._calls and self._is_open(place)]
        for place in dismissed:
            self._leave(place, SKIPPED)
        return dismissed

    @property
    def next_deadline(self) -> datetime | None:
        return min((self._deadline(place) for place in self._working.values()), default=None)

    def knows(self, chat_id: ChatId) -> bool:
        return chat_id in self._working

    def _is_open(self, place: Place) -> bool:
        return self._journal.row(place).outcome is None

    def _seconds(self, place: Place) -> float:
        most = self._settings.agent_seconds
        return min(self._calls[place].options.timeout or most, most)

    def _deadline(self, place: Place) -> datetime:
        started_at = self._journal.row(place).started_at
        assert started_at is not None
        return started_at + timedelta(seconds=self._seconds(place))

    def _leave(self, place: Place, ended: Ended, usage: Usage | None = None) -> None:
        chat_id = self._journal.row(place).chat_id
        self._journal.ended(place, ended, self._clock.now(), usage)
        self._to_begin.pop(place, None)
        if chat_id is not None:
            self._working.pop(chat_id, None)
            self._holding.pop(chat_id, None)
            if usage is None:
                self._to_stop.append(chat_id)

    async def recruits(self) -> list[NewAgent]:
        """Agents that are created by the write that names them: all but those that need their own worktree
        first, or may exist already."""
        plain = [
            place
            for place, again in self._to_begin.items()
            if not again and self._calls[place].options.isolation is None
        ]
        found = [await self._prepare(place) for place in plain]
        for place in plain:
            self._to_begin.pop(place, None)
        return [agent for agent in found if agent is not None]

    async def _prepare(self, place: Place) -> NewAgent | None:
        """None: it cannot be started, and its call has ended."""
        chat_id = self._journal.row(place).chat_id
        assert chat_id is not None
        call = self._calls[place]
        prepared = await persist(lambda: self._chats.prepare(self._run, call, chat_id))
        for remark in prepared.remarks:
            self._journal.say("warning", remark, self._clock.now())
        if prepared.error is not None:
            self._never_begun(place, prepared.error)
        return prepared.agent

    def refused(self, agents: Sequence[NewAgent], refusals: Sequence[Refusal | None]) -> None:
        """The result of creating agents: one that existed already was created by a previous owner of the
        run."""
        for agent, refusal in zip(agents, refusals, strict=True):
            place = self._working.get(agent.chat_id)
            if refusal is not None and refusal.code != "wrong_state" and place is not None:
                self._never_begun(place, CallError(kind="failed", message=f"agent(): {refusal.text}"))

    def _never_begun(self, place: Place, error: CallError) -> None:
        chat_id = self._journal.row(place).chat_id
        assert chat_id is not None
        del self._working[chat_id]
        self._journal.never_made(place)
        self._leave(place, Ended(outcome="failed", error=error))
        self._failed.append(place)

    # --- effects, after the journal was written ---

    async def act(self) -> list[Place]:
        """Starts, stops and reminds; returns the calls that have ended without an agent."""
        begin, self._to_begin = self._to_begin, {}
        stop, self._to_stop = self._to_stop, []
        remind, self._to_remind = self._to_remind, []
        await asyncio.gather(*(self._begin(place, again) for place, again in begin.items()))
        for chat_id in stop:
            await persist(lambda chat_id=chat_id: self._chats.stop(chat_id))
        for chat_id in remind:
            await persist(lambda chat_id=chat_id: self._chats.remind(self._run, chat_id))
        failed, self._failed = self._failed, []
        return failed

    async def _begin(self, place: Place, again: bool) -> None:
        chat_id = self._journal.row(place).chat_id
        assert chat_id is not None
        if again and await persist(lambda: self._chats.exists(chat_id)):
            return
        agent = await self._prepare(place)
        if agent is not None:
            _, refusals = await persist(lambda: self._agent_starts.make((agent,), constant(None)))
            self.refused((agent,), refusals)

    async def collect(self) -> list[Place]:
        """What has ended meanwhile: the calls that ended with it."""
        run_id = self._run.id
        found = await persist(lambda: self._store.read(agent_ends.ends_alone(run_id)))
        if found is None:
            found = await persist(lambda: self._store.read(agent_ends.ends(run_id)))
        ended = [place for end in found if (place := await self._settle(end)) is not None]
        return [*ended, *await self._release()]

    async def look_for_people(self) -> None:
        """Who waits for a person now, and who no longer does: watchers of the run are told."""
        found = await persist(lambda: self._store.read(agent_ends.asking(self._run.id)))
        before, self._asking = self._asking, found & self._working.keys()
        for chat_id in before ^ self._asking:
            if (place := self._working.get(chat_id)) is not None:
                self._journal.touch(place)

    def asks(self, chat_id: ChatId) -> bool:
        """Whether this agent was last seen waiting for a person."""
        return chat_id in self._asking

    async def _settle(self, end: AgentEnd) -> Place | None:
        chat_id = end.key.child_id
        self._journal.take(end.key)
        place = self._working.get(chat_id)
        if place is None:
            self._journal.paid(chat_id, end.usage)
            return None  # stopped, or nobody waits for it
        call = self._calls[place]
        answers = () if call.options.schema is None else await persist(lambda: self._chats.answers(chat_id))
        match meaning(call, end, answers):
            case CallFinished(ended=ended, remark=remark):
                await self._part(place, end, ended, remark)
                return place
            case Remind():
                self._holding.pop(chat_id, None)
                self._to_remind.append(chat_id)
            case KeepWaiting():
                self._holding[chat_id] = (end, None)
        return None

    async def _part(self, place: Place, end: AgentEnd, ended: Ended, remark: str | None) -> None:
        now, call = self._clock.now(), self._calls[place]
        if remark is not None:
            self._journal.say("warning", remark, now)
        if call.options.isolation is not None and (left := await self._chats.put_away(end.key.child_id)):
            self._journal.say("log", f"{name_of(call)}: {left}", now)
        self._to_stop += end.busy_below
        self._leave(place, ended, end.usage)

    async def _release(self) -> list[Place]:
        """Those whose sub-agents have all ended and who were not woken by it."""
        if not self._holding:
            return []
        at_rest = await persist(lambda: self._store.read(agent_ends.at_rest(tuple(self._holding))))
        now = self._clock.now()
        released: list[Place] = []
        for chat_id, (end, since) in list(self._holding.items()):
            if chat_id not in at_rest:
                self._holding[chat_id] = (end, None)
            elif since is None:
                self._holding[chat_id] = (end, now)
            elif now - since >= timedelta(seconds=HEARING_SECONDS):
                place = self._working[chat_id]
                await self._part(place, end, Ended(outcome="succeeded", value=end.said), None)
                released.append(place)
        return released
