"""A process that edits two files and kills itself at a given point: `python -m tests.tools.killed_edit URL
DIRECTORY POINT`. Without a point it runs the call again, as whoever takes over would."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.core.ids import CallId, ChatId, UserId, WorkspaceId
from holdfast.core.workspaces import Workspace
from holdfast.store.open import open_store
from holdfast.tools.contract import ToolContext
from holdfast.tools.files import file_tools
from holdfast.tools.intents import EditIntents
from holdfast.workspaces.files.read_state import SeenFiles
from holdfast.workspaces.places.allowed_roots import Roots
from holdfast.workspaces.places.chat_directory import Workspaces

CHAT = ChatId("0199c000-0000-7000-8000-000000000001")
OWNER = UserId("0199c000-0000-7000-8000-000000000002")
NAMES = ("a.txt", "b.txt", "c.txt")
# The text is in its own replacement: made twice, it would be seen.
EDITS = {"edits": [{"path": name, "old": "x", "new": "xx"} for name in NAMES]}


async def no_workspace(workspace_id: WorkspaceId, owner_id: UserId) -> Workspace | None:
    return None


def context(run: int) -> ToolContext:
    return ToolContext(chat_id=CHAT, owner_id=OWNER, workspace_id=None, call_id=CallId("call"), run=run)


def scratch(data: Path) -> Path:
    return data / "scratch" / CHAT


async def edit(url: str, data: Path, point: str | None) -> dict[str, Any]:
    store = await open_store(url, data=data, publish=lambda _: None)
    if point is not None:
        arm(point, store)
    workspaces = Workspaces(Roots(data, ()), no_workspace)
    tool = next(
        tool
        for tool in file_tools(workspaces, SeenFiles(), None, EditIntents(store))
        if tool.name == "edit_files"
    )
    assert tool.run is not None
    answer: Any = tool.run(context(1 if point else 2), tool.parse(EDITS))
    done = await answer
    await store.close()
    return {"outcome": done.outcome, "output": done.output}


def arm(point: str, store: Any) -> None:
    """`begin`, `made`: before that write; `begun`, `marked`: after it is committed. `link N` and `rename N`:
    after the N-th of these."""
    kind, _, number = point.partition(" ")
    write, left = store.write, [2]

    async def writing(query: Any, **more: Any) -> Any:
        is_begin = left[0] == 2
        left[0] -= 1
        if kind == ("begin" if is_begin else "made"):
            die()
        answer = await write(query, **more)
        if kind == ("begun" if is_begin else "marked"):
            die()
        return answer

    store.write = writing
    if kind in ("link", "rename"):
        name = "link" if kind == "link" else "replace"
        setattr(os, name, after(int(number), getattr(os, name)))


def after(count: int, function: Callable[..., None]) -> Callable[..., None]:
    left = [count]

    def called(*args: Any, **more: Any) -> None:
        function(*args, **more)
        left[0] -= 1
        if not left[0]:
            die()

    return called


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    url, data, *point = sys.argv[1:]
    print(json.dumps(asyncio.run(edit(url, Path(data), point[0] if point else None))))
