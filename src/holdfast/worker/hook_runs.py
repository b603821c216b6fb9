"""Running hooks for a turn. Every run is recorded before anything follows from it, under a key that names
what it was about: a worker that takes the chat over asks only those that have not answered."""

import hashlib
from collections.abc import Iterable

from msgspec.structs import replace

from holdfast.chats.view import Call
from holdfast.core.clock import Stopwatch
from holdfast.core.hooks import EventName, HookRun, HookVerdict, Ruling
from holdfast.core.messages import HistoryEntry
from holdfast.core.shapes import Json, Record, encode
from holdfast.store import hook_runs
from holdfast.tools.hooks.decisions import outcome_of, verdict_of
from holdfast.tools.hooks.definitions import Hook
from holdfast.tools.hooks.hooks import HookPlace, Hooks
from holdfast.tools.hooks.inputs import Occasion, given_input, parts_of
from holdfast.tools.hooks.tool_names import AskedPart, changed_input
from holdfast.tools.modes import is_read_only
from holdfast.worker.active_turn import ActiveTurn

# How much of what a hook printed is kept.
KEPT_OUTPUT = 2_000
_STRENGTH: dict[Ruling, int] = {"none": 0, "allow": 1, "ask": 2, "deny": 3}


class HooksSaid(Record, frozen=True, kw_only=True):
    """What all hooks of one occasion want together: the strictest ruling counts."""

    ruling: Ruling = "none"
    reason: str = ""
    # The hook that decided.
    name: str = ""
    # As it was changed; None: it was not.
    input: Json = None
    contexts: tuple[str, ...] = ()
    stop: str | None = None


def place_of(turn: ActiveTurn) -> HookPlace:
    where = turn.where
    return HookPlace(chat_id=where.chat_id, owner_id=where.owner_id, workspace_id=where.workspace_id)


async def deciding(turn: ActiveTurn, event: EventName) -> tuple[Hook, ...]:
    """The hooks that the turn waits for at this event. Asks nothing where there are none."""
    hooks = turn.resources.hooks
    if hooks is None or hooks.is_empty():
        return ()
    return await turn.chat.prepare(lambda: hooks.deciding(place_of(turn), event))


def has_hooks(turn: ActiveTurn) -> bool:
    hooks = turn.resources.hooks
    return hooks is not None and not hooks.is_empty()


def call_key(call: Call, event: EventName) -> str:
    return f"{event}:{call.call_id}"


def prompt_key(entry: HistoryEntry) -> str:
    """The same for a copy that a summary carries over."""
    return f"user_prompt:{entry.turn}:{hashlib.sha256(encode(entry.parts)).hexdigest()[:24]}"


def wanted(hooks: Iterable[Hook], occasion: Occasion) -> list[Hook]:
    """Those that this occasion is for."""
    found = [hook for hook in hooks if hook.is_for(occasion.event, occasion.subjects(hook.dialect))]
    if occasion.event == "post_tool" and occasion.outcome != "succeeded":
        # Theirs are told of what succeeded.
        return [hook for hook in found if hook.dialect != "claude"]
    return found


async def ask(turn: ActiveTurn, hooks: Iterable[Hook], occasion: Occasion) -> HooksSaid:
    """Runs those that have not answered yet, one after the other: each sees what the one before it changed.
    One that denies is the last."""
    source = turn.resources.hooks
    chosen = wanted(hooks, occasion)
    if source is None or not chosen:
        return HooksSaid()
    where = await source.cwd(place_of(turn))
    occasion = replace(occasion, cwd="" if where is None else str(where.root))
    read_only = is_read_only(await turn.binding_modes())
    answered = {(run.hook_id, run.part): run for run in await recorded(turn, occasion.key)}
    said = HooksSaid()
    for hook in chosen:
        for part in parts_of(occasion, hook.dialect):
            run = answered.get((hook.id, part.part))
            if run is None:
                run = await _run(turn, source, hook, occasion, part, read_only=read_only)
            said, occasion = heard(said, occasion, hook, part, run.verdict)
            if said.ruling == "deny" or said.stop is not None:
                return said
    return said


async def _run(
    turn: ActiveTurn, source: Hooks, hook: Hook, occasion: Occasion, part: AskedPart, *, read_only: bool
) -> HookRun:
    chat = turn.chat.view.chat
    where = await source.cwd(place_of(turn))
    # It runs a command, which is an effect like that of a call.
    await turn.chat.ready()
    watch = Stopwatch(turn.clock)
    end = await source.run(
        hook, given_input(occasion, hook.dialect, part), where, chat.owner_id, read_only=read_only
    )
    verdict = verdict_of(occasion.event, end, must_pass=hook.on_failure == "block")
    run = HookRun(
        id=turn.resources.ids.uuid7(watch.started_at),
        owner_id=chat.owner_id,
        chat_id=chat.id,
        turn=chat.turn,
        key=occasion.key,
        hook_id=hook.id,
        part=part.part,
        event=occasion.event,
        name=hook.name,
        call_id=occasion.call_id,
        outcome=outcome_of(verdict, timed_out=end.timed_out),
        verdict=verdict,
        exit_code=end.exit_code,
        output="\n".join(one for one in (end.output.strip(), end.errors.strip()) if one)[:KEPT_OUTPUT],
        started_at=watch.started_at,
        finished_at=watch.now(),
        # Seen by watchers with the next commit.
        revision=chat.version + 1,
    )
    await turn.chat.persist(lambda: turn.chat.store.write(hook_runs.record(run)))
    return run


async def recorded(turn: ActiveTurn, key: str) -> tuple[HookRun, ...]:
    return await turn.chat.read(hook_runs.with_key(turn.chat.chat_id, key))


def heard(
    said: HooksSaid, occasion: Occasion, hook: Hook, part: AskedPart, verdict: HookVerdict
) -> tuple[HooksSaid, Occasion]:
    """What was said so far, with one more verdict; and the occasion as the next hook is told of it."""
    if verdict.input is not None and occasion.tool is not None:
        given: Json = (
            changed_input(occasion.tool, occasion.input, part.part, verdict.input, occasion.cwd)
            if hook.dialect == "claude"
            else verdict.input
        )
        occasion = replace(occasion, input=given)
        said = replace(said, input=given)
    if _STRENGTH[verdict.ruling] > _STRENGTH[said.ruling]:
        said = replace(said, ruling=verdict.ruling, reason=verdict.reason, name=hook.name)
    if verdict.context:
        said = replace(said, contexts=(*said.contexts, verdict.context))
    if verdict.stop:
        said = replace(said, stop=verdict.reason, name=hook.name)
    return said, occasion
