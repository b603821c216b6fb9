"""One runner per owned chat. It does what the chat's state asks for until the chat rests or is somebody
else's; when the state moves under it, what it does is cancelled and the right thing begun."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from holdfast.chats import commands
from holdfast.core.accounts import NamedAgent
from holdfast.core.calls import WAIT_FOR_CHILDREN
from holdfast.core.chats import Settings
from holdfast.core.errors import Bug, HoldfastError, StoreClosed, TryAgain
from holdfast.core.events import Hint
from holdfast.core.failures import Failure
from holdfast.core.runs import AgentTerms
from holdfast.core.usage import Budget
from holdfast.store.approvals import said_for_chat
from holdfast.store.calls import calls_of_turns
from holdfast.store.choices import settings
from holdfast.store.journals import terms as agent_terms
from holdfast.store.named_agents import of_chat
from holdfast.store.query import constant, joined
from holdfast.worker.compact import compact
from holdfast.worker.execute import execute
from holdfast.worker.generate import generate
from holdfast.worker.hands import Founded
from holdfast.worker.interrupt import finish_interrupt
from holdfast.worker.owned import NotOurs, Stale, Texts
from holdfast.worker.progress import decide_action
from holdfast.worker.run import Run
from holdfast.worker.terms import Terms
from holdfast.worker.turn import CallModel, Compact, Fail, Finish, RequireAction, RunCalls

log = structlog.get_logger(__name__)


# Before a chat that cannot be run is given back, so that nobody takes it over as fast as it fails.
GIVE_BACK_SECONDS = 1.0


class Runner:
    def __init__(
        self, run: Run, turn_ended: Callable[[Run, Texts], None], founded: Founded | None = None
    ) -> None:
        """`founded`: the chat was made just now, as this says."""
        self.run = run
        self._turn_ended = turn_ended
        self._work: asyncio.Task[None] | None = None
        self._executing = False
        self._chosen_for_turn = -1
        # An interrupt is ended whether there is a place for the chat or not: what follows it waits for one.
        self._has_place = run.chat.view.chat.status != "interrupting"
        run.chat.when_moved = self._end_work
        if founded is not None:
            self._begin(founded)

    def _begin(self, founded: Founded) -> None:
        """As `_choose` would find it; what was chosen, the run knows already."""
        run, chat, agent = self.run, self.run.chat, founded.agent
        chat.know(founded.messages)
        run.budgeted = None if agent.capped else False
        run.begun = run.episode if founded.begun else None
        self._chosen_for_turn = chat.view.chat.turn

    # --- what others may ask ---

    def hint(self, hint: Hint) -> None:
        """Somebody changed the chat: if our work no longer fits, it ends."""
        chat = self.run.chat
        if hint.version <= chat.view.chat.version:
            # Nothing moved but what people chose, which may be a budget.
            self.run.budgeted = None
        chat.hear(hint)

    def gone(self) -> None:
        """The chat is not ours any more, and no hint said so. While we commit we may have given it back
        ourselves: then the commit says so, or the next look."""
        chat = self.run.chat
        if chat.owned and not chat.committing:
            self._end_work()

    @property
    def only_waits(self) -> bool:
        """Whether all the chat does is wait for its children: then others may have its place. It is not
        asked back, for whoever waits for a place while its children have them all would wait for ever."""
        running = [call for call in self.run.chat.view.calls if call.state in ("pending", "started")]
        return bool(running) and all(call.name in WAIT_FOR_CHILDREN for call in running)

    async def hand_over(self, grace_seconds: float) -> None:
        """Nothing new is begun; a running call gets its time, everything else ends now. Who only waits for
        children goes on waiting elsewhere."""
        self.run.stopping = True
        work = self._work
        if work is not None and self._executing and not self.only_waits:
            await asyncio.wait({work}, timeout=grace_seconds)
        self._end_work()

    def _end_work(self) -> None:
        if self._work is not None and not self._work.cancelling():
            self._work.cancel()

    # --- the loop ---

    async def until_it_rests(self) -> None:
        """Runs the chat until it is idle, waits for somebody, or is not ours."""
        chat = self.run.chat
        try:
            while chat.owned and chat.view.chat.status in ("running", "interrupting"):
                if chat.view.chat.status == "running" and (self.run.stopping or not self._has_place):
                    await chat.record(commands.Release())
                    return
                await self._once()
                if chat.turn_ended:
                    chat.turn_ended = False
                    self._turn_ended(self.run, chat.known_texts)
        except (NotOurs, Stale) as error:
            log.info("chat let go", chat_id=chat.chat_id, reason=str(error))
        except StoreClosed:
            log.info("chat let go", chat_id=chat.chat_id, reason="the store is closed")
        except Exception:
            log.exception("chat given back", chat_id=chat.chat_id)
            await self._give_back()

    async def _once(self) -> None:
        """What the chat's state asks for, until that changes or the chat moves under it."""
        chat = self.run.chat
        try:
            if self._chosen_for_turn != chat.view.chat.turn:
                await self._choose()
            interrupted = chat.view.chat.status == "interrupting"
            await self._work_on(finish_interrupt(self.run) if interrupted else self._go_on())
        except (asyncio.CancelledError, Stale):
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            await chat.reload()
        except (NotOurs, StoreClosed):
            raise
        except Exception as error:  # noqa: BLE001 - the border of the turn: it fails, the worker lives
            await self._fail(error)

    async def _work_on(self, work: Coroutine[Any, Any, None]) -> None:
        """Awaits the work in a task of its own, which a hint may cancel. It has ended when this returns."""
        task = self._work = asyncio.create_task(work)
        try:
            await task
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        finally:
            self._work = None

    async def _choose(self) -> None:
        chat = self.run.chat
        # Before the question: a hint that comes meanwhile asks for another look.
        self.run.budgeted = False
        agreed = constant(None) if chat.view.chat.run_id is None else agent_terms(chat.chat_id)
        chosen, agent, budgets, terms = await chat.read(
            joined(settings(chat.chat_id), of_chat(chat.chat_id), self.run.caps, agreed, read=_chosen)
        )
        if chosen is None:
            raise NotOurs("the chat is deleted")
        bound = None if terms is None else await self._bound(terms)
        self.run.choose(chosen, agent, terms=bound)
        if self.run.may_ask:
            self.run.choose(chosen, agent, await chat.read(said_for_chat(chat.chat_id)), bound)
        if budgets:
            self.run.budgeted = True
        self._chosen_for_turn = chat.view.chat.turn

    async def _bound(self, terms: AgentTerms) -> Terms:
        chat = self.run.chat
        return Terms(terms, await chat.read(calls_of_turns(chat.chat_id, 0, chat.view.chat.turn)))

    # --- the actions ---

    async def _go_on(self) -> None:
        """One action after the other, as long as it is the same turn that runs."""
        chat, turn = self.run.chat, self.run.chat.view.chat.turn
        while True:
            await self._act()
            now = chat.view.chat
            if self.run.stopping or not chat.owned or (now.status, now.turn) != ("running", turn):
                return

    async def _act(self) -> None:
        run = self.run
        match await decide_action(run, run.chat.view):
            case RunCalls():
                self._executing = True
                try:
                    await execute(run)
                finally:
                    self._executing = False
            case RequireAction():
                await run.chat.commit(commands.RequireAction())
            case Compact() as action:
                await compact(run, action)
            case Finish(limit=limit):
                await run.chat.commit(commands.FinishTurn(limit=limit))
            case Fail(failure=failure):
                await run.chat.commit(commands.FailTurn(failure=failure))
            case CallModel(nudge=nudge):
                await generate(run, nudge=nudge)

    async def _fail(self, error: Exception) -> None:
        """Whatever went wrong is the turn's end, not the chat's."""
        chat = self.run.chat
        log.error("turn failed", chat_id=chat.chat_id, exc_info=error)
        try:
            await chat.commit(commands.FailTurn(failure=_failure(error)))
        except Stale:
            await chat.reload()

    async def _give_back(self) -> None:
        """Not even the turn's end could be recorded: let somebody look at it who has not seen the same. A
        chat that we own and nobody runs would wait for ever."""
        chat = self.run.chat
        while not chat.lease.over:
            await asyncio.sleep(GIVE_BACK_SECONDS)
            try:
                await chat.record(commands.Release())
                return
            except (NotOurs, Stale, StoreClosed):
                return
            except Exception:
                log.exception("chat not given back", chat_id=chat.chat_id)


def _failure(error: Exception) -> Failure:
    """An error that is nobody's bug says itself what is wrong: a workspace that was moved away, say."""
    if isinstance(error, HoldfastError) and not isinstance(error, (Bug, TryAgain)):
        return Failure(kind="config", message=error.text)
    text = error.text if isinstance(error, HoldfastError) else f"{type(error).__name__}: {error}"
    return Failure(kind="internal", message="The turn failed because of a fault in Holdfast.", detail=text)


Chosen = tuple[Settings | None, NamedAgent | None, tuple[Budget, ...], AgentTerms | None]


def _chosen(
    chosen: Settings | None,
    agent: NamedAgent | None,
    budgets: tuple[Budget, ...],
    terms: AgentTerms | None,
) -> Chosen:
    return chosen, agent, budgets, terms
