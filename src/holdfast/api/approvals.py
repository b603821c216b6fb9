"""People's decisions on tools for a whole chat, or for all their chats: listed, and revoked. Decisions are
made on a call (`calls`)."""

from litestar import Router, delete, get

from holdfast.accounts.audit_entries import Audit
from holdfast.api.bodies import JsonRequest
from holdfast.api.calls import may_answer
from holdfast.api.commands import remove
from holdfast.api.pages import Cursor, Limit, Page, page_of
from holdfast.api.problems import invalid, not_found
from holdfast.api.services import By, InPath, Services, With, needs, own_chat
from holdfast.core.calls import ApprovalRule, UserRule
from holdfast.core.ids import CallId, RuleId, is_uuid7
from holdfast.store import approvals, audit, user_rules


@get("/chats/{chat_id:str}/approvals", guards=[needs("chats:read")])
async def list_approvals(
    chat_id: InPath, services: With, caller: By, limit: Limit = 50, cursor: Cursor = None
) -> Page[ApprovalRule]:
    """The tools that a person allowed or denied for this chat, and who did."""
    chat = await own_chat(services, caller, chat_id)
    rules = await services.store.read(approvals.rules(chat.id))
    counting = [rule for rule in rules if not (rule.allowed and _always_asks(services, rule.tool))]
    return page_of(counting, limit, cursor, lambda rule: rule.id)


def _always_asks(services: Services, name: str) -> bool:
    """Such a tool cannot be allowed for the whole chat; what was granted to it is listed elsewhere
    (`grants`)."""
    tool = services.tools.get(name)
    return tool is not None and tool.always_asks


@delete("/chats/{chat_id:str}/approvals/{rule_id:str}", guards=[needs("chats:write")], status_code=204)
async def revoke_approval(
    request: JsonRequest, chat_id: InPath, rule_id: InPath, services: With, caller: By
) -> None:
    """Revoke a decision: the tool's next call is judged as if it had never been made."""
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


@get("/approvals", guards=[needs("chats:read")])
async def list_rules(services: With, caller: By, limit: Limit = 50, cursor: Cursor = None) -> Page[UserRule]:
    """The caller's own rules, in order of creation."""
    if cursor is not None and not is_uuid7(cursor):
        raise invalid("cursor", "not a cursor of this list")
    after = None if cursor is None else RuleId(cursor)
    found = await services.store.read(user_rules.page(caller.user.id, after=after, limit=limit + 1))
    return Page(items=found[:limit], next_cursor=found[limit - 1].id if len(found) > limit else None)


@delete("/approvals/{rule_id:str}", guards=[needs("chats:write")], status_code=204)
async def revoke_rule(request: JsonRequest, rule_id: InPath, services: With, caller: By) -> None:
    """Revoke a rule: it no longer applies from the next call on."""
    may_answer(caller)
    wanted = RuleId(rule_id)
    found = await services.store.read(user_rules.rule(wanted, caller.user.id)) if is_uuid7(rule_id) else None
    if found is None:
        raise not_found("approval")
    entry = Audit(services.store, services.clock, services.ids).entry(
        caller, "approval.revoke", f"user:{caller.user.id}", tool=found.tool, allowed=found.allowed
    )
    await remove(services, caller, request, audit.audited(user_rules.delete(wanted, caller.user.id), entry))


router = Router(
    "/", route_handlers=[list_approvals, revoke_approval, list_rules, revoke_rule], tags=["calls"]
)
