"""What people said of tools for a whole chat: listed, and taken back. What is said now is a decision on a
call (`calls`)."""

from litestar import Router, delete, get

from holdfast.accounts.record import Audit
from holdfast.api.bodies import JsonRequest
from holdfast.api.calls import may_answer
from holdfast.api.commands import remove
from holdfast.api.pages import Cursor, Limit, Page, page_of
from holdfast.api.problems import not_found
from holdfast.api.services import By, InPath, With, needs, own_chat
from holdfast.core.calls import ApprovalRule
from holdfast.core.ids import CallId
from holdfast.store import approvals, audit


@get("/chats/{chat_id:str}/approvals", guards=[needs("chats:read")])
async def list_approvals(
    chat_id: InPath, services: With, caller: By, limit: Limit = 50, cursor: Cursor = None
) -> Page[ApprovalRule]:
    """The tools that a person allowed or refused for this chat, and who it was."""
    chat = await own_chat(services, caller, chat_id)
    rules = await services.store.read(approvals.rules(chat.id))
    return page_of(rules, limit, cursor, lambda rule: rule.id)


@delete("/chats/{chat_id:str}/approvals/{rule_id:str}", guards=[needs("chats:write")], status_code=204)
async def revoke_approval(
    request: JsonRequest, chat_id: InPath, rule_id: InPath, services: With, caller: By
) -> None:
    """Take it back: the tool's next call is judged as if nobody had said anything of it."""
    chat = await own_chat(services, caller, chat_id)
    may_answer(caller)
    rules = await services.store.read(approvals.rules(chat.id))
    found = next((rule for rule in rules if rule.id == rule_id), None)
    if found is None:
        raise not_found("approval")
    entry = Audit(services.store, services.clock, services.ids).entry(
        caller, "approval.revoke", f"chat:{chat.id}", tool=found.tool, allowed=found.allowed
    )
    revoke = approvals.revoke(chat.id, CallId(rule_id), caller.user.id)
    await remove(services, caller, request, audit.audited(revoke, entry))


router = Router("/", route_handlers=[list_approvals, revoke_approval], tags=["calls"])
