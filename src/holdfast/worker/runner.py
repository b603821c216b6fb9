"""One runner per owned chat. It does what the chat's state asks for until the chat is at rest or belongs to
somebody else. When the state changes meanwhile, the current work is cancelled and the right work started."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from holdfast.chats import commands
from holdfast.core.errors import Bug, HoldfastError, StoreClosed, TryAgain
from holdfast.core.events import Hint
from holdfast.core.failures import Failure
from holdfast.core.shortage import is_shortage
from holdfast.telemetry.crash_marks import marked
from holdfast.worker.active_turn import ActiveTurn
from holdfast.worker.owned_chat import NotOurs, Stale, Texts
from holdfast.worker.turn import go_on
from holdfast.worker.unfinished import give_up

log = structlog.get_logger(__name__)


# Delay before a chat that cannot be run is released, so that it is not taken over as fast as it fails.
GIVE_BACK_SECONDS = 1.0
# While the machine is short of something.
SHORTAGE_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)


class Escaped(Exception):
    """The work raised something that is not an Exception, such as GeneratorExit."""


class Runner:
    def __init__(self, turn: ActiveTurn, turn_ended: Callable[[ActiveTurn, int, Texts], None]) -> None:
        self.turn = turn
        self._turn_ended = turn_ended
        self._work: asyncio.Task[None] | None = None
        # How often in a row the work was postponed because of a shortage.
        self._put_off = 0
        # An interrupt is completed whether there is a slot for the chat or not; what follows it needs one.
        self._has_place = turn.chat.view.chat.status != "interrupting"
        turn.chat.when_moved = self._end_work

    # --- called by others ---

    def hint(self, hint: Hint) -> None:
        """Somebody changed the chat: if our work no longer fits, it ends."""
        chat = self.turn.chat
        if hint.version <= chat.view.chat.version:
            # Only settings have changed, which may include a budget.
            self.turn.budgeted = None
        chat.hear(hint)

    def gone(self) -> None:
        """A poll found that the chat is no longer ours, and no hint said so. During a commit this is ignored:
        we may have released the chat ourselves, and the commit or the next poll tells."""
        chat = self.turn.chat
        if chat.owned and not chat.committing:
            self._end_work()

    @property
    def only_waits(self) -> bool:
        """Whether the chat only waits for its children: then others may have its slot. It does not need the
        slot back, because it could wait forever while its children hold them all."""
        running = [call for call in self.turn.chat.view.calls if call.state in ("pending", "started")]
        return bool(running) and all("waits_for_children" in call.traits for call in running)

    async def hand_over(self, grace_seconds: float) -> None:
        """Nothing new is started; a running call gets its time, everything else ends now. A chat that only
        waits for children continues waiting on another worker."""
        self.turn.stopping = True
        work = self._work
        if work is not None and self.turn.running_calls and not self.only_waits:
            await asyncio.wait({work}, timeout=grace_seconds)
        self._end_work()

    def _end_work(self) -> None:
        if self._work is not None and not self._work.cancelling():
            self._work.cancel()

    # --- the loop ---

    async def until_it_rests(self) -> None:
        """Runs the chat until it is idle, waits for somebody, or is no longer ours."""
        chat = self.turn.chat
        try:
            while chat.owned and chat.view.chat.status in ("running", "interrupting"):
                if chat.view.chat.status == "running" and (self.turn.stopping or not self._has_place):
                    await give_up(self.turn)
                    await chat.record(commands.Release(unbegun=self.turn.unbegun))
                    return
                await self._once()
                if (ended := chat.turn_ended) is not None:
                    chat.turn_ended = None
                    self._turn_ended(self.turn, ended, chat.known_texts)
        except (NotOurs, Stale) as error:
            log.info("chat let go", chat_id=chat.chat_id, reason=str(error))
        except StoreClosed:
            log.info("chat let go", chat_id=chat.chat_id, reason="the store is closed")
        except Exception:
            log.exception("chat given back", chat_id=chat.chat_id)
            await self._give_back()

    async def set_aside(self, reason: str) -> None:
        """The turn fails without being tried; a person may retry it."""
        chat = self.turn.chat
        try:
            await chat.commit(commands.FailTurn(failure=Failure(kind="set_aside", message=reason)))
        except (NotOurs, Stale, StoreClosed) as error:
            log.info("chat let go", chat_id=chat.chat_id, reason=str(error))

    async def _once(self) -> None:
        """Does what the chat's state asks for, until that changes or the chat moves meanwhile."""
        chat = self.turn.chat
        try:
            await self.turn.prepare()
            await self._work_on(go_on(self.turn))
        except (asyncio.CancelledError, Stale):
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            await chat.reload()
            await self._count_abandoned()
        except (NotOurs, StoreClosed):
            raise
        except Exception as error:  # noqa: BLE001 - the border of the turn: it fails, the worker lives
            if isinstance(error, TryAgain) or is_shortage(error):
                await self._wait_out(error)
            else:
                await self._fail(error)
        else:
            self._put_off = 0

    async def _count_abandoned(self) -> None:
        """Counts the cost of an attempt that no longer belongs to the chat. An interrupt keeps what was
        streamed, so nothing is counted here then."""
        turn = self.turn
        if turn.attempt is not None and turn.attempt.episode != turn.episode:
            await give_up(turn)

    async def _work_on(self, work: Coroutine[Any, Any, None]) -> None:
        """Awaits the work in a separate task, which a hint may cancel. It has ended when this returns."""
        task = self._work = asyncio.create_task(marked(work))
        try:
            # Do not await the task itself: a GeneratorExit raised by it would close the coroutine that waits.
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        finally:
            self._work = None
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, Exception):
            # It would pass every error boundary, and the chat would be ours with nobody to run it.
            raise Escaped(f"{type(error).__name__}: {error}") from error
        task.result()

    async def _wait_out(self, error: Exception) -> None:
        """The machine is short of something. The turn continues where it is, as after a crash; an interrupt
        meanwhile takes effect at once."""
        chat, turn = self.turn.chat, self.turn
        seconds = SHORTAGE_SECONDS[min(self._put_off, len(SHORTAGE_SECONDS) - 1)]
        self._put_off += 1
        log.warning("turn put off", chat_id=chat.chat_id, reason=str(error), seconds=seconds)
        await give_up(turn)
        await self._work_on(asyncio.sleep(seconds))
        await chat.reload()

    async def _fail(self, error: Exception) -> None:
        """Whatever went wrong ends the turn, not the chat."""
        chat = self.turn.chat
        log.error("turn failed", chat_id=chat.chat_id, exc_info=error)
        try:
            await give_up(self.turn)
            await chat.commit(commands.FailTurn(failure=_failure(error)))
        except Stale:
            await chat.reload()

    async def _give_back(self) -> None:
        """Not even the turn's end could be recorded: release the chat, so that another worker may try. A chat
        that we own and nobody runs would wait forever."""
        chat = self.turn.chat
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
    """An expected error explains itself: a workspace that was moved away, for example."""
    if isinstance(error, HoldfastError) and not isinstance(error, Bug):
        return Failure(kind="config", message=error.text)
    text = error.text if isinstance(error, HoldfastError) else f"{type(error).__name__}: {error}"
    return Failure(
        kind="internal", message="The turn failed because of an internal error in Holdfast.", detail=text
    )
