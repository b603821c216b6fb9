"""Telling hooks afterwards, from the outbox: signed requests to addresses, and programs that nothing waits
for. Each is told at least once, with an id that stays the same, however often the server dies."""

import asyncio
from datetime import datetime
from typing import cast
from urllib.parse import urlsplit

import structlog

from holdfast.core.clock import Clock, Stopwatch
from holdfast.core.hooks import HappenedEvent, HookOutcome, HookRun
from holdfast.core.ids import CallId, ChatId, Ids, MessageId
from holdfast.core.parts import Text, ToolCall
from holdfast.core.shapes import Json, encode
from holdfast.store import calls, chats, hook_runs, messages, outbox
from holdfast.store.interface import Store
from holdfast.store.outbox import TakenDelivery
from holdfast.tools.addresses import AddressRefused, Resolve, public_addresses, resolved
from holdfast.tools.hooks.decisions import HookEnd, outcome_of, verdict_of
from holdfast.tools.hooks.definitions import Hook, signing_key
from holdfast.tools.hooks.hooks import HookPlace, Hooks
from holdfast.tools.hooks.inputs import Occasion, given_input, parts_of

log = structlog.get_logger(__name__)

AT_ONCE = 20
POLL_SECONDS = 0.5
FIRST_SECONDS = 5.0
MOST_SECONDS = 3600.0
MOST_ATTEMPTS = 20
# How much longer than its timeout a delivery belongs to whoever took it.
MARGIN_SECONDS = 15.0
BATCH = 100
_ANSWER_CHARACTERS = 300
GONE = 410


def pause_seconds(attempts: int) -> float:
    """After so many attempts that failed."""
    return min(FIRST_SECONDS * 2 ** (attempts - 1), MOST_SECONDS)


class HookDeliveries:
    def __init__(
        self,
        store: Store,
        hooks: Hooks,
        clock: Clock,
        ids: Ids,
        *,
        resolve: Resolve | None = None,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self._store = store
        self._hooks = hooks
        self._clock = clock
        self._ids = ids
        self._resolve = resolve
        self._poll_seconds = poll_seconds
        self._under_way: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Until it is cancelled. What is under way then is told again later."""
        try:
            while True:
                more = await self._pulse()
                if not more:
                    waits = asyncio.create_task(asyncio.sleep(self._poll_seconds))
                    await asyncio.wait({waits, *self._under_way}, return_when=asyncio.FIRST_COMPLETED)
                    waits.cancel()
        finally:
            for task in self._under_way:
                task.cancel()
            await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _pulse(self) -> bool:
        """Whether there may be more at once."""
        wanted = self._hooks.told_afterwards()
        if "run_end" in wanted:
            await self._store.write(outbox.put_run_ends())
        if not await self._store.read(outbox.waiting()):
            return False
        found = await self._store.read(outbox.unspread(BATCH))
        for event in found:
            told = await self._told_of(event)
            await self._store.write(outbox.spread(event, [hook.id for hook in told]))
        free = AT_ONCE - len(self._under_way)
        if free <= 0:
            return False
        longest = max((hook.timeout_seconds for hook in self._hooks.configured), default=60.0)
        taken = await self._store.write(outbox.take(free, longest + MARGIN_SECONDS))
        for one in taken:
            task = asyncio.create_task(self._deliver(one))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
        return len(found) == BATCH or len(taken) == free

    # --- who is told ---

    async def _place(self, event: HappenedEvent) -> HookPlace | None:
        if event.chat_id is None:
            return None
        chat = await self._store.read(chats.chat(event.chat_id))
        if chat is None:
            return None
        return HookPlace(chat_id=chat.id, owner_id=chat.owner_id, workspace_id=chat.workspace_id)

    async def _hooks_of(self, place: HookPlace | None) -> tuple[Hook, ...]:
        return self._hooks.configured if place is None else await self._hooks.of(place)

    async def _told_of(self, event: HappenedEvent) -> list[Hook]:
        occasion = _occasion(event, {})
        found = {
            hook.id: hook
            for hook in await self._hooks_of(await self._place(event))
            if not hook.decides and hook.is_for(event.event, occasion.subjects(hook.dialect))
        }
        return list(found.values())

    # --- telling ---

    async def _deliver(self, taken: TakenDelivery) -> None:
        try:
            await self._try(taken)
        except Exception:
            # It stays taken until its time is over; then somebody tries again.
            log.exception("a hook could not be told", delivery=taken.id)

    async def _try(self, taken: TakenDelivery) -> None:
        event = await self._store.read(outbox.event(taken.event_id))
        place = None if event is None else await self._place(event)
        hook = next((one for one in await self._hooks_of(place) if one.id == taken.hook_id), None)
        if event is None or hook is None:
            await self._store.write(outbox.done(taken, "dropped", "The hook is not there any more."))
            return
        watch = Stopwatch(self._clock)
        where = None if place is None else await self._hooks.cwd(place)
        occasion = _occasion(event, await self._looked_up(event), "" if where is None else str(where.root))
        if hook.url:
            trouble, status = await self._post(hook, taken, event, occasion)
            if trouble is not None and taken.attempts < MOST_ATTEMPTS and status != GONE:
                await self._store.write(outbox.later(taken, pause_seconds(taken.attempts), trouble))
                return
            end = HookEnd(exit_code=0, trouble=trouble)
            shown = trouble or f"HTTP {status}"
        else:
            (part, *_) = parts_of(occasion, hook.dialect)
            given = given_input(occasion, hook.dialect, part)
            end = await self._hooks.run(hook, given, where, event.owner_id)
            shown = end.trouble or "\n".join(one for one in (end.output.strip(), end.errors.strip()) if one)
        verdict = verdict_of(event.event, end)
        outcome = outcome_of(verdict, timed_out=end.timed_out)
        await self._record(hook, event, place, outcome, shown, end, watch.started_at)
        await self._store.write(
            outbox.done(taken, "failed" if outcome == "failed" else "delivered", end.trouble)
        )

    async def _record(
        self,
        hook: Hook,
        event: HappenedEvent,
        place: HookPlace | None,
        outcome: HookOutcome,
        shown: str,
        end: HookEnd,
        started_at: datetime,
    ) -> None:
        turn, call_id = event.data.get("turn"), event.data.get("call_id")
        run = HookRun(
            id=self._ids.uuid7(started_at),
            owner_id=event.owner_id,
            chat_id=None if place is None else place.chat_id,
            turn=turn if isinstance(turn, int) else 0,
            key=event.id,
            hook_id=hook.id,
            event=event.event,
            name=hook.name,
            call_id=CallId(call_id) if isinstance(call_id, str) else None,
            outcome="passed" if outcome in ("changed", "blocked") else outcome,
            exit_code=end.exit_code if hook.command else None,
            output=shown[:2_000],
            started_at=started_at,
            finished_at=self._clock.now(),
        )
        await self._store.write(hook_runs.record(run))

    async def _looked_up(self, event: HappenedEvent) -> dict[str, Json]:
        """What the rows of the chat say, if they are still there."""
        if event.chat_id is None:
            return {}
        found: dict[str, Json] = {}
        call_id, answer_id = event.data.get("call_id"), event.data.get("answer_id")
        if isinstance(call_id, str):
            found["input"] = await self._input(event.chat_id, CallId(call_id))
        if isinstance(answer_id, str):
            answer = await self._store.read(messages.message(event.chat_id, MessageId(answer_id)))
            texts = [part.text for part in answer.parts if isinstance(part, Text)] if answer else []
            found["last_message"] = "\n".join(texts)
        return found

    async def _input(self, chat_id: ChatId, call_id: CallId) -> Json:
        known = await self._store.read(calls.call(chat_id, call_id))
        if known is None or known.call.input is not None:
            return None if known is None else known.call.input
        asked = await self._store.read(messages.message(chat_id, known.call.message_id))
        parts = () if asked is None else asked.parts
        return next((p.input for p in parts if isinstance(p, ToolCall) and p.call_id == call_id), None)

    async def _post(
        self, hook: Hook, taken: TakenDelivery, event: HappenedEvent, occasion: Occasion
    ) -> tuple[str | None, int]:
        """What was wrong, and the status of the answer."""
        # Loaded by the first hook that is told.
        import aiohttp
        from standardwebhooks import Webhook

        from holdfast.tools.web.fetch import pinned_session

        assert hook.secret is not None
        (part, *_) = parts_of(occasion, hook.dialect)
        told = {
            "id": event.id,
            "created_at": event.created_at,
            **given_input(occasion, hook.dialect, part),
        }
        body = encode(told).decode()
        now = self._clock.now()
        headers = {
            "content-type": "application/json",
            "webhook-id": taken.id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Webhook(signing_key(hook.secret)).sign(taken.id, now, body),
        }
        url = urlsplit(hook.url)
        host, port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
        try:
            async with asyncio.timeout(hook.timeout_seconds):
                lookup = self._resolve or resolved
                addresses = (
                    await lookup(host, port) if hook.private else await public_addresses(host, port, lookup)
                )
                async with (
                    pinned_session(addresses) as session,
                    session.post(hook.url, data=body, headers=headers, allow_redirects=False) as answer,
                ):
                    if answer.status < 300:
                        return None, answer.status
                    return f"It was answered with HTTP {answer.status}.", answer.status
        except TimeoutError:
            return f"There was no answer within {hook.timeout_seconds:g} s.", 0
        except AddressRefused as error:
            return f"It is not told: {error}.", 0
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return f"It cannot be reached ({type(error).__name__}).", 0


def _occasion(event: HappenedEvent, looked_up: dict[str, Json], cwd: str = "") -> Occasion:
    data = {**event.data, **{name: value for name, value in looked_up.items() if value is not None}}
    turn, call_id, tool = data.pop("turn", 0), data.pop("call_id", None), data.pop("tool", None)
    asked = data.get("calls")
    if isinstance(asked, list) and asked:
        waiting = cast(list[dict[str, Json]], asked)
        data["kind"] = waiting[0].get("kind")
        named = ", ".join(str(one.get("tool")) for one in waiting)
        data["message"] = f"The agent needs you: {named}."
    given, output, outcome = data.pop("input", None), data.pop("output", None), data.pop("outcome", None)
    return Occasion(
        event=event.event,
        key=event.id,
        chat_id=event.chat_id,
        turn=turn if isinstance(turn, int) else 0,
        cwd=cwd,
        call_id=CallId(call_id) if isinstance(call_id, str) else None,
        tool=tool if isinstance(tool, str) else None,
        input=given,
        output=output,
        outcome=outcome if isinstance(outcome, str) else None,
        more=data,
    )
