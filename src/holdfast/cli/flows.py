"""`holdfast flow`: list, check and run flows, look at their runs, answer approvals, run again, cancel."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import AsJson, ModelName, Url, print_json, with_server
from holdfast.core.flow_runs import FlowStatus
from holdfast.core.flow_shapes import FlowRunListed, FlowRunShown

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

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
RunWord = Annotated[
    str, typer.Argument(metavar="RUN", help="A run: its id, the end or beginning of its id, or `last`.")
]
Detach = Annotated[
    bool, typer.Option("--detach", "-d", help="Start it and leave; `flow show -f` watches it later.")
]
Events = Annotated[
    bool, typer.Option("--json", help="Every event of the feed as a line of JSON; with -d, the run.")
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


@app.command("run")
def run_flow(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME|FILE", help="A flow by its name, or a file (.yaml, .yml, .json)."),
    ],
    args: Annotated[
        str | None, typer.Option("--args", help="The arguments as JSON; `@FILE` reads them from a file.")
    ] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            "--arg", "-a", metavar="KEY=VALUE", help="One argument: JSON, else text. As many as needed."
        ),
    ] = None,
    budget: Annotated[
        int | None, typer.Option("--budget", "-b", min=1, help="Output tokens that all agents may use.")
    ] = None,
    model: ModelName = None,
    workspace: Workspace = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Reuse nothing of earlier runs.")] = False,
    reuse: Annotated[
        bool, typer.Option("--reuse", help="Reuse what the newest run finished, also if it succeeded.")
    ] = False,
    detach: Detach = False,
    as_json: Events = False,
    url: Url = None,
) -> None:
    """Run a flow and follow it.

    Agents that an earlier run with the same arguments has finished are reused if that run failed or was
    cancelled. The result goes to standard output, every change of a step to standard error. An approval is
    answered with `holdfast flow approve`, or in the page. Ctrl-C cancels the run with all its agents. Exit
    code 0: done; 1: it failed; 130: cancelled."""
    from holdfast.cli.runs.arguments import arguments, fitted

    given = arguments(args, pairs or [])
    body: dict[str, object] = {**_flow(name), **given}
    body.update(budget=budget, model=model, fresh=fresh, reuse=reuse)

    async def begun(client: "Client") -> FlowRunShown:
        from holdfast.cli.flow_runs.shapes import ListedFlow
        from holdfast.cli.workspace_choice import workspace_id_of

        where = body["workspace_id"] = await workspace_id_of(client, workspace)
        if pairs and "name" in body:
            known = await client.listed("/flows", ListedFlow, {"workspace_id": where})
            schema = next((one.args for one in known if one.name == name and one.error is None), None)
            body["args"] = fitted(given["args"], pairs, schema)
        return await client.post("/flow-runs", FlowRunShown, body)

    _go(url, begun, detach=detach, as_json=as_json)


@app.command()
def show(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]", help="A run: its id, an end of it, or `last`. Without one, all are listed."
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Watch it until it is over, as `flow run` does.")
    ] = False,
    status: Annotated[FlowStatus | None, typer.Option(help="List only runs in this state.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=200, help="How many to list at most.")
    ] = 20,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show a run: its steps, what waits for you, its log, its result. Without one, list your runs."""
    if run is None:
        _list_runs(url, status, limit, as_json)
        return

    async def found(client: "Client") -> FlowRunShown:
        from holdfast.cli.lookups import find_flow_run

        return await find_flow_run(client, run)

    if follow:
        _go(url, found, detach=False, as_json=as_json)
    seen = with_server(url, found)
    if as_json:
        print_json(seen)
        return
    import shutil

    from holdfast.cli.flow_runs.telling import run_lines

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in run_lines(seen, datetime.now(UTC), width):
        print(line)


@app.command()
def approve(
    run: RunWord,
    step: Annotated[
        str | None, typer.Argument(metavar="[STEP]", help="The approval; needed if several wait.")
    ] = None,
    deny: Annotated[bool, typer.Option("--deny", help="Deny it.")] = False,
    note: Annotated[str | None, typer.Option("--note", "-m", help="What to say with it.")] = None,
    answer: Annotated[
        str | None, typer.Option("--answer", help="What its form asks for, as JSON; `@FILE` reads a file.")
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Answer an approval that a run waits for. With --deny, deny it."""
    from holdfast.cli.runs.arguments import arguments

    body: dict[str, object] = {"decision": "deny" if deny else "approve", "note": note}
    if answer is not None:
        body["answer"] = arguments(answer, [])["args"]

    async def decided(client: "Client") -> FlowRunShown:
        from holdfast.cli.flow_runs.telling import waiting
        from holdfast.cli.lookups import find_flow_run
        from holdfast.core.errors import WrongUsage

        found = await find_flow_run(client, run)
        names = [one.id for one in waiting(found)]
        if step is None and len(names) != 1:
            what = f"These wait: {', '.join(names)}. Name one." if names else "Nothing of it waits for you."
            raise WrongUsage(what)
        wanted = names[0] if step is None else step
        return await client.post(f"/flow-runs/{found.id}/steps/{wanted}/decision", FlowRunShown, body)

    shown = with_server(url, decided)
    print_json(shown) if as_json else print("Denied." if deny else "Approved.")


@app.command()
def retry(
    run: RunWord,
    steps: Annotated[
        list[str] | None, typer.Argument(metavar="[STEP]...", help="Failed steps; without one, all of them.")
    ] = None,
    detach: Detach = False,
    as_json: Events = False,
    url: Url = None,
) -> None:
    """Run failed steps again. All that follow them run too; the run is followed."""

    async def again(client: "Client") -> FlowRunShown:
        from holdfast.cli.lookups import find_flow_run

        found = await find_flow_run(client, run)
        return await client.post(f"/flow-runs/{found.id}/retry", FlowRunShown, {"steps": steps or []})

    _go(url, again, detach=detach, as_json=as_json)


@app.command()
def cancel(run: RunWord, as_json: AsJson = False, url: Url = None) -> None:
    """Cancel a run with all its agents. What they finished can be reused."""

    async def cancelled(client: "Client") -> FlowRunShown:
        from holdfast.cli.lookups import find_flow_run

        found = await find_flow_run(client, run)
        return await client.post(f"/flow-runs/{found.id}/cancel", FlowRunShown)

    answer = with_server(url, cancelled)
    if as_json:
        print_json(answer)
    else:
        print("Cancelled." if answer.status == "cancelled" else f"It was over already: {answer.status}.")


def _flow(name: str) -> dict[str, object]:
    """A file is sent as it is; anything else is a name that the server knows."""
    if Path(name).suffix not in (".yaml", ".yml", ".json"):
        return {"name": name}
    from holdfast.cli.runs.arguments import read_text

    return {"flow": read_text(name)}


def _list_runs(url: str | None, status: FlowStatus | None, limit: int, as_json: bool) -> None:
    async def listed(client: "Client") -> tuple[FlowRunListed, ...]:
        return await client.listed("/flow-runs", FlowRunListed, {"limit": limit, "status": status})

    runs = with_server(url, listed)
    if as_json:
        print_json(runs)
    elif runs:
        from holdfast.cli.flow_runs.telling import runs_table
        from holdfast.cli.tables import print_table

        head = ("id", "state", "started", "took", "spent", "flow")
        print_table(head, runs_table(runs, datetime.now(UTC)))
    else:
        print("No runs. `holdfast flow list` shows what can be run." if status is None else "No such runs.")


def _go(
    url: str | None, begun: "Callable[[Client], Awaitable[FlowRunShown]]", *, detach: bool, as_json: bool
) -> None:
    """Starts or finds the run, follows it if wanted, and ends the program."""

    async def going(client: "Client") -> int:
        if detach:
            run = await begun(client)
            print_json(run) if as_json else print(run.id)
            return 0
        from holdfast.cli.flow_runs.following import follow

        return await follow(client, lambda: begun(client), as_json=as_json)

    raise typer.Exit(with_server(url, going))
