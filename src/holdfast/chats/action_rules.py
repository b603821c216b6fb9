"""Rules for calls that wait for somebody: answers, verdicts, deadlines. Each call is answered once; when no
call waits any more, the chat continues."""

from typing import cast

from msgspec.structs import replace

from holdfast.chats import synthetic
from holdfast.chats.change import Refusal
from holdfast.chats.commands import Decide, ExpireCalls, SetMode, SubmitResults
from holdfast.chats.draft import Draft
from holdfast.chats.view import Call
from holdfast.core.calls import Approval
from holdfast.core.chats import BUILD
from holdfast.core.ids import CallId
from holdfast.core.parts import Outcome
from holdfast.core.shapes import Json


def submit_results(draft: Draft, command: SubmitResults) -> Refusal | None:
    for result in command.results:
        call = _waiting(draft, result.call_id)
        if isinstance(call, Refusal):
            return call
        if call.waits_for not in ("client_tool", "question", "plan"):
            return Refusal(
                code="invalid_input",
                text=f"Call {call.call_id} waits for a decision, not for a result.",
                field="results",
            )
        _finish(draft, call, "failed" if result.is_error else "succeeded", result.output)
        if call.waits_for == "plan" and not result.is_error and _is_approved(result.output):
            draft.put(mode=BUILD)
    _go_on(draft)
    return None


def _is_approved(output: Json) -> bool:
    return isinstance(output, dict) and cast(dict[str, Json], output).get("approved") is True


def set_mode(draft: Draft, command: SetMode) -> None:
    draft.put(mode=command.mode or draft.chat.mode, writes=command.writes or draft.chat.writes)


def decide(draft: Draft, command: Decide) -> Refusal | None:
    call = _waiting(draft, command.call_id)
    if isinstance(call, Refusal):
        return call
    call = replace(call, approval=_said(draft, call, command))
    match call.waits_for, command.verdict:
        case "approval", "approve":
            _may_run(draft, call)
        case "approval", "deny":
            _finish(draft, call, "denied", synthetic.denied(command.note))
        case "uncertain", "retry":
            if call.fenced_until is not None and draft.now < call.fenced_until:
                return Refusal(
                    code="wrong_state",
                    text="The worker that ran this call may still be alive; try again in a few seconds.",
                    data={"not_before": call.fenced_until},
                )
            _may_run(draft, call)
        case "uncertain", "done":
            _finish(draft, call, "succeeded", synthetic.DONE if command.output is None else command.output)
        case "uncertain", "skip":
            _finish(draft, call, "cancelled", synthetic.SKIPPED)
        case _:
            return Refusal(
                code="invalid_input",
                text=f"A call that waits for {call.waits_for} cannot be answered with {command.verdict}.",
                field="decision",
            )
    _go_on(draft)
    return None


def expire_calls(draft: Draft, _: ExpireCalls) -> None:
    for call in draft.calls:
        if call.state == "waiting" and call.deadline_at is not None and call.deadline_at <= draft.now:
            _finish(draft, call, "expired", synthetic.EXPIRED)
    _go_on(draft)


def _waiting(draft: Draft, call_id: CallId) -> Call | Refusal:
    call = next((call for call in draft.calls if call.call_id == call_id and not call.abandoned), None)
    if call is not None and call.state == "waiting":
        return call
    if call is not None or call_id in draft.facts.answered:
        return Refusal(code="already_answered", text=f"Call {call_id} has been answered already.")
    return Refusal(code="not_found", text=f"No call {call_id} waits in this chat.")


def _said(draft: Draft, call: Call, command: Decide) -> Approval:
    """Allowing or denying a tool for the whole chat is only possible when approval was asked for. A verdict
    on an uncertain call is about that call alone; earlier decisions for the chat still apply."""
    earlier = call.approval
    scope, host = command.scope, command.host
    if call.waits_for != "approval":
        scope, host = ("once", None) if earlier is None else (earlier.scope, earlier.host)
    return Approval(
        by="person",
        decision=command.verdict,
        user_id=command.user_id,
        scope=scope,
        host=host,
        note=command.note,
        at=draft.now,
    )


def _may_run(draft: Draft, call: Call) -> None:
    draft.put_call(replace(call, state="pending", waits_for=None, deadline_at=None, fenced_until=None))


def _finish(draft: Draft, call: Call, outcome: Outcome, output: Json) -> None:
    draft.put_call(
        replace(
            call,
            state="finished",
            waits_for=None,
            deadline_at=None,
            outcome=outcome,
            output=output,
            finished_at=draft.not_before(call.started_at),
        )
    )


def _go_on(draft: Draft) -> None:
    if not any(call.state == "waiting" for call in draft.calls):
        draft.put(status="running")
