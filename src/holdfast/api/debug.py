"""The debug record of a chat."""

import re
from typing import Annotated

from litestar import Router, get
from litestar.params import QueryParameter

from holdfast.api.pages import Cursor, Limit, Page, unknown_cursor
from holdfast.api.problems import not_found
from holdfast.api.services import By, InPath, Services, With, needs, own_chat
from holdfast.core.clock import to_micros
from holdfast.core.debug_runs import DebugRun, DebugRunDetail
from holdfast.core.ids import ChatId, DebugRunId, is_uuid7
from holdfast.store import debug_runs

# Each of them may be 100 kB and more.
STEPS_AT_ONCE = 50
_CURSOR = re.compile(r"([0-9]{1,18})\.([0-9a-f-]{36})", re.ASCII)


@get("/chats/{chat_id:str}/debug/runs", guards=[needs("chats:read")])
async def list_debug_runs(
    chat_id: InPath, services: With, caller: By, limit: Limit = 50, cursor: Cursor = None
) -> Page[DebugRun]:
    """What is recorded of the chat's model calls, the newest first: one for each turn, title, summary and
    compaction."""
    chat = await own_chat(services, caller, chat_id)
    before = None if cursor is None else _place(cursor)
    found = await services.store.read(debug_runs.page(chat.id, limit=limit + 1, before=before))
    items = found[:limit]
    more = len(found) > limit
    return Page(
        items=items,
        next_cursor=f"{to_micros(items[-1].started_at)}.{items[-1].id}" if more else None,
    )


def _place(cursor: str) -> tuple[int, str]:
    match = _CURSOR.fullmatch(cursor)
    if match is None or not is_uuid7(match[2]):
        raise unknown_cursor()
    return int(match[1]), match[2]


@get("/chats/{chat_id:str}/debug/runs/{debug_run_id:str}", guards=[needs("chats:read")])
async def read_debug_run(
    chat_id: InPath,
    debug_run_id: InPath,
    services: With,
    caller: By,
    first_step: Annotated[
        int, QueryParameter(ge=1, le=10**9, description="The number of the first step that is wanted.")
    ] = 1,
    limit: Annotated[int, QueryParameter(ge=1, le=STEPS_AT_ONCE)] = STEPS_AT_ONCE,
) -> DebugRunDetail:
    """One debug record with its steps, and the HTTP requests that they took."""
    chat = await own_chat(services, caller, chat_id)
    run = await _run(services, chat.id, debug_run_id)
    steps = await services.store.read(debug_runs.steps(run.id, first=first_step, limit=limit + 1))
    return DebugRunDetail(
        **{name: getattr(run, name) for name in run.__struct_fields__},
        steps=steps[:limit],
        next_step=steps[limit].number if len(steps) > limit else None,
    )


async def _run(services: Services, chat_id: str, debug_run_id: str) -> DebugRun:
    run = (
        await services.store.read(debug_runs.one(ChatId(chat_id), DebugRunId(debug_run_id)))
        if is_uuid7(debug_run_id)
        else None
    )
    if run is None:
        raise not_found("debug run")
    return run


router = Router("/", route_handlers=[list_debug_runs, read_debug_run], tags=["debug"])
