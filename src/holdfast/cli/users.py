"""`holdfast user`: who may sign in. For admins."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from holdfast.cli.options import AsJson, Url, print_json, with_server
from holdfast.core.accounts import User
from holdfast.core.shapes import Record

if TYPE_CHECKING:
    from holdfast.cli.client import Client

app = typer.Typer(help="List, add, suspend and restore users (admins only).", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The user's name.")]


class Invited(Record, frozen=True, kw_only=True):
    user: User
    sign_in_token: str


class MeAnswer(Record, frozen=True, kw_only=True):
    user: User


@app.command("list")
def list_users(as_json: AsJson = False, url: Url = None) -> None:
    """List all users."""

    async def everybody(client: "Client") -> list[User]:
        return [user async for user in client.every("/users", User)]

    users = with_server(url, everybody)
    if as_json:
        print_json(users)
        return
    from holdfast.cli.safe_text import neutral_line
    from holdfast.cli.tables import print_table

    print_table(
        ("name", "role", "state", "since"),
        [
            (
                neutral_line(user.name, 64),
                user.role,
                "suspended" if user.suspended_at else "active",
                f"{user.created_at:%Y-%m-%d}",
            )
            for user in users
        ],
    )


@app.command()
def add(
    name: Name,
    role: Annotated[
        Literal["member", "admin"], typer.Option(help="Admins manage users, providers and models.")
    ] = "member",
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Add a user and print a sign-in link. It works once, for ten minutes."""

    async def added(client: "Client") -> tuple[str, Invited]:
        return client.url, await client.post("/users", Invited, {"name": name, "role": role})

    _show_link(*with_server(url, added), as_json=as_json)


@app.command("sign-in")
def sign_in(
    name: Annotated[str | None, typer.Argument(help="The user's name. Default: you.")] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Print a new sign-in link for a user. It works once, for ten minutes."""

    async def invited(client: "Client") -> tuple[str, Invited]:
        from holdfast.cli.lookups import find_user

        user = (
            (await client.get("/session", MeAnswer)).user if name is None else await find_user(client, name)
        )
        return client.url, await client.post(f"/users/{user.id}/sign-in", Invited)

    _show_link(*with_server(url, invited), as_json=as_json)


@app.command()
def suspend(name: Name, url: Url = None) -> None:
    """Suspend a user. Their sessions and tokens stop working within seconds; their chats stay."""
    _change(name, url, suspended=True)
    print("Suspended.")


@app.command()
def resume(name: Name, url: Url = None) -> None:
    """Restore a suspended user."""
    _change(name, url, suspended=False)
    print("Resumed.")


def _change(name: str, url: str | None, *, suspended: bool) -> None:
    async def changed(client: "Client") -> User:
        from holdfast.cli.lookups import find_user

        user = await find_user(client, name)
        return await client.request("PATCH", f"/users/{user.id}", User, body={"suspended": suspended})

    with_server(url, changed)


def _show_link(server: str, invited: Invited, *, as_json: bool) -> None:
    link = f"{server}/login#token={invited.sign_in_token}"
    print_json({"user": invited.user, "sign_in_url": link}) if as_json else print(link)
