"""Rules for what hooks decided: calls that waited for them, and messages they refused."""

from msgspec.structs import replace

from holdfast.chats.change import Refusal
from holdfast.chats.commands import BlockPrompt, FinishTurn, JudgeCalls, NewCall, NewMessage
from holdfast.chats.draft import Draft
from holdfast.chats.view import Call
from holdfast.chats.worker_rules import finish_turn


def judge_calls(draft: Draft, command: JudgeCalls) -> Refusal | None:
    for judged in command.calls:
        call = draft.call(judged.call_id)
        if call is None or call.state != "waiting" or call.waits_for != "hook":
            return Refusal(code="stale", text=f"Call {judged.call_id} does not wait for hooks.")
        draft.put_call(_judged(draft, call, judged))
    return None


def _judged(draft: Draft, call: Call, judged: NewCall) -> Call:
    done = judged.outcome is not None
    return replace(
        call,
        effect=judged.effect,
        reach=judged.reach,
        traits=judged.traits,
        source=judged.source,
        on_uncertain=judged.on_uncertain,
        state="finished" if done else "waiting" if judged.waits_for else "pending",
        waits_for=None if done else judged.waits_for,
        deadline_seconds=judged.deadline_seconds,
        outcome=judged.outcome,
        output=judged.output,
        approval=judged.approval,
        input=judged.input,
        finished_at=draft.now if done else None,
    )


def block_prompt(draft: Draft, command: BlockPrompt) -> Refusal | None:
    if draft.open_calls():
        return Refusal(code="wrong_state", text="Calls of the step before are still open.")
    draft.removed_from = command.message_id
    told = NewMessage(role="system", parts=(command.notice,), visibility="user")
    draft.insert_all((told, *command.again))
    if command.ends_turn:
        return finish_turn(draft, FinishTurn())
    return None
