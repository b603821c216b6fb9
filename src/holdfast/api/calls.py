"""Calls that wait for somebody: results of client tools, answers to questions, decisions of a person."""

from typing import Annotated

from litestar import Response, Router, get, post
from litestar.params import JSONBody
from msgspec import Meta

from holdfast.accounts.record import Audit
from holdfast.api.bodies import JsonRequest, checked_json
from holdfast.api.commands import command
from holdfast.api.problems import Problem, not_found
from holdfast.api.services import By, InPath, With, needs, own_chat
from holdfast.api.shown import moved
from holdfast.chats.commands import CallResult, Decide, SubmitResults
from holdfast.chats.hindsight import said_later
from holdfast.core.calls import Scope, Verdict
from holdfast.core.chats import Chat
from holdfast.core.ids import CallId, is_call_id
from holdfast.core.shapes import Border, Json, Record
from holdfast.store import calls

CallIdIn = Annotated[str, Meta(max_length=40)]


class ResultIn(Border, frozen=True, kw_only=True):
    call_id: CallIdIn
    output: Json
    is_error: bool = False


class ToolResults(Border, frozen=True, kw_only=True):
    results: Annotated[tuple[ResultIn, ...], Meta(min_length=1, max_length=500)]


class Decision(Border, frozen=True, kw_only=True):
    decision: Verdict
    scope: Scope = "once"
    note: Annotated[str, Meta(max_length=10_000)] | None = None
    output: Json = None


class CallOutput(Record, frozen=True, kw_only=True):
    """Everything a call said, where the model was given less."""

    call_id: CallId
    name: str
    output: Json
    truncated: bool


@post("/chats/{chat_id:str}/tool-results", guards=[needs("chats:write")], status_code=202)
async def submit_results(
    request: JsonRequest, chat_id: InPath, data: JSONBody[ToolResults], services: With, caller: By
) -> Response[Chat]:
    """Answer client tools, questions and plans; some or all of them. One that is answered already: 409."""
    chat = await own_chat(services, caller, chat_id)
    may_answer(caller)
    results = tuple(
        CallResult(
            call_id=CallId(result.call_id),
            output=checked_json(f"results.{number}.output", result.output),
            is_error=result.is_error,
        )
        for number, result in enumerate(data.results)
    )
    return await command(
        services,
        caller,
        request,
        chat.id,
        SubmitResults(results=results),
        answer=lambda applied: (202, moved(chat, applied)),
    )


@post("/chats/{chat_id:str}/calls/{call_id:str}/decision", guards=[needs("chats:write")], status_code=202)
async def decide_call(
    request: JsonRequest,
    chat_id: InPath,
    call_id: InPath,
    data: JSONBody[Decision],
    services: With,
    caller: By,
) -> Response[Chat]:
    """Approve or deny a call; or say of one whose outcome is unknown: run it again, it was done, skip it."""
    chat = await own_chat(services, caller, chat_id)
    may_answer(caller)
    if not is_call_id(call_id):
        raise not_found("call")
    decide = Decide(
        call_id=CallId(call_id),
        verdict=data.decision,
        user_id=caller.user.id,
        scope=data.scope,
        note=data.note,
        output=checked_json("output", data.output),
    )
    known = await services.store.read(calls.call(chat.id, decide.call_id))
    # The model may have been told already that nobody knows: then it is told this too.
    wanted = (None if known is None else said_later(known.call, decide)) or decide
    answer = await command(
        services, caller, request, chat.id, wanted, answer=lambda applied: (202, moved(chat, applied))
    )
    if known is not None and data.scope == "chat" and data.decision in ("approve", "deny"):
        audit = Audit(services.store, services.clock, services.ids)
        action = f"approval.{data.decision}"
        await audit.done(caller, action, f"chat:{chat.id}", tool=known.call.name, call_id=call_id)
    return answer


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
    )


def may_answer(caller: By) -> None:
    if not caller.may_approve:
        raise Problem("forbidden", "Only a person's credential may answer for a person.")


router = Router("/", route_handlers=[submit_results, decide_call, read_call], tags=["calls"])
