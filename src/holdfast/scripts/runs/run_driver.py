"""Drives one run under its lease. Everything happens in pulses: the script is given what has ended, one
answer at a time; its requests are written together with those answers; only then they are acted upon. So a
run that is taken over replays what was written and has missed nothing."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

import msgspec
import structlog
from msgspec.structs import replace

from holdfast.core.chats import Status
from holdfast.core.clock import Clock, SteadyClock
from holdfast.core.errors import BadScript, Contradiction, HoldfastError, StoreClosed, TryAgain
from holdfast.core.ids import ChatId, Ids
from holdfast.core.runs import CallError, Ended, PinnedScript, Run, RunCall, RunError
from holdfast.core.shapes import Json
from holdfast.core.shortage import is_shortage
from holdfast.duties.persistence import persist
from holdfast.scripts.engines.messages import (
    AgentCall,
    Call,
    PauseCall,
    PhaseBegun,
    ScriptDone,
    ScriptFailed,
    ScriptLog,
    ScriptStart,
    ScriptTurn,
    ScriptWaiting,
    Stop,
    Warned,
    WorkflowCall,
)
from holdfast.scripts.journal import MAIN, Place, Scope, unawaited
from holdfast.scripts.runs.agent_chats import AgentChats
from holdfast.scripts.runs.library import Library
from holdfast.scripts.runs.reuse import is_as_left, reads_workspace
from holdfast.scripts.runs.run_agents import NOTHING_LEFT, RunAgents
from holdfast.scripts.runs.run_journal import RunJournal
from holdfast.scripts.runs.run_start import check_args
from holdfast.scripts.runs.sandboxes import Sandboxes, ScriptSandboxes
from holdfast.scripts.runs.settings import RunSettings
from holdfast.scripts.source import Script
from holdfast.store import journals, runs
from holdfast.store.interface import Store
from holdfast.store.journals import Ending, LeaseLost
from holdfast.store.query import constant
from holdfast.worker.agent_starts import AgentStarts

log = structlog.get_logger(__name__)

# How much later people may see a script's output.
SOON_SECONDS = 0.02


@dataclass(frozen=True, kw_only=True)
class RunResources:
    """What runs are driven with."""

    store: Store
    clock: Clock
    ids: Ids
    agent_chats: AgentChats
    library: Library
    sandboxes: Sandboxes
    settings: Callable[[], RunSettings]


class RunDriver:
    def __init__(self, run: Run, resources: RunResources, agent_starts: AgentStarts) -> None:
        self.run = run
        self._resources = resources
        self._agent_starts = agent_starts
        # Deadlines and pauses are measured by this clock only: a jump of the wall clock must not end an
        # agent.
        self._clock: Clock = SteadyClock(resources.clock)
        self._settings = resources.settings()
        self._sandboxes = ScriptSandboxes(resources.sandboxes)
        self._journal = RunJournal(run, cap=self._settings.budget)
        self._agents = self._new_agents()
        # Calls that have ended, but whose script has not been told.
        self._ready: deque[Place] = deque()
        self._pauses: dict[Place, datetime] = {}
        # Whether the workspace is as the run whose answers are reused left it.
        self._is_as_left = False
        # What the scripts were last told about the budget.
        self._told_spent = 0
        self._stop: ScriptDone | ScriptFailed | None = None
        self._awake = asyncio.Event()
        # Some may have ended while nobody looked.
        self._awake.set()
        # Whether an agent may have started or stopped waiting for a person.
        self._look_for_people = True
        # What we have written ourselves.
        self.version = run.version

    def wake(self) -> None:
        """Something may have ended."""
        self._awake.set()

    def hear(self, chat_id: ChatId, status: Status | None) -> None:
        """A chat moved, perhaps one of ours."""
        if not self._agents.knows(chat_id):
            return
        if status == "requires_action" or self._agents.asks(chat_id):
            self._look_for_people = True
            self.wake()
        elif status not in ("running", "interrupting"):
            self.wake()

    async def drive(self) -> None:
        """Until the run is over, or no longer ours. If cancelled, it leaves everything to the next owner."""
        try:
            try:
                await self._drive()
            except Contradiction as error:
                self._stop = ScriptFailed(kind="contradiction", message=error.text)
                await self._end()
            except BadScript as error:
                # It could be read once, perhaps by another release.
                self._stop = ScriptFailed(kind="thrown", message=error.text, line=error.line)
                await self._end()
            except (StoreClosed, LeaseLost):
                raise
            except Exception as error:
                if isinstance(error, TryAgain) or is_shortage(error):
                    # It is let go, and taken again in a moment.
                    raise
                log.exception("run failed", run_id=self.run.id)
                text = error.text if isinstance(error, HoldfastError) else type(error).__name__
                self._stop = ScriptFailed(
                    kind="broken", message=f"The run failed because of a fault in Holdfast: {text}"
                )
                await self._end()
        except (StoreClosed, LeaseLost) as error:
            log.info("run let go", run_id=self.run.id, reason=error.text)
        finally:
            await self._sandboxes.close_all()

    async def set_aside(self, reason: str) -> None:
        """The run fails; its script is not run again."""
        try:
            await self._open_journal()
            self._stop = ScriptFailed(kind="broken", message=reason)
            await self._end()
        except (StoreClosed, LeaseLost) as error:
            log.info("run let go", run_id=self.run.id, reason=error.text)

    # --- pulses ---

    async def _drive(self) -> None:
        await self._open_journal()
        await self._replay()
        while True:
            if self._ready and self._agents.admits:
                # Free slots are reused before the script is told who left them: it has no say in that, and
                # takes its time.
                await self._act()
            while self._ready and self._stop is None:
                await self._deliver()
            if self._stop is not None:
                break
            wanted = self._agents.must_act or self._agents.admits
            if wanted or not (self._ready or await self._woken_soon()):
                await self._act()
            if not self._ready:
                await self._rest()
                self._ready += await self._agents.collect()
                if self._look_for_people:
                    self._look_for_people = False
                    await self._agents.look_for_people()
                self._pass_time()
        await self._end()

    async def _act(self) -> None:
        self._ready += self._agents.admit()
        await self._write()
        self._ready += await self._agents.act()

    async def _open_journal(self) -> None:
        store, run = self._resources.store, self.run
        lender = run.resumed_from
        borrowed = constant(()) if run.resumed_from is None else journals.lent(run.resumed_from)
        first = run.version == journals.TAKEN_FIRST
        calls, lines, lent, other = await persist(
            lambda: store.read(
                constant(()) if first else journals.calls(run.id),
                constant(()) if first else journals.lines(run.id),
                borrowed,
                constant(None) if lender is None else runs.run(lender),
            )
        )
        self._journal = RunJournal(run, calls, lines, lent, cap=self._settings.budget)
        self._is_as_left = other is not None and is_as_left(run, other)
        if run.reuse is not None and not (calls or lines):
            self._journal.say("log", run.reuse, self._clock.now())
        self._agents = self._new_agents()

    def _new_agents(self) -> RunAgents:
        resources = self._resources
        return RunAgents(
            self.run,
            self._journal,
            store=resources.store,
            chats=resources.agent_chats,
            agent_starts=self._agent_starts,
            settings=self._settings,
            clock=self._clock,
            ids=resources.ids,
        )

    async def _replay(self) -> None:
        """Runs the script up to where its journal ends."""
        script = await self._read(PinnedScript(language=self.run.language, text=self.run.script))
        await self._perform(MAIN, script, self.run.args)
        recorded = self._journal.recorded_deliveries()
        for scope, group in groupby(recorded, key=lambda delivery: delivery.scope):
            answers = [delivery.answer for delivery in group]
            if scope not in self._sandboxes:
                break  # found out below
            turns = await self._sandboxes.answer(scope, answers)
            for answer, turn in zip(answers, turns, strict=False):
                self._told_spent = answer.spent
                await self._hear(scope, turn)
        self._journal.check_replayed()

    async def _deliver(self) -> None:
        """The next answers for one script, as many as directly follow each other."""
        scope = self._ready[0][0]
        places: list[Place] = []
        while self._ready and self._ready[0][0] == scope:
            places.append(self._ready.popleft())
        if scope not in self._sandboxes:
            return  # that script has ended without waiting for them
        answers = [self._journal.answer(place) for place in places]
        turns = await self._sandboxes.answer(scope, answers)
        for place, answer, turn in zip(places, answers, turns, strict=False):
            self._journal.delivered(place, answer)
            self._told_spent = answer.spent
            await self._hear(scope, turn)

    async def _write(self, ending: Ending | None = None) -> None:
        agents = await self._agents.recruits()
        entries = self._journal.unwritten(ending)
        if entries is None:
            return
        record = journals.record(self.run.id, self.run.lease_number, entries)
        self.version, refusals = await persist(lambda: self._agent_starts.make(agents, record))
        self._agents.refused(agents, refusals)

    async def _woken_soon(self) -> bool:
        """Whether more has ended right away, so that the script's output is written together with that: it
        asked for nothing, and waits."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SOON_SECONDS):
                await self._awake.wait()
        return self._awake.is_set()

    async def _rest(self) -> None:
        """Until something may have ended, or something is due."""
        due = [
            moment
            for moment in (*self._pauses.values(), self._agents.next_deadline, self._deadline)
            if moment
        ]
        left = (min(due) - self._clock.now()).total_seconds() if due else self._settings.poll_seconds
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0, min(left, self._settings.poll_seconds))):
                await self._awake.wait()
        # No hint for this long: one may have been lost, or an agent below ours waits for a person.
        self._look_for_people = self._look_for_people or not self._awake.is_set()
        self._awake.clear()

    def _pass_time(self) -> None:
        now = self._clock.now()
        if self._deadline is not None and self._deadline <= now:
            seconds = self._settings.run_seconds
            self._stop = ScriptFailed(kind="time", message=f"The run took longer than {seconds:g} seconds.")
            return
        self._ready += self._agents.expire()
        # By the time they were due, however late it is noticed: that is the order timers fire in.
        for _, place in sorted((due, place) for place, due in self._pauses.items() if due <= now):
            del self._pauses[place]
            self._over(place, Ended(outcome="succeeded"))

    @property
    def _deadline(self) -> datetime | None:
        seconds = self._settings.run_seconds
        if not seconds or self.run.started_at is None:
            return None
        return self.run.started_at + timedelta(seconds=seconds)

    # --- requests of scripts ---

    async def _perform(self, scope: Scope, script: Script, args: Json | msgspec.UnsetType) -> None:
        start = ScriptStart(
            language=script.language,
            program=script.program,
            args=args,
            budget_total=self.run.budget.tokens,
            budget_spent=self._told_spent,
            nested=scope != MAIN,
            limits=self._settings.limits,
        )
        for warning in script.warnings:
            self._journal.script_said(scope, "warning", warning, self._clock.now())
        await self._hear(scope, await self._sandboxes.start(scope, start))

    async def _hear(self, scope: Scope, turn: ScriptTurn) -> None:
        for said in turn.said:
            match said:
                case ScriptLog(text=text):
                    self._journal.script_said(scope, "log", text, self._clock.now())
                case Warned(text=text):
                    self._journal.script_said(scope, "warning", text, self._clock.now())
                case PhaseBegun(title=title):
                    self._journal.script_said(scope, "phase", title, self._clock.now())
                case _:
                    await self._made(scope, said)
        await self._stopped(scope, turn.stop)

    async def _made(self, scope: Scope, call: Call) -> None:
        place = scope, call.number
        if isinstance(call, AgentCall):
            call = self._completed(call)
        is_new = not self._journal.has(place)
        lends = self._is_as_left or not (isinstance(call, AgentCall) and reads_workspace(self.run, call))
        row = self._journal.made(scope, call, self._clock.now(), lends=lends)
        if row.delivery is not None:
            return
        if row.outcome is not None:
            self._ready.append(place)
        elif is_new and (error := self._objection(call)) is not None:
            self._over(place, Ended(outcome="failed", error=error))
        else:
            match call:
                case AgentCall():
                    self._agents.engage(place, call)
                case PauseCall(seconds=seconds):
                    started_at = row.started_at or self._journal.started(place, self._clock.now()).started_at
                    assert started_at is not None
                    self._pauses[place] = started_at + timedelta(seconds=seconds)
                case WorkflowCall():
                    await self._nest(place, call)

    def _completed(self, call: AgentCall) -> AgentCall:
        """With the run's settings for all its agents, which also determine the answer."""
        options = call.options
        return replace(
            call,
            options=replace(
                options, model=options.model or self.run.model, effort=options.effort or self.run.effort
            ),
        )

    def _objection(self, call: Call) -> CallError | None:
        """Why a new call is not started: limits that all scripts of the run share."""
        if isinstance(call, PauseCall):
            return None
        if self._journal.budget_is_spent:
            return NOTHING_LEFT
        if not isinstance(call, AgentCall):
            return None
        most = self._settings.max_agents
        if self._journal.agents > most:
            return CallError(kind="refused", message=f"a run may start at most {most} agents")
        return self._resources.agent_chats.check(self.run, call)

    def _over(self, place: Place, ended: Ended) -> None:
        self._journal.ended(place, ended, self._clock.now())
        self._ready.append(place)

    # --- workflows inside ---

    async def _nest(self, place: Place, call: WorkflowCall) -> None:
        pinned = self._journal.row(place).script
        try:
            script = await self._find(call) if pinned is None else await self._read(pinned)
            check_args(script.meta, call.args)
        except (StoreClosed, TryAgain):
            raise
        except HoldfastError as error:
            self._over(place, Ended(outcome="failed", error=CallError(kind="failed", message=error.text)))
            return
        if pinned is None:
            pin = PinnedScript(language=script.language, text=script.text)
            self._journal.started(place, self._clock.now(), script=pin)
        await self._perform(call.number, script, call.args)

    async def _read(self, pinned: PinnedScript) -> Script:
        library = self._resources.library
        return await persist(lambda: library.read(pinned.text, pinned.language))

    async def _find(self, call: WorkflowCall) -> Script:
        library, run = self._resources.library, self.run
        if call.script_path is not None:
            return await library.read_at(call.script_path, run.workspace_id, run.owner_id)
        found = await library.find(call.name or "", run.workspace_id, run.owner_id)
        if found.script is None:
            raise BadScript(found.error or "The workflow cannot be read.")
        return found.script

    # --- ends ---

    async def _stopped(self, scope: Scope, stop: Stop) -> None:
        if isinstance(stop, ScriptWaiting):
            return
        await self._sandboxes.close(scope)
        if scope == MAIN:
            self._stop = stop
            return
        self._dismiss([entry for entry in self._journal.rows if entry.scope == scope])
        match stop:
            case ScriptDone(value=value):
                ended = Ended(outcome="succeeded", value=value)
            case ScriptFailed(kind="budget"):
                ended = Ended(outcome="failed", error=NOTHING_LEFT)
            case ScriptFailed(message=message):
                ended = Ended(outcome="failed", error=CallError(kind="failed", message=message))
        self._over((MAIN, scope), ended)

    def _dismiss(self, entries: Sequence[RunCall]) -> None:
        """Agents that are still working when the script ends are not waited for."""
        names = unawaited(entries)
        if names:
            self._journal.say(
                "warning", f"Nobody waited for: {', '.join(names)}. Cancelled.", self._clock.now()
            )
        self._agents.dismiss((entry.scope, entry.number) for entry in entries)
        for entry in entries:
            if self._journal.row((entry.scope, entry.number)).outcome is None:
                self._journal.ended(
                    (entry.scope, entry.number), Ended(outcome="cancelled"), self._clock.now()
                )

    async def _end(self) -> None:
        self._dismiss(self._journal.rows)
        self._say_reused()
        match self._stop:
            case ScriptDone(value=value):
                ending = Ending(status="succeeded", result=value)
            case ScriptFailed(message=message, line=line):
                ending = Ending(status="failed", error=RunError(message=message, line=line))
            case None:
                return
        await self._leave()
        await self._write(ending)
        await self._agents.act()

    async def _leave(self) -> None:
        """Records the state of the workspace, for a later run that may reuse this one."""
        store, run = self._resources.store, self.run
        if run.workspace_id is not None:
            state = await persist(lambda: self._resources.library.state(run.workspace_id, run.owner_id))
            await persist(lambda: store.write(runs.leave(run.id, state)))

    def _say_reused(self) -> None:
        # As people see them, who are not shown pauses.
        rows = [row for row in self._journal.rows if row.kind != "pause"]
        reused = sum(row.reused for row in rows)
        if reused:
            text = f"{reused} of {len(rows)} calls were reused from run {self.run.resumed_from}."
            self._journal.say("log", text, self._clock.now())
        if withheld := self._journal.withheld:
            text = f"{withheld} calls ran again because the workspace has changed since that run ended."
            self._journal.say("log", text, self._clock.now())
