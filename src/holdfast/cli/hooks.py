"""`holdfast hooks`: programs and addresses that are told of what happens in chats."""

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import AsJson, Url, WorkspaceName, print_json, with_server
from holdfast.cli.safe_text import neutral, neutral_line
from holdfast.core.errors import NotFound
from holdfast.core.shapes import Json, Record

if TYPE_CHECKING:
    from holdfast.cli.client import Client

app = typer.Typer(help="List hooks with their last runs, and try one.", no_args_is_help=True)

HookId = Annotated[str, typer.Argument(help="The hook's id, or the beginning of it.")]


class HookVerdictRow(Record, frozen=True, kw_only=True):
    ruling: str
    reason: str
    context: str
    failure: str | None


class HookRunRow(Record, frozen=True, kw_only=True):
    id: str
    hook_id: str
    chat_id: str | None
    event: str
    name: str
    outcome: str
    verdict: HookVerdictRow
    exit_code: int | None
    output: str
    started_at: str
    finished_at: str


class HookRow(Record, frozen=True, kw_only=True):
    id: str
    source: str
    path: str
    event: str
    matcher: str
    kind: str
    name: str
    command: str
    url: str
    timeout_seconds: float
    on_failure: str
    state: str
    error: str | None
    last_runs: tuple[HookRunRow, ...]


class HookTrialRow(Record, frozen=True, kw_only=True):
    outcome: str
    verdict: HookVerdictRow
    exit_code: int | None
    output: str
    errors: str
    given: dict[str, Json]


@app.command("list")
def list_hooks(workspace: WorkspaceName = None, as_json: AsJson = False, url: Url = None) -> None:
    """List the hooks that apply to your chats, and how their last run ended."""
    found = with_server(url, lambda client: _hooks(client, workspace))
    if as_json:
        print_json(found)
        return
    from holdfast.cli.tables import print_table

    print_table(
        ("id", "event", "matcher", "state", "last run", "from", "what"),
        [
            (
                one.id,
                one.event,
                neutral_line(one.matcher, 40) or "all",
                one.state,
                one.last_runs[0].outcome if one.last_runs else "never",
                one.path,
                neutral_line(one.error or one.command or one.url or one.name, 200),
            )
            for one in found
        ],
    )


@app.command()
def runs(
    hook: Annotated[str, typer.Option("--hook", help="Only of this hook, by its id.")] = "",
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """List the last runs of hooks in your chats."""

    async def read(client: "Client") -> tuple[HookRunRow, ...]:
        page = await client.get("/hooks/runs", _HookRunPage, {"hook_id": hook})
        return page.items

    found = with_server(url, read)
    if as_json:
        print_json(found)
        return
    from holdfast.cli.tables import print_table

    print_table(
        ("started", "event", "outcome", "hook", "said"),
        [
            (
                one.started_at,
                one.event,
                one.outcome,
                neutral_line(one.name, 60),
                neutral_line(one.verdict.failure or one.verdict.reason or one.output, 120),
            )
            for one in found
        ],
    )


@app.command("test")
def try_hook(
    hook_id: HookId, workspace: WorkspaceName = None, as_json: AsJson = False, url: Url = None
) -> None:
    """Try the command of a hook on a sample; its answer has no effect.

    Exit code 1 if it fails."""

    async def tried(client: "Client") -> HookTrialRow:
        known = [one for one in await _hooks(client, workspace) if one.id.startswith(hook_id)]
        if len(known) != 1:
            raise NotFound(f"There is no hook {hook_id}; `holdfast hooks list` shows them.")
        path = f"/hooks/{known[0].id}/test{await _query(client, workspace)}"
        return await client.post(path, HookTrialRow, None)

    trial = with_server(url, tried)
    if as_json:
        print_json(trial)
    else:
        verdict = trial.verdict
        code = "" if trial.exit_code is None else f", exit code {trial.exit_code}"
        print(f"{trial.outcome}{code}")
        for text in (verdict.failure, verdict.reason, verdict.context, trial.output, trial.errors):
            if text:
                print(neutral(text))
    if trial.outcome in ("failed", "timed_out"):
        raise typer.Exit(1)


async def _hooks(client: "Client", workspace: str | None) -> tuple[HookRow, ...]:
    page = await client.request("GET", f"/hooks{await _query(client, workspace)}", _HookPage)
    return page.items


class _HookRunPage(Record, frozen=True, kw_only=True):
    items: tuple[HookRunRow, ...]


class _HookPage(Record, frozen=True, kw_only=True):
    items: tuple[HookRow, ...]


async def _query(client: "Client", workspace: str | None) -> str:
    if workspace is None:
        return ""
    from holdfast.cli.workspace_choice import find_workspace

    return f"?workspace_id={(await find_workspace(client, workspace)).id}"
