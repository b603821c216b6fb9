"""Calls that wait for somebody: results of client tools, answers to questions, a person's decisions."""

from collections.abc import Sequence
from typing import Annotated

from litestar import Response, Router, get, post
from litestar.params import JSONBody
from msgspec import UNSET, Meta, UnsetType

from holdfast.accounts.audit_entries import Audit
from holdfast.api.bodies import JsonRequest, checked_json
from holdfast.api.chat_answers import moved
from holdfast.api.commands import command
from holdfast.api.problems import Problem, not_found
from holdfast.api.services import By, InPath, Services, With, needs, own_chat
from holdfast.chats.commands import CallResult, Command, Decide, Notify, SubmitResults
from holdfast.chats.synthetic import late_decision_notice
from holdfast.chats.view import Call
from holdfast.core.calls import ActionCall, Scope, UserRule, Verdict
from holdfast.core.chats import Chat
from holdfast.core.ids import CallId, RuleId, is_call_id
from holdfast.core.shapes import Border, Json, Record
from holdfast.store import audit, calls, user_rules
from holdfast.store.interface import Applied
from holdfast.tools.approval import subject_of

CallIdIn = Annotated[str, Meta(max_length=40)]


class ResultIn(Border, frozen=True, kw_only=True):
    call_id: CallIdIn
    output: Json
    is_error: bool = False


class ToolResults(Border, frozen=True, kw_only=True):
    results: Annotated[tuple[ResultIn, ...], Meta(min_length=1, max_length=500)]


class Decision(Border, frozen=True, kw_only=True):
    decision: Verdict
    # If omitted, `once`; for a path that an agent asks for, `chat`.
    scope: Scope | UnsetType = UNSET
    note: Annotated[str, Meta(max_length=10_000)] | None = None
    output: Json = None


class CallOutput(Record, frozen=True, kw_only=True):
    """The full output of a call of which the model was given only a part."""

    call_id: CallId
    name: str
    output: Json
    truncated: bool
    # Where its tool came from, and as what that was configured; null: it is built in.
    source: str | None


@post("/chats/{chat_id:str}/tool-results", guards=[needs("chats:write")], status_code=202)
async def submit_results(
    request: JsonRequest, chat_id: InPath, data: JSONBody[ToolResults], services: With, caller: By
) -> Response[Chat]:
    """Answer client tools, questions and plans; some or all of them. A call that is already answered: 409."""
    call_ids = [CallId(result.call_id) for result in data.results]
    chat = await _asking(services, caller, chat_id, call_ids)
    may_answer(caller)
    results = tuple(
        CallResult(
            call_id=CallId(result.call_id),
            output=checked_json(f"results.{number}.output", result.output),
            is_error=result.is_error,
        )
        for number, result in enumerate(data.results)
    )
    return await _answer(services, caller, request, chat, SubmitResults(results=results), call_ids)


@post("/chats/{chat_id:str}/calls/{call_id:str}/decision", guards=[needs("chats:write")], status_code=202)
async def decide_call(
    request: JsonRequest,
    chat_id: InPath,
    call_id: InPath,
    data: JSONBody[Decision],
    services: With,
    caller: By,
) -> Response[Chat]:
    """Approve or deny a call, or a plan; or settle a call with an unknown outcome: run it again, it was done,
    or skip it."""
    chat = await _asking(services, caller, chat_id, [CallId(call_id)])
    may_answer(caller)
    if not is_call_id(call_id):
        raise not_found("call")
    asked = () if chat.action is None else chat.action.calls
    approval = next((one for one in asked if (one.call_id, one.kind) == (call_id, "approval")), None)
    scope = _scope(data, approval)
    decide = Decide(
        call_id=CallId(call_id),
        verdict=data.decision,
        user_id=caller.user.id,
        scope=scope,
        host=None if approval is None else subject_of(approval.name, approval.input).host,
        note=data.note,
        output=checked_json("output", data.output),
    )
    known = await services.store.read(calls.call(chat.id, decide.call_id))
    wanted = decide if known is None else _meant(known.call, decide)
    answer = await _answer(services, caller, request, chat, wanted, [decide.call_id])
    if approval is not None and scope == "always":
        await _remember(services, caller, chat, approval, allowed=data.decision == "approve")
    if known is not None and data.scope == "chat" and data.decision in ("approve", "deny"):
        record = Audit(services.store, services.clock, services.ids)
        action = f"approval.{data.decision}"
        await record.done(caller, action, f"chat:{chat.id}", tool=known.call.name, call_id=call_id)
    return answer


def _scope(data: Decision, asked: ActionCall | None) -> Scope:
    if data.scope is not UNSET:
        return data.scope
    asks_for_path = asked is not None and subject_of(asked.name, asked.input).path is not None
    return "chat" if asks_for_path and data.decision == "approve" else "once"


async def _remember(services: Services, caller: By, chat: Chat, asked: ActionCall, *, allowed: bool) -> None:
    """After the decision: if the rule is lost between the two, the user is asked again."""
    subject = subject_of(asked.name, asked.input)
    now = services.clock.now()
    rule = UserRule(
        id=RuleId(services.ids.uuid7(now)),
        user_id=caller.user.id,
        tool=asked.name,
        workspace_id=chat.workspace_id,
        host=subject.host,
        path=subject.path,
        allowed=allowed,
        created_at=now,
    )
    entry = Audit(services.store, services.clock, services.ids).entry(
        caller, "approval.always", f"chat:{chat.id}", tool=rule.tool, allowed=allowed, path=rule.path
    )
    await services.store.write(audit.audited(user_rules.add(rule), entry))


@get("/chats/{chat_id:str}/calls/{call_id:str}", guards=[needs("chats:read")])
async def read_call(chat_id: InPath, call_id: InPath, services: With, caller: By) -> CallOutput:
    """The full output of a call."""
    chat = await own_chat(services, caller, chat_id)
    found = await services.store.read(calls.call(chat.id, CallId(call_id))) if is_call_id(call_id) else None
    if found is None:
        raise not_found("call")
    call, full = found.call, found.full_output
    return CallOutput(
        call_id=call.call_id,
        name=call.name,
        output=call.output if full is None else full,
        truncated=call.truncated and full is None,
        source=call.source,
    )


async def _asking(services: Services, caller: By, chat_id: str, call_ids: Sequence[CallId]) -> Chat:
    """The chat these calls belong to: the one that is named, or the sub-agent whose calls it shows."""
    chat = await own_chat(services, caller, chat_id)
    shown = () if chat.action is None else chat.action.calls
    askers = {call.chat_id for call in shown if call.call_id in call_ids}
    return chat if askers <= {chat.id} or len(askers) > 1 else await own_chat(services, caller, askers.pop())


def _meant(call: Call, decide: Decide) -> Decide | SubmitResults | Notify:
    match call.waits_for, decide.verdict:
        case "plan", "approve":
            answer: Json = {"approved": True, **({"note": decide.note} if decide.note else {})}
        case "plan", "deny":
            answer = {"approved": False, "note": decide.note or ""}
        case _:
            # The model may already have been told that nobody knows: then it is told this too.
            return late_decision_notice(call, decide) or decide
    return SubmitResults(results=(CallResult(call_id=call.call_id, output=answer),))


async def _answer(
    services: Services,
    caller: By,
    request: JsonRequest,
    chat: Chat,
    wanted: Command,
    call_ids: Sequence[CallId],
) -> Response[Chat]:
    def answer(applied: Applied) -> tuple[int, object]:
        if isinstance(wanted, Notify) and applied.change.is_empty:
            said = _answered_already(call_ids[0])
            return said.status, said.body
        return 202, moved(chat, applied)

    try:
        return await command(services, caller, request, chat.id, wanted, answer=answer)
    except Problem as problem:
        if problem.body.code != "wrong_state":
            raise
        # The chat may have continued because somebody else was faster: then say so.
        for call_id in call_ids:
            known = await services.store.read(calls.call(chat.id, call_id))
            if known is not None and known.call.state != "waiting":
                raise _answered_already(call_id) from None
        raise


def _answered_already(call_id: CallId) -> Problem:
    return Problem("already_answered", f"Call {call_id} has already been answered.")


def may_answer(caller: By) -> None:
    if not caller.may_approve:
        raise Problem("forbidden", "Only a person's credential may answer for a person.")


router = Router("/", route_handlers=[submit_results, decide_call, read_call], tags=["calls"])
