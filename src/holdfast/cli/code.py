"""`holdfast code`: what a code base is made of, as agents see it."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import AsJson, Url, WorkspaceName, print_json, with_server
from holdfast.cli.safe_text import neutral
from holdfast.core.errors import WrongUsage
from holdfast.core.shapes import Record

if TYPE_CHECKING:
    from holdfast.cli.client import Client

app = typer.Typer(help="Look at the source code of a workspace as agents do.", no_args_is_help=True)


class CodeMapRow(Record, frozen=True, kw_only=True):
    text: str
    files: int
    left_out: int


@app.command("map")
def code_map(
    path: Annotated[str, typer.Argument(help="A directory or file in the workspace.")] = ".",
    workspace: WorkspaceName = None,
    tokens: Annotated[int, typer.Option(min=100, max=20_000, help="How long the map may be.")] = 4_000,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show the definitions that other files use most. Without -w, of the current directory's workspace."""

    async def mapped(client: "Client") -> CodeMapRow:
        from holdfast.cli.workspace_choice import choose

        place = await choose(client, workspace, os.environ, None)
        if place.workspace_id is None:
            raise WrongUsage("The current directory is not a workspace. Name one with -w.")
        query = {"path": path, "tokens": str(tokens)}
        return await client.get(f"/workspaces/{place.workspace_id}/code-map", CodeMapRow, query)

    found = with_server(url, mapped)
    if as_json:
        print_json(found)
        return
    print(neutral(found.text))
