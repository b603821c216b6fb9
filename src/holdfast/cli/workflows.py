"""`holdfast workflow`: list workflows, run them, look at their runs, run these again, cancel them."""

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import AsJson, ModelName, Url, print_json, with_server
from holdfast.core.errors import WrongUsage
from holdfast.core.run_shapes import RunListed, RunShown
from holdfast.core.runs import RunStatus

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from holdfast.cli.client import Client
    from holdfast.cli.runs.details import ListedWorkflow

app = typer.Typer(help="List and run workflows: scripts that coordinate agents.", no_args_is_help=True)

RunWord = Annotated[
    str, typer.Argument(metavar="RUN", help="Run: its id, the start or end of its id, or `last`.")
]
Workspace = Annotated[
    str | None,
    typer.Option("--workspace", "-w", help="Workspace, by name, id or path."),
]
Budget = Annotated[
    int | None,
    typer.Option("--budget", "-b", min=1, help="Maximum output tokens for the run and its agents."),
]
Detach = Annotated[
    bool, typer.Option("--detach", "-d", help="Start it and exit; `workflow show -f` follows it later.")
]
Events = Annotated[
    bool, typer.Option("--json", help="Print every feed event as a line of JSON; with -d, the run.")
]


@app.command("list")
def list_workflows(workspace: Workspace = None, as_json: AsJson = False, url: Url = None) -> None:
    """List the available workflows. Shows where each comes from, its arguments, and files that cannot be
    loaded."""

    async def listed(client: "Client") -> "tuple[ListedWorkflow, ...]":
        from holdfast.cli.runs.details import ListedWorkflow
        from holdfast.cli.workspace_choice import workspace_id_of

        where = await workspace_id_of(client, workspace)
        return await client.listed("/workflows", ListedWorkflow, {"workspace_id": where})

    workflows = with_server(url, listed)
    if as_json:
        print_json(workflows)
        return
    from holdfast.cli.runs.details import remarks, workflows_table
    from holdfast.cli.tables import print_table

    print_table(("name", "source", "takes", "description"), workflows_table(workflows))
    for line in remarks(workflows):
        print(f"\n{line}")


@app.command("run")
def run_workflow(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME|FILE", help="Workflow name, or a .js or .py file."),
    ],
    args: Annotated[
        str | None, typer.Option("--args", help="Arguments as JSON; `@FILE` reads them from a file.")
    ] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            "--arg", "-a", metavar="KEY=VALUE", help="One argument, as JSON or text. Can be repeated."
        ),
    ] = None,
    budget: Budget = None,
    model: ModelName = None,
    workspace: Workspace = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Reuse nothing from earlier runs.")] = False,
    reuse: Annotated[
        bool, typer.Option("--reuse", help="Reuse finished calls of the latest run, even if it succeeded.")
    ] = False,
    resume_from: Annotated[
        str | None,
        typer.Option("--resume-from", metavar="RUN", help="Reuse finished calls of this run instead."),
    ] = None,
    detach: Detach = False,
    as_json: Events = False,
    url: Url = None,
) -> None:
    """Run a workflow and follow it.

    If an earlier run with the same arguments failed or was cancelled, its finished calls are reused. The
    result goes to standard output, progress to the terminal or to standard error. Ctrl-C cancels the run and
    its agents; a second Ctrl-C exits immediately. The run lives on the server: a lost connection or a closed
    terminal does not stop it. Exit codes: 0 done, 1 failed, 130 cancelled."""
    if fresh and reuse:
        raise WrongUsage("Use --fresh or --reuse, not both.")
    if fresh and resume_from is not None:
        raise WrongUsage("Use --fresh or --resume-from, not both.")
    from holdfast.cli.runs.arguments import arguments, fitted, script

    given = arguments(args, pairs or [])
    body: dict[str, object] = {**script(name), **given}
    body.update(budget=budget, model=model, fresh=fresh, reuse=reuse)

    async def begun(client: "Client") -> RunShown:
        from holdfast.cli.lookups import find_run
        from holdfast.cli.workspace_choice import workspace_id_of

        where = body["workspace_id"] = await workspace_id_of(client, workspace)
        if resume_from is not None:
            body["resume_from"] = (await find_run(client, resume_from)).id
        if pairs and "name" in body:
            from holdfast.cli.runs.details import ListedWorkflow

            known = await client.listed("/workflows", ListedWorkflow, {"workspace_id": where})
            schema = next((one.args for one in known if one.name == name and one.error is None), None)
            given["args"] = fitted(given["args"], pairs, schema)
            body.update(given)
        return await client.post("/workflow-runs", RunShown, body)

    _go(url, begun, detach=detach, as_json=as_json)


@app.command()
def resume(
    run: RunWord,
    budget: Budget = None,
    model: ModelName = None,
    detach: Detach = False,
    as_json: Events = False,
    url: Url = None,
) -> None:
    """Rerun a run that failed, was cancelled or finished.

    It uses the script, arguments and settings of that run, and reuses its finished calls. To run a script
    that has changed, use `workflow run`."""

    async def begun(client: "Client") -> RunShown:
        from holdfast.cli.lookups import find_run

        body = {"resume_from": (await find_run(client, run)).id, "budget": budget, "model": model}
        return await client.post("/workflow-runs", RunShown, body)

    _go(url, begun, detach=detach, as_json=as_json)


@app.command()
def show(
    run: Annotated[
        str | None,
        typer.Argument(metavar="[RUN]", help="Run: its id, part of it, or `last`. Default: list all."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Follow it until it ends, as `workflow run` does.")
    ] = False,
    status: Annotated[RunStatus | None, typer.Option(help="List only runs in this state.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="Maximum number to list.")] = 20,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show a run: result, agents and log. Without one, list your runs, newest first."""
    if run is None:
        _list_runs(url, status, limit, as_json)
        return

    async def found(client: "Client") -> RunShown:
        from holdfast.cli.lookups import find_run

        return await find_run(client, run)

    if follow:
        _go(url, found, detach=False, as_json=as_json)
    shown = with_server(url, found)
    if as_json:
        print_json(shown)
        return
    import shutil

    from holdfast.cli.runs.details import run_lines

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in run_lines(shown, datetime.now(UTC), width):
        print(line)


@app.command()
def cancel(run: RunWord, as_json: AsJson = False, url: Url = None) -> None:
    """Cancel a run and its agents. Finished calls can be reused."""

    async def cancelled(client: "Client") -> RunShown:
        from holdfast.cli.lookups import find_run

        found = await find_run(client, run)
        return await client.post(f"/workflow-runs/{found.id}/cancel", RunShown)

    answer = with_server(url, cancelled)
    if as_json:
        print_json(answer)
    else:
        print("Cancelled." if answer.status == "cancelled" else f"It had already ended: {answer.status}.")


def _list_runs(url: str | None, status: RunStatus | None, limit: int, as_json: bool) -> None:
    async def listed(client: "Client") -> tuple[RunListed, ...]:
        return await client.listed("/workflow-runs", RunListed, {"limit": limit, "status": status})

    runs = with_server(url, listed)
    if as_json:
        print_json(runs)
    elif runs:
        from holdfast.cli.runs.details import runs_table
        from holdfast.cli.tables import print_table

        head = ("id", "state", "started", "took", "spent", "workflow")
        print_table(head, runs_table(runs, datetime.now(UTC)))
    else:
        print(
            "No runs yet. `holdfast workflow list` shows the available workflows."
            if status is None
            else "No runs match."
        )


def _go(
    url: str | None, begun: "Callable[[Client], Awaitable[RunShown]]", *, detach: bool, as_json: bool
) -> None:
    """Starts or finds the run, follows it if wanted, and ends the program."""

    async def going(client: "Client") -> int:
        if detach:
            run = await begun(client)
            print_json(run) if as_json else print(run.id)
            return 0
        from holdfast.cli.runs.following import follow, output_for

        return await follow(client, lambda: begun(client), output_for(as_json=as_json), as_json=as_json)

    raise typer.Exit(with_server(url, going))
