"""`holdfast workspace`: the directories that agents work in."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import AsJson, Url, print_json, with_server
from holdfast.core.errors import NotFound, WrongUsage

if TYPE_CHECKING:
    from holdfast.cli.client import Client
    from holdfast.cli.workspace_choice import WorkspaceRow

app = typer.Typer(help="List, make and remove the directories that agents work in.", no_args_is_help=True)


@app.command("list")
def list_workspaces(as_json: AsJson = False, url: Url = None) -> None:
    """List your workspaces."""

    async def listed(client: "Client") -> "list[WorkspaceRow]":
        from holdfast.cli.workspace_choice import WorkspaceRow

        return [workspace async for workspace in client.every("/workspaces", WorkspaceRow)]

    found = with_server(url, listed)
    if as_json:
        print_json(found)
        return
    from holdfast.cli.safe_text import neutral_line
    from holdfast.cli.tables import print_table

    if found:
        print_table(
            ("name", "kind", "path"),
            [(neutral_line(one.name, 100), one.kind, neutral_line(one.path, 500)) for one in found],
        )
    else:
        print("No workspaces yet. `holdfast workspace add` adds the current directory.")


@app.command()
def add(
    path: Annotated[
        str, typer.Argument(help="A directory on the server, inside one of `workspaces.roots`.")
    ] = ".",
    name: Annotated[str | None, typer.Option(help="Name. Default: the directory's.")] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Register a directory as a workspace. Does nothing if it already is one."""

    async def added(client: "Client") -> "WorkspaceRow":
        from holdfast.cli.workspace_choice import local_path, look_at, register

        if not client.is_here and not path.startswith("/"):
            raise WrongUsage("The server is on another machine. Give the absolute path of a directory there.")
        wanted = Path(path) if not client.is_here else local_path(path)
        directory = await look_at(client, wanted)
        if directory.workspace is not None and name in (None, directory.workspace.name):
            return directory.workspace
        return await register(client, directory.path, name)

    workspace = with_server(url, added)
    print_json(workspace) if as_json else print(f"{workspace.path} is the workspace {workspace.name}.")


@app.command()
def new(
    template: Annotated[
        str | None,
        typer.Argument(
            help="A template: its name, or the https address of a git repository. None: list them."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the workspace and its directory. Default: the template's.")
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", "-p", help="A parameter of the template, as NAME=VALUE. Repeatable."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Trust what the template runs, unasked.")] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Make a workspace from a template. Shows what a template from the internet runs, and asks."""
    from holdfast.cli.new_workspace import TemplateRow, TemplateRows, build, show_templates

    if template is None:
        listed = with_server(url, lambda client: client.get("/templates", TemplateRows))
        print_json(listed.items) if as_json else show_templates(listed.items)
        return
    wanted = template
    found = with_server(url, lambda client: client.get("/templates/one", TemplateRow, {"template": wanted}))
    made = with_server(url, lambda client: build(client, wanted, found, name, parameter or [], yes, as_json))
    print_json(made) if as_json else print(f"{made.path} is the workspace {made.name}.")


@app.command()
def remove(
    workspace: Annotated[str, typer.Argument(help="Workspace: its name, id or directory.")],
    url: Url = None,
) -> None:
    """Remove a workspace. Its files are not deleted."""

    async def removed(client: "Client") -> None:
        from holdfast.cli.workspace_choice import WorkspaceRow, registered

        found = await registered(client, workspace)
        if not isinstance(found, WorkspaceRow):
            raise NotFound(f"{found.path} is not a workspace; `holdfast workspace list` lists them.")
        await client.request("DELETE", f"/workspaces/{found.id}", type(None))

    with_server(url, removed)
    print("Removed. Its files were not deleted.")
