"""Asking a person for access: a path outside the workspace that the chat may read, until the turn ends or
from then on. Only a person's approval grants it: of this very call, or through a rule of theirs that covers
the path."""

from typing import Annotated

from msgspec import Meta

from holdfast.core.accounts import AuditEntry
from holdfast.core.clock import Clock
from holdfast.core.errors import HoldfastError
from holdfast.core.grants import Grant, GrantKind
from holdfast.core.ids import AuditId, GrantId, Ids
from holdfast.core.text import one_line
from holdfast.store import audit, grants
from holdfast.store.interface import Store
from holdfast.tools.contract import Input, Tool, ToolAnswer, ToolContext, ToolError
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.files.grant_roots import grantable
from holdfast.workspaces.places.chat_directory import Workspaces


class RequestAccess(Input, frozen=True, kw_only=True):
    path: Annotated[
        str,
        Meta(
            description="The absolute path of a file or a directory; a directory includes everything in it.",
            examples=["/home/me/notes"],
            min_length=1,
            max_length=4096,
        ),
    ]
    reason: Annotated[
        str,
        Meta(
            description="What it is needed for, so that the user can decide.",
            examples=["The specification is there."],
            min_length=1,
            max_length=2000,
        ),
    ]


def access_tool(store: Store, workspaces: Workspaces, clock: Clock, ids: Ids) -> Tool:
    return Tool(
        name="request_access",
        description=(
            "Ask the user to let you read a file or directory outside the workspace. Once "
            "granted, read_file, list, glob and grep accept absolute paths there; nothing there "
            "can be written. Ask for no more than you need."
        ),
        input=RequestAccess,
        run=Requests(store, workspaces, clock, ids).grant,
        effect="idempotent",
        planning="run",
        reach="outside",
        always_asks=True,
    )


class Requests:
    def __init__(self, store: Store, workspaces: Workspaces, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._workspaces = workspaces
        self._clock = clock
        self._ids = ids

    async def grant(self, context: ToolContext, asked: RequestAccess) -> ToolAnswer:
        """Runs after the person has approved the call."""
        if context.approved_by is None:
            raise ToolError("Only a person can grant access, and none has approved this call.")
        try:
            kind: GrantKind = await blocking(lambda: grantable(asked.path, self._workspaces.roots))
            now = self._clock.now()
            new = Grant(
                id=GrantId(self._ids.uuid7(now)),
                chat_id=context.chat_id,
                call_id=context.call_id,
                path=asked.path,
                kind=kind,
                reason=asked.reason,
                granted_by=context.approved_by,
                granted_at=now,
                scope=context.approved_for,
            )
            granted = audit.audited(grants.add(new, context.owner_id), self._entry(new))
            await self._store.write(granted, on_behalf=context.fence)
        except HoldfastError as error:
            raise ToolError(error.text) from error
        what = "file" if kind == "file" else "directory and everything in it"
        until = "until this turn ends" if new.scope == "once" else "in this chat"
        return ToolAnswer(output=f"You may read this {what} {until}, with its absolute path: {asked.path}")

    def _entry(self, new: Grant) -> AuditEntry:
        return AuditEntry(
            id=AuditId(self._ids.uuid7(new.granted_at)),
            at=new.granted_at,
            user_id=new.granted_by,
            action="grant.give",
            target=f"grant:{new.id}",
            outcome="done",
            detail={"path": one_line(new.path, 200), "chat_id": new.chat_id},
        )
