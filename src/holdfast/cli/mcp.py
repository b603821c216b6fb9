"""`holdfast mcp`: servers of the Model Context Protocol. A secret is read from a variable or typed unseen,
never from the command line, which others on the machine can read."""

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.options import AsJson, Url, WorkspaceName, print_json, with_server
from holdfast.cli.safe_text import neutral, neutral_line
from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.shapes import Json, Record

if TYPE_CHECKING:
    from holdfast.cli.client import Client

app = typer.Typer(help="List, add and test MCP servers; trust what a workspace brings.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The server's name.")]


class McpToolRow(Record, frozen=True, kw_only=True):
    name: str
    full_name: str
    description: str
    state: str


class McpServerRow(Record, frozen=True, kw_only=True):
    id: str
    name: str
    origin: str
    transport: str
    command: str
    args: tuple[str, ...]
    url: str
    enabled: bool
    state: str
    error: str | None
    title: str
    version: str
    offered: tuple[McpToolRow, ...]
    waiting: int


class TrustRow(Record, frozen=True, kw_only=True):
    kind: str
    path: str
    hash: str
    state: str
    text: str
    error: str | None


@app.command("list")
def list_servers(workspace: WorkspaceName = None, as_json: AsJson = False, url: Url = None) -> None:
    """List the servers you can use, and how they are doing."""
    servers = with_server(url, lambda client: _servers(client, workspace))
    if as_json:
        print_json(servers)
        return
    from holdfast.cli.tables import print_table

    print_table(
        ("name", "state", "tools", "from", "what"),
        [
            (
                one.name,
                one.state,
                f"{len(one.offered)}{f' ({one.waiting} wait for approval)' if one.waiting else ''}",
                one.origin,
                neutral_line(one.error or one.url or " ".join((one.command, *one.args)), 200),
            )
            for one in servers
        ],
    )


@app.command()
def add(
    name: Name,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="URL | COMMAND [ARGS]...", help="Its address, or a program and its arguments."
        ),
    ],
    env: Annotated[
        list[str] | None,
        typer.Option("--env", help="NAME: a variable of the program, taken from this shell or asked for."),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", help="NAME: a header of requests to it; its value is asked for."),
    ] = None,
    own: Annotated[bool, typer.Option("--own", help="For yourself alone, also as an admin.")] = False,
    approval: Annotated[str | None, typer.Option(help="auto, ask, allow or deny, for all its tools.")] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Add a server.

    Put `--` before a program whose arguments begin with a dash."""
    address = words[0] if words[0].startswith(("http://", "https://")) else ""
    if address and len(words) > 1:
        raise WrongUsage("An address has no arguments.")
    body: dict[str, Json] = {
        "name": name,
        "command": "" if address else words[0],
        "args": [] if address else words[1:],
        "url": address,
        "env": {one: _secret(one) for one in env or ()},
        "headers": {one: _secret(one) for one in header or ()},
        **({"approval": approval} if approval else {}),
        **({"shared": False} if own else {}),
    }

    async def added(client: "Client") -> McpServerRow:
        return await client.post("/mcp-servers", McpServerRow, body)

    server = with_server(url, added)
    print_json(server) if as_json else print(f"Added. `holdfast mcp test {server.name}` tries it.")


@app.command()
def remove(name: Name, url: Url = None) -> None:
    """Remove a server with its secrets. What runs of it ends."""

    async def removed(client: "Client") -> None:
        server = await _find(client, name, None)
        await client.request("DELETE", f"/mcp-servers/{server.id}", type(None))

    with_server(url, removed)
    print("Removed.")


@app.command("test")
def try_server(name: Name, workspace: WorkspaceName = None, as_json: AsJson = False, url: Url = None) -> None:
    """Start a server and list its tools.

    Exit code 1 if that fails."""

    async def tried(client: "Client") -> McpServerRow:
        server = await _find(client, name, workspace)
        return await client.post(
            f"/mcp-servers/{server.id}/test{await _query(client, workspace)}", McpServerRow, None
        )

    server = with_server(url, tried)
    if as_json:
        print_json(server)
    else:
        _show(server)
    if server.error is not None:
        raise typer.Exit(1)


@app.command()
def approve(name: Name, workspace: WorkspaceName = None, url: Url = None) -> None:
    """Take tools that are new or were changed."""

    async def approved(client: "Client") -> McpServerRow:
        server = await _find(client, name, workspace)
        return await client.post(
            f"/mcp-servers/{server.id}/approve{await _query(client, workspace)}", McpServerRow, {}
        )

    _show(with_server(url, approved))


@app.command()
def value(
    name: Annotated[str, typer.Argument(help="The NAME that servers refer to as ${NAME}.")],
    delete: Annotated[bool, typer.Option("--delete", help="Forget it.")] = False,
    url: Url = None,
) -> None:
    """Store a value for ${NAME}, sealed.

    It is taken from the variable of this name, from standard input, or typed unseen."""
    given = None if delete else _secret(name)

    async def stored(client: "Client") -> None:
        if given is None:
            await client.request("DELETE", f"/mcp-values/{name}", type(None))
        else:
            await client.request("PUT", f"/mcp-values/{name}", type(None), body={"value": given})

    with_server(url, stored)
    print("Forgotten." if delete else "Stored.")


@app.command()
def trust(
    workspace: WorkspaceName = None,
    path: Annotated[
        list[str] | None, typer.Option("--path", help="Only this file. As many as needed; without it, all.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Trust them without asking.")] = False,
    refuse: Annotated[bool, typer.Option("--refuse", help="Refuse them instead.")] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Look at what a workspace brings along, and trust it.

    Servers and agents of a repository count once you trusted exactly their content."""

    async def items(client: "Client") -> tuple[str, list[TrustRow]]:
        from holdfast.cli.workspace_choice import find_workspace

        found = await find_workspace(client, workspace or ".")
        page = await client.get(f"/workspaces/{found.id}/trust", _TrustPage)
        return found.id, list(page.items)

    workspace_id, found = with_server(url, items)
    chosen = [one for one in found if not path or one.path in path]
    if as_json:
        print_json(chosen)
        return
    done = "refused" if refuse else "trusted"
    open_items = [one for one in chosen if one.state != done and not one.error]
    for one in chosen:
        print(f"{one.path} ({one.kind}, {one.state}{f': {one.error}' if one.error else ''})")
        if one in open_items:
            print(f"\n{neutral(one.text)}\n")
    if not open_items:
        print("Nothing to decide.")
        return
    if not yes and not typer.confirm("Refuse these?" if refuse else "Trust exactly this content?"):
        raise typer.Exit(1)
    body: dict[str, Json] = {
        "items": [{"path": one.path, "hash": one.hash} for one in open_items],
        "decision": "refuse" if refuse else "trust",
    }

    async def decided(client: "Client") -> Any:
        return await client.post(f"/workspaces/{workspace_id}/trust", dict[str, Any], body)

    with_server(url, decided)
    print("Refused." if refuse else "Trusted, until it is changed.")


async def _servers(client: "Client", workspace: str | None) -> list[McpServerRow]:
    path = f"/mcp-servers{await _query(client, workspace)}"
    page = await client.request("GET", path, _ServerPage)
    return list(page.items)


class _ServerPage(Record, frozen=True, kw_only=True):
    items: tuple[McpServerRow, ...]


class _TrustPage(Record, frozen=True, kw_only=True):
    items: tuple[TrustRow, ...]


async def _find(client: "Client", name: str, workspace: str | None) -> McpServerRow:
    for one in await _servers(client, workspace):
        if name in (one.name, one.id):
            return one
    raise NotFound(f"There is no MCP server {name!r}; `holdfast mcp list` lists them.")


async def _query(client: "Client", workspace: str | None) -> str:
    if workspace is None:
        return ""
    from holdfast.cli.workspace_choice import find_workspace

    return f"?workspace_id={(await find_workspace(client, workspace)).id}"


def _show(server: McpServerRow) -> None:
    said = f"{server.title} {server.version}".strip()
    print(f"{server.name}: {server.state}{f' ({neutral_line(said, 100)})' if said else ''}")
    if server.error is not None:
        print(neutral_line(server.error, 2000), file=sys.stderr)
    for tool in server.offered:
        note = "" if tool.state == "approved" else f" [{tool.state}]"
        print(f"  {tool.full_name}{note}  {neutral_line(tool.description, 100)}")


def _secret(name: str) -> str:
    if (found := os.environ.get(name)) is not None:
        return found
    if not sys.stdin.isatty():
        line = sys.stdin.readline().strip()
        if not line:
            raise WrongUsage(f"There is no value for {name}: set the variable, or give it on standard input.")
        return line
    from getpass import getpass

    return getpass(f"{name} (not shown): ")
