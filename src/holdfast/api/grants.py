"""Grants: paths outside their workspaces that people let chats read; listed and revoked."""

from litestar import Router, delete, get

from holdfast.accounts.audit_entries import Audit
from holdfast.api.bodies import JsonRequest
from holdfast.api.commands import remove
from holdfast.api.pages import Cursor, Limit, Page
from holdfast.api.problems import invalid, not_found
from holdfast.api.services import By, InPath, With, needs
from holdfast.core.grants import Grant
from holdfast.core.ids import GrantId, is_uuid7
from holdfast.store import audit, grants


@get("/grants", guards=[needs("chats:read")])
async def list_grants(services: With, caller: By, limit: Limit = 50, cursor: Cursor = None) -> Page[Grant]:
    """Grants of the caller's chats, in the order they were given."""
    if cursor is not None and not is_uuid7(cursor):
        raise invalid("cursor", "not a cursor of this list")
    after = None if cursor is None else GrantId(cursor)
    found = await services.store.read(grants.page(caller.user.id, after=after, limit=limit + 1))
    return Page(items=found[:limit], next_cursor=found[limit - 1].id if len(found) > limit else None)


@delete("/grants/{grant_id:str}", guards=[needs("chats:write")], status_code=204)
async def revoke_grant(request: JsonRequest, grant_id: InPath, services: With, caller: By) -> None:
    """Revoke a grant: from the next call on the chat can read nothing there."""
    found = (
        await services.store.read(grants.grant(GrantId(grant_id), caller.user.id))
        if is_uuid7(grant_id)
        else None
    )
    if found is None:
        raise not_found("grant")
    entry = Audit(services.store, services.clock, services.ids).entry(
        caller, "grant.revoke", f"grant:{found.id}", path=found.path, chat_id=found.chat_id
    )
    revoke = audit.audited(grants.delete(found.id, caller.user.id), entry)
    await remove(services, caller, request, revoke)


router = Router("/", route_handlers=[list_grants, revoke_grant], tags=["grants"])
