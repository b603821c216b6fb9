"""`holdfast approvals`: what people let a chat do for good, and taking it back."""

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import AsJson, ChatWord, Url, print_json, with_server
from holdfast.cli.safe_text import neutral_line
from holdfast.cli.tables import print_table
from holdfast.core.calls import ApprovalRule
from holdfast.core.errors import NotFound
from holdfast.core.grants import Grant
from holdfast.core.shapes import Record

if TYPE_CHECKING:
    from holdfast.cli.client import Client


class Permissions(Record, frozen=True, kw_only=True):
    """Tools that are allowed or refused for the chat, and paths that it may read outside of its workspace."""

    approvals: tuple[ApprovalRule, ...]
    grants: tuple[Grant, ...]


def approvals(
    chat: ChatWord,
    revoke: Annotated[
        str | None, typer.Option("--revoke", metavar="ID", help="Revoke one by its id.")
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show or revoke what was allowed for a whole chat. Includes denials and paths it may read."""

    async def read(client: "Client") -> Permissions:
        from holdfast.cli.lookups import find_chat

        found = await find_chat(client, chat)
        path = f"/chats/{found.id}/approvals"
        given = [grant async for grant in client.every("/grants", Grant) if grant.chat_id == found.id]
        rules = await client.listed(path, ApprovalRule)
        if revoke is not None:
            if revoke in [rule.id for rule in rules]:
                await client.request("DELETE", f"{path}/{revoke}", type(None))
            elif revoke in [grant.id for grant in given]:
                await client.request("DELETE", f"/grants/{revoke}", type(None))
            else:
                raise NotFound(
                    f"Nothing in this chat has the id {revoke!r}; `holdfast approvals` lists everything."
                )
        return Permissions(approvals=rules, grants=tuple(given))

    permissions = with_server(url, read)
    if revoke is not None:
        print("Revoked.")
    elif as_json:
        print_json(permissions)
    else:
        _show(permissions)


def _show(permissions: Permissions) -> None:
    rows = [
        (
            rule.id,
            "allowed" if rule.allowed else "denied",
            f"{rule.at:%Y-%m-%d %H:%M}",
            neutral_line(rule.tool, 100),
        )
        for rule in permissions.approvals
    ]
    rows += [
        (grant.id, "may read", f"{grant.granted_at:%Y-%m-%d %H:%M}", neutral_line(grant.path, 500))
        for grant in permissions.grants
    ]
    if rows:
        print_table(("id", "what", "since", "tool or path"), rows)
    else:
        print("Nothing has been allowed or denied for the whole chat.")
