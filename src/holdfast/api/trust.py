"""Content of a workspace that would run or act, and whether the caller trusts it."""

from typing import Annotated

from litestar import Response, Router, get, post
from litestar.params import JSONBody
from msgspec import Meta

from holdfast.accounts.audit_entries import Audit
from holdfast.api.bodies import JsonRequest
from holdfast.api.calls import may_answer
from holdfast.api.commands import write
from holdfast.api.pages import Page
from holdfast.api.services import By, InPath, With, needs
from holdfast.api.workspaces import own_workspace
from holdfast.core.shapes import Border, Record
from holdfast.core.trust import Decision, TrustState
from holdfast.store.audit import audited
from holdfast.tools.trust import JudgedItem
from holdfast.workspaces.places.trust_items import NamedFile


class DecidedItem(Border, frozen=True, kw_only=True):
    path: Annotated[str, Meta(min_length=1, max_length=4096)]
    # The hash of the content that was read: a later change is not trusted.
    hash: Annotated[str, Meta(min_length=64, max_length=64)]


class DecideTrust(Border, frozen=True, kw_only=True):
    items: Annotated[tuple[DecidedItem, ...], Meta(min_length=1, max_length=500)]
    decision: Decision


class TrustShown(Record, frozen=True, kw_only=True):
    """Something in a workspace that would run or act. `text` is all of it; `files` are the files of the
    workspace that its commands and arguments name, which the hash covers too."""

    kind: str
    path: str
    hash: str
    state: TrustState
    text: str
    files: tuple[NamedFile, ...]
    # Why it cannot be trusted in its current form.
    error: str | None


@get("/workspaces/{workspace_id:str}/trust", guards=[needs("chats:read")])
async def list_trust(workspace_id: InPath, services: With, caller: By) -> Page[TrustShown]:
    """By kind and path. Only what is `trusted` runs; changed content is not trusted by anybody."""
    found = await own_workspace(services, caller, workspace_id)
    judged = await services.trust.items(found.id, caller.user.id)
    return Page(items=tuple(_shown(one) for one in judged))


@post("/workspaces/{workspace_id:str}/trust", guards=[needs("chats:write")], status_code=200)
async def decide_trust(
    request: JsonRequest, workspace_id: InPath, data: JSONBody[DecideTrust], services: With, caller: By
) -> Response[Page[TrustShown]]:
    """Trust or refuse exactly this content, only for the caller. A later decision replaces it."""
    found = await own_workspace(services, caller, workspace_id)
    may_answer(caller)
    wanted = [(item.path, item.hash) for item in data.items]
    decide = await services.trust.decide(found.id, caller.user.id, wanted, data.decision)
    entry = Audit(services.store, services.clock, services.ids).entry(
        caller, f"trust.{data.decision}", f"workspace:{found.id}", paths=[path for path, _ in wanted]
    )
    answer = await write(
        services,
        caller,
        request,
        audited(decide, entry),
        answer=lambda judged: (200, Page(items=tuple(_shown(one) for one in judged))),
    )
    services.trust.decided()
    return answer


def _shown(one: JudgedItem) -> TrustShown:
    item = one.item
    return TrustShown(
        kind=item.kind,
        path=item.path,
        hash=item.hash,
        state=one.state,
        text=item.text,
        files=item.files,
        error=item.error,
    )


router = Router("/", route_handlers=[list_trust, decide_trust], tags=["workspaces"])
