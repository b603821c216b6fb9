"""`holdfast flow`: list flows and check their files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import AsJson, Url, print_json, with_server

if TYPE_CHECKING:
    from holdfast.cli.client import Client
    from holdfast.cli.flow_runs.shapes import ListedFlow

app = typer.Typer(
    help="List, check and run flows: declared graphs of steps.",
    no_args_is_help=True,
)

Workspace = Annotated[
    str | None,
    typer.Option("--workspace", "-w", help="A workspace, by name, id or path: its flows, its files."),
]


@app.command("list")
def list_flows(workspace: Workspace = None, as_json: AsJson = False, url: Url = None) -> None:
    """List the flows that can be run. Tells where each is from and what it takes, and which files cannot be
    run."""

    async def listed(client: "Client") -> "tuple[ListedFlow, ...]":
        from holdfast.cli.flow_runs.shapes import ListedFlow
        from holdfast.cli.workspace_choice import workspace_id_of

        where = await workspace_id_of(client, workspace)
        return await client.listed("/flows", ListedFlow, {"workspace_id": where})

    flows = with_server(url, listed)
    if as_json:
        print_json(flows)
        return
    from holdfast.cli.flow_runs.shapes import flows_table, remarks
    from holdfast.cli.tables import print_table

    print_table(("name", "source", "steps", "takes", "description"), flows_table(flows))
    for line in remarks(flows):
        print(f"\n{line}")


@app.command()
def check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="Files with flows. Without one: all in .holdfast/flows of the current directory.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check files with flows, without a server: for editors and for CI.

    Every file is read as a run would read it: fields, graph, conditions, templates, code. What is wrong is
    told as FILE:LINE:COLUMN. Exit code 0: all can be run; 1: one cannot; 2: there is no such file."""
    import asyncio

    from holdfast.cli.flow_runs.checking import check_files, found_files

    wanted = found_files(files or [])
    checked = asyncio.run(check_files(wanted))
    if as_json:
        print_json(checked)
    else:
        for one in checked:
            print(one.sentence)
    if any(one.error is not None for one in checked):
        raise typer.Exit(1)
