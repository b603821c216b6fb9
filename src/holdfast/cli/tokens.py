"""`holdfast token`: tokens for programs."""

import re
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import AsJson, Url, print_json, with_server
from holdfast.core.accounts import SCOPES, Token
from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.shapes import Record

if TYPE_CHECKING:
    from holdfast.cli.client import Client

app = typer.Typer(help="List, create and revoke API tokens.", no_args_is_help=True)

_LASTS = re.compile(r"([1-9][0-9]{0,4})([hd])")
_HOURS = {"h": 1, "d": 24}


class Made(Record, frozen=True, kw_only=True):
    token: Token
    secret: str


@app.command("list")
def list_tokens(
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Include expired and revoked ones.")
    ] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """List your API tokens and signed-in browsers."""

    async def mine(client: "Client") -> list[Token]:
        return [token async for token in client.every("/tokens", Token)]

    now = datetime.now(UTC)
    tokens = [token for token in with_server(url, mine) if everything or _state(token, now) == "valid"]
    if as_json:
        print_json(tokens)
        return
    from holdfast.cli.safe_text import neutral_line
    from holdfast.cli.tables import print_table
    from holdfast.cli.wording import ago

    print_table(
        ("id", "kind", "may", "state", "used", "name"),
        [
            (
                token.id,
                token.kind,
                " ".join(token.scopes),
                _state(token, now),
                ago(token.last_used_at, now) if token.last_used_at else "never",
                neutral_line(token.name, 100),
            )
            for token in tokens
        ],
    )


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    scopes: Annotated[
        list[str] | None,
        typer.Option(
            "--scope",
            help=f"A scope: {', '.join(SCOPES)}. Can be repeated. Default: the first two.",
        ),
    ] = None,
    lasts: Annotated[
        str | None, typer.Option("--expires", help="Lifetime, such as 12h or 30d. Default: no expiry.")
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Create an API token. It is printed once, alone on standard output."""
    body: dict[str, object] = {"name": name}
    if scopes:
        body["scopes"] = scopes
    if lasts is not None:
        body["expires_at"] = datetime.now(UTC) + _length(lasts)

    async def made(client: "Client") -> Made:
        return await client.post("/tokens", Made, body)

    answer = with_server(url, made)
    if as_json:
        print_json(answer)
        return
    print(answer.secret)
    print(
        f"Copy it now, you won't see it again. To revoke it: holdfast token revoke {answer.token.id}",
        file=sys.stderr,
    )


@app.command()
def revoke(
    token: Annotated[str, typer.Argument(help="Its id, or its name if that is unique.")], url: Url = None
) -> None:
    """Revoke a token. It stops working immediately."""

    async def revoked(client: "Client") -> None:
        now = datetime.now(UTC)
        found = [
            one
            async for one in client.every("/tokens", Token)
            if one.id == token or (one.name == token and _state(one, now) == "valid")
        ]
        match found:
            case [one]:
                await client.request("DELETE", f"/tokens/{one.id}", type(None))
            case []:
                raise NotFound(f"You have no token {token!r}; `holdfast token list` lists them.")
            case _:
                raise WrongUsage(f"Several tokens are named {token!r}; give the id.")

    with_server(url, revoked)
    print("Revoked.")


def _length(lasts: str) -> timedelta:
    match = _LASTS.fullmatch(lasts)
    if match is None:
        raise WrongUsage(f"--expires {lasts!r}: a number of hours or days, as in 12h or 30d.")
    return timedelta(hours=int(match[1]) * _HOURS[match[2]])


def _state(token: Token, now: datetime) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "expired" if token.expires_at is not None and token.expires_at <= now else "valid"
