"""Hooks around a turn: they look at what the user says, may ask for one more step at its end, and are told
before history is summarised."""

from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.chats.commands import BeginAttempt, BlockPrompt, FinishTurn, NewMessage
from holdfast.chats.view import View
from holdfast.core.hooks import EventName, HappenedEvent, HookRun
from holdfast.core.messages import HistoryEntry
from holdfast.core.parts import Text
from holdfast.prompt.notices import hook_blocked, hook_overruled, hook_stopped, hook_wants_more
from holdfast.store import hook_runs, outbox
from holdfast.tools.hooks.definitions import Hook
from holdfast.tools.hooks.inputs import Occasion
from holdfast.worker.actions import AskEndHooks, HookProgress
from holdfast.worker.active_turn import ActiveTurn
from holdfast.worker.history import History
from holdfast.worker.hook_calls import of_calls, untold
from holdfast.worker.hook_runs import ask, deciding, has_hooks, place_of, prompt_key, wanted
from holdfast.worker.surroundings import renewal_is_due

# How much of a blocked message its notice keeps for the person.
KEPT_TEXT = 4_000


async def read_hook_progress(turn: ActiveTurn, view: View, history: History) -> HookProgress | None:
    """None: there are no hooks that the turn waits for."""
    source = turn.resources.hooks
    if source is None or not has_hooks(turn):
        return None
    hooks = await turn.chat.prepare(lambda: source.all_deciding(place_of(turn)))
    if not hooks:
        return None
    chat = view.chat
    runs = await turn.chat.read(hook_runs.of_turns(chat.id, chat.turn, chat.turn))
    stopped = next((r for r in of_calls(view, runs) if r.event == "post_tool" and r.verdict.stop), None)
    post = [hook for hook in hooks if hook.event == "post_tool"]
    at_end = wanted([hook for hook in hooks if hook.event == _end_event(turn)], _end(turn, history))
    return HookProgress(
        prompts_due=bool(_unchecked(turn, hooks, history, runs)),
        calls_due=stopped is None and bool(post) and await untold(turn, view, post, runs),
        stop=None if stopped is None else hook_stopped(stopped.verdict.reason, name=stopped.name),
        at_end=bool(at_end),
        asked=history.more_steps,
    )


# --- what the user says ---


def _unchecked(
    turn: ActiveTurn, hooks: Sequence[Hook], history: History, runs: Sequence[HookRun]
) -> list[HistoryEntry]:
    """What not all hooks have looked at, or one has refused: until it is out of history."""
    if turn.chat.view.chat.is_agent:
        return []
    looking = [hook for hook in hooks if hook.event == "user_prompt"]
    answered = {(run.key, run.hook_id) for run in runs}
    refused = {run.key for run in runs if run.event == "user_prompt" and run.verdict.ruling == "deny"}
    return [
        entry
        for entry in history.prompts
        if entry.turn == turn.chat.view.chat.turn
        and looking
        and (
            prompt_key(entry) in refused
            or any((prompt_key(entry), hook.id) not in answered for hook in looking)
        )
    ]


async def prompts_due(turn: ActiveTurn) -> bool:
    """Whether hooks have yet to look at what is about to be shown to a model."""
    if not has_hooks(turn):
        return False
    progress = await read_hook_progress(turn, turn.chat.view, await turn.chat.history())
    return progress is not None and progress.prompts_due


async def check_prompts(turn: ActiveTurn) -> None:
    chat = turn.chat.view.chat
    hooks = await deciding(turn, "user_prompt")
    history = await turn.chat.history()
    runs = await turn.chat.read(hook_runs.of_turns(chat.id, chat.turn, chat.turn))
    for entry in _unchecked(turn, hooks, history, runs):
        text = "\n".join(part.text for part in entry.parts if isinstance(part, Text))
        occasion = Occasion(
            event="user_prompt",
            key=prompt_key(entry),
            chat_id=chat.id,
            turn=chat.turn,
            mode=chat.mode,
            more={"prompt": text},
        )
        said = await ask(turn, hooks, occasion)
        if said.ruling == "deny" and entry.id is not None:
            place = next((n for n, other in enumerate(history.tail) if other.id == entry.id), None)
            after = () if place is None else history.tail[place + 1 :]
            again = tuple(NewMessage(role=other.role, parts=other.parts) for other in after)
            first = history.prompts[0].id == entry.id and chat.turn_kind == "message"
            await turn.chat.commit(
                BlockPrompt(
                    message_id=entry.id,
                    notice=hook_blocked(said.reason, name=said.name, said=text[:KEPT_TEXT]),
                    again=again,
                    ends_turn=first and not any(message.role == "user" for message in again),
                )
            )
            return
    # What they added enters with the next attempt.
    turn.made_here, turn.begun = turn.episode, None


# --- its end ---


def _end_event(turn: ActiveTurn) -> EventName:
    return "agent_end" if turn.chat.view.chat.is_agent else "turn_end"


def _end(turn: ActiveTurn, history: History) -> Occasion:
    chat, agent = turn.chat.view.chat, turn.setup.agent
    event = _end_event(turn)
    occasion = Occasion(
        event=event,
        # Once for each last word.
        key=f"{event}:{chat.turn}:{chat.last_message_id}",
        chat_id=chat.id,
        turn=chat.turn,
        mode=chat.mode,
        outcome="finished",
        more={"last_message": history.last_text or "", "asked_before": history.more_steps > 0},
    )
    return occasion if agent is None else replace(occasion, more={**occasion.more, "agent": agent.name})


async def has_end_hooks(turn: ActiveTurn) -> bool:
    if not has_hooks(turn):
        return False
    hooks = await deciding(turn, _end_event(turn))
    return bool(wanted(hooks, _end(turn, await turn.chat.history())))


async def ask_end_hooks(turn: ActiveTurn, action: AskEndHooks) -> None:
    history = await turn.chat.history()
    said = await ask(turn, await deciding(turn, _end_event(turn)), _end(turn, history))
    if said.ruling != "deny" or said.stop is not None:
        await turn.chat.commit(FinishTurn(limit=action.end.limit, notice=action.end.notice))
    elif action.may:
        wish = NewMessage(role="system", parts=(hook_wants_more(said.reason, name=said.name),))
        await turn.chat.commit(BeginAttempt(messages=(wish,)))
        turn.begun = None if await renewal_is_due(turn) else turn.episode
    else:
        notice = action.end.notice or hook_overruled(said.name, history.more_steps)
        await turn.chat.commit(FinishTurn(notice=notice))


# --- before a summary ---


async def before_compaction(turn: ActiveTurn, source: str) -> None:
    """They are told, and cannot keep it from happening."""
    if not has_hooks(turn):
        return
    chat = turn.chat.view.chat
    occasion = Occasion(
        event="pre_compact",
        key=f"pre_compact:{chat.turn}:{chat.last_message_id}",
        chat_id=chat.id,
        turn=chat.turn,
        mode=chat.mode,
        more={"source": source},
    )
    await ask(turn, await deciding(turn, "pre_compact"), occasion)
    if turn.resources.hooks is not None and "pre_compact" in turn.resources.hooks.told_afterwards():
        happened = HappenedEvent(
            id=f"pre_compact-{chat.id}-{chat.last_message_id}",
            event="pre_compact",
            owner_id=chat.owner_id,
            chat_id=chat.id,
            data={"turn": chat.turn, "source": source},
            created_at=turn.clock.now(),
        )
        await turn.chat.persist(lambda: turn.chat.store.write(outbox.put(happened)))
