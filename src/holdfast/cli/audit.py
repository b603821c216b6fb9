"""`holdfast audit`: who did what on the server, for admins."""

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import AsJson, Url, print_json, with_server
from holdfast.cli.safe_text import neutral_line
from holdfast.core.accounts import AuditEntry, User
from holdfast.core.shapes import encode_text

if TYPE_CHECKING:
    from holdfast.cli.client import Client


def audit(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="Maximum number to list.")] = 50,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show who did what on the server, newest first (admins only)."""

    async def listed(client: "Client") -> tuple[tuple[AuditEntry, ...], dict[str, str]]:
        entries = await client.listed("/audit", AuditEntry, {"limit": limit})
        names = {user.id: user.name async for user in client.every("/users", User)}
        return entries, {str(user_id): name for user_id, name in names.items()}

    entries, names = with_server(url, listed)
    if as_json:
        print_json(entries)
        return
    from holdfast.cli.tables import print_table

    print_table(
        ("when", "who", "outcome", "action", "target", "detail"),
        [
            (
                f"{entry.at:%Y-%m-%d %H:%M:%S}",
                neutral_line(names.get(str(entry.user_id), str(entry.user_id or "-")), 40),
                entry.outcome,
                neutral_line(entry.action, 60),
                neutral_line(entry.target or "-", 60),
                neutral_line(encode_text(entry.detail), 300) if entry.detail else "",
            )
            for entry in entries
        ],
    )
