"""Hooks that apply to the caller's chats, and their runs. Commands, addresses and signing secrets of the
configuration are the admins' own."""

import re
from datetime import datetime
from typing import Annotated, Literal

from litestar import Router, get, post
from litestar.params import QueryParameter

from holdfast.api.calls import may_answer
from holdfast.api.pages import Cursor, Limit, Page, unknown_cursor
from holdfast.api.problems import Problem, not_found
from holdfast.api.services import By, InPath, Services, With, needs
from holdfast.api.workspaces import own_workspace
from holdfast.core.clock import to_micros
from holdfast.core.hooks import EventName, HookOutcome, HookRun, HookVerdict
from holdfast.core.ids import CallId, ChatId, WorkspaceId
from holdfast.core.shapes import Json, Record
from holdfast.store import hook_runs
from holdfast.tools.hooks.decisions import outcome_of, verdict_of
from holdfast.tools.hooks.definitions import Hook, HookSource, OnFailure
from holdfast.tools.hooks.inputs import Occasion, given_input, parts_of

SHOWN_RUNS = 5
_CURSOR = re.compile(r"([0-9]{1,18})\.([0-9a-f-]{36})", re.ASCII)

# active: it runs.  new, changed, refused: nobody trusts its file as it is.  unusable: `error` says why.
HookState = Literal["active", "new", "changed", "refused", "unusable"]
OfWorkspace = Annotated[
    str | None, QueryParameter(max_length=36, description="With the hooks that this workspace's files name.")
]


class HookRunShown(Record, frozen=True, kw_only=True):
    id: str
    hook_id: str
    chat_id: ChatId | None
    turn: int
    event: EventName
    name: str
    call_id: CallId | None
    outcome: HookOutcome
    verdict: HookVerdict
    exit_code: int | None
    output: str
    started_at: datetime
    finished_at: datetime


class HookShown(Record, frozen=True, kw_only=True):
    """`command` and `url` of the configuration are shown to admins."""

    id: str
    source: HookSource
    # Where it is written.
    path: str
    workspace_id: WorkspaceId | None
    event: EventName
    matcher: str
    kind: Literal["command", "url"]
    name: str
    command: str
    url: str
    timeout_seconds: float
    on_failure: OnFailure
    state: HookState
    error: str | None
    last_runs: tuple[HookRunShown, ...]


class HookTrial(Record, frozen=True, kw_only=True):
    """What a hook made of a sample."""

    outcome: HookOutcome
    verdict: HookVerdict
    exit_code: int | None
    output: str
    errors: str
    given: dict[str, Json]


@get("/hooks", guards=[needs("chats:read")])
async def list_hooks(services: With, caller: By, workspace_id: OfWorkspace = None) -> Page[HookShown]:
    """Those of the configuration, then those that the files of a workspace name, each with its last runs."""
    found: list[tuple[Hook, HookState]] = [(hook, "active") for hook in services.hooks.configured]
    found += await _of_workspace(services, caller, workspace_id)
    return Page(items=tuple([await _shown(services, caller, hook, state) for hook, state in found]))


@get("/hooks/runs", guards=[needs("chats:read")])
async def list_hook_runs(
    services: With,
    caller: By,
    hook_id: Annotated[str, QueryParameter(max_length=16)] = "",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[HookRunShown]:
    """The caller's, the newest first."""
    before = None
    if cursor is not None:
        match = _CURSOR.fullmatch(cursor)
        if match is None:
            raise unknown_cursor()
        before = int(match[1]), match[2]
    runs = await services.store.read(hook_runs.of_owner(caller.user.id, hook_id, limit, before))
    last = runs[-1] if len(runs) == limit else None
    following = None if last is None else f"{to_micros(last.started_at)}.{last.id}"
    return Page(items=tuple(_run_shown(run) for run in runs), next_cursor=following)


@post("/hooks/{hook_id:str}/test", guards=[needs("chats:write")], status_code=200)
async def try_hook(
    hook_id: InPath, services: With, caller: By, workspace_id: OfWorkspace = None
) -> HookTrial:
    """Runs the command of a hook on a sample, and nothing follows from what it says. A hook of the
    configuration is tried by admins, one of a workspace while it is trusted."""
    may_answer(caller)
    hook = next((one for one in services.hooks.configured if one.id == hook_id), None)
    place: WorkspaceId | None = None
    if workspace_id is not None:
        place = (await own_workspace(services, caller, workspace_id)).id
    if hook is not None and not caller.may("admin"):
        raise Problem("forbidden", "Only an admin may try the hooks of the configuration.")
    if hook is None:
        theirs = await _of_workspace(services, caller, workspace_id)
        known = next((one for one in theirs if one[0].id == hook_id), None)
        if known is None:
            raise not_found("hook")
        if known[1] != "active":
            raise Problem("wrong_state", "Nobody trusts this hook as it is. Look at it, and trust it first.")
        hook = known[0]
    if not hook.command:
        raise Problem("wrong_state", "Only commands are tried here; an address is told of real events.")
    sample = _sample(hook)
    (part, *_) = parts_of(sample, hook.dialect)
    given = given_input(sample, hook.dialect, part)
    end = await services.hooks.run_in_workspace(hook, given, place, caller.user.id)
    verdict = verdict_of(hook.event, end, must_pass=hook.on_failure == "block")
    return HookTrial(
        outcome=outcome_of(verdict, timed_out=end.timed_out),
        verdict=verdict,
        exit_code=end.exit_code,
        output=end.output[:10_000],
        errors=end.errors,
        given=given,
    )


def _sample(hook: Hook) -> Occasion:
    """A harmless sample of the event, to try a hook with."""
    about_tool = hook.event in ("pre_tool", "post_tool")
    samples: dict[str, dict[str, Json]] = {
        "user_prompt": {"prompt": "A sample."},
        "turn_end": {"last_message": "A sample.", "asked_before": False},
        "agent_end": {"last_message": "A sample.", "asked_before": False, "agent": ""},
        "needs_you": {"kind": "approval", "message": "A sample."},
        "pre_compact": {"source": "manual"},
        "run_end": {"kind": "workflow", "status": "succeeded"},
    }
    return Occasion(
        event=hook.event,
        key="sample",
        chat_id=None,
        tool="execute" if about_tool else None,
        input={"command": "true"} if about_tool else None,
        output="" if hook.event == "post_tool" else None,
        outcome="succeeded" if hook.event == "post_tool" else None,
        more=samples.get(hook.event, {}),
    )


async def _of_workspace(
    services: Services, caller: By, workspace_id: str | None
) -> list[tuple[Hook, HookState]]:
    if workspace_id is None:
        return []
    workspace = await own_workspace(services, caller, workspace_id)
    found = await services.hooks.all_of_workspace(workspace.id, caller.user.id)
    return [(hook, "active" if state == "trusted" else state) for hook, state in found]


async def _shown(services: Services, caller: By, hook: Hook, state: HookState) -> HookShown:
    runs = await services.store.read(hook_runs.of_owner(caller.user.id, hook.id, SHOWN_RUNS))
    open_to_all = hook.source == "workspace" or caller.may("admin")
    stands = services.hooks.programs.stands or not hook.command
    error = hook.error or (None if stands else "There is no wall around programs on this machine.")
    return HookShown(
        id=hook.id,
        source=hook.source,
        path=hook.path,
        workspace_id=hook.workspace_id,
        event=hook.event,
        matcher=hook.matcher,
        kind="url" if hook.url else "command",
        name=hook.name if open_to_all else hook.path,
        command=hook.command if open_to_all else "",
        url=hook.url if open_to_all else "",
        timeout_seconds=hook.timeout_seconds,
        on_failure=hook.on_failure,
        state="unusable" if error is not None else state,
        error=error,
        last_runs=tuple(_run_shown(run) for run in runs),
    )


def _run_shown(run: HookRun) -> HookRunShown:
    return HookRunShown(
        id=run.id,
        hook_id=run.hook_id,
        chat_id=run.chat_id,
        turn=run.turn,
        event=run.event,
        name=run.name,
        call_id=run.call_id,
        outcome=run.outcome,
        verdict=run.verdict,
        exit_code=run.exit_code,
        output=run.output,
        started_at=run.started_at,
        finished_at=run.finished_at,
    )


router = Router("/", route_handlers=[list_hooks, list_hook_runs, try_hook], tags=["hooks"])
