"""Removes what nobody needs any more: worktrees an hour after their chat was deleted, or that a crash left
before they were recorded; scratch and command directories of deleted chats."""

import os
import shutil
from collections.abc import Collection
from datetime import datetime
from pathlib import Path

from holdfast.core.ids import ChatId, WorkspaceId, is_uuid7
from holdfast.store.interface import Store
from holdfast.store.workspaces import ORPHAN_MICROS, delete, is_known, orphans
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.code.code_indexes import FOLDER as CODE_FOLDER
from holdfast.workspaces.commands.processes import Processes
from holdfast.workspaces.git.worktrees import Worktrees
from holdfast.workspaces.places.allowed_roots import Roots

LEFT_OVER_SECONDS = 3600.0


async def remove_orphans(store: Store, worktrees: Worktrees, after_micros: int = ORPHAN_MICROS) -> int:
    """Returns how many were removed. If killed in between, the next one does the rest."""
    gone = await store.write(orphans(after_micros))
    for workspace in gone:
        await worktrees.remove(workspace)
        await store.write(delete(workspace.id, workspace.owner_id))
    return len(gone)


async def remove_scratch(store: Store, roots: Roots) -> int:
    base = roots.data / "scratch"
    gone = 0
    for name in await blocking(lambda: _names(base)):
        if is_uuid7(name) and await store.view(ChatId(name)) is None:
            await blocking(lambda name=name: shutil.rmtree(base / name, ignore_errors=True))
            gone += 1
    return gone


async def remove_code_indexes(store: Store, roots: Roots) -> int:
    """An index belongs to a workspace, or to a chat with a scratch directory."""
    base = roots.data / CODE_FOLDER
    gone = 0
    for name in await blocking(lambda: _names(base)):
        known = is_uuid7(name) and (
            await store.read(is_known(WorkspaceId(name))) or await store.view(ChatId(name)) is not None
        )
        if not known:
            await blocking(lambda name=name: shutil.rmtree(base / name, ignore_errors=True))
            gone += 1
    return gone


async def remove_commands(store: Store, processes: Processes, kept: Collection[ChatId] = ()) -> int:
    """Homes and outputs of commands; what is still running of them is ended. `kept`: not those of these,
    which are no chats."""
    gone = 0
    for chat_id in sorted(await processes.stored_chats()):
        if chat_id not in kept and await store.view(chat_id) is None:
            await processes.end_chat(chat_id, remove=True)
            gone += 1
    return gone


async def remove_left_over(
    store: Store, worktrees: Worktrees, roots: Roots, now: datetime, after_seconds: float = LEFT_OVER_SECONDS
) -> int:
    """Checkouts without a workspace: the server died before it could record what it made."""
    base = roots.data / "worktrees"
    gone = 0
    for name in await blocking(lambda: _names(base)):
        old = await blocking(lambda name=name: _age(base / name, now)) > after_seconds
        if is_uuid7(name) and old and not await store.read(is_known(WorkspaceId(name))):
            gone += await worktrees.remove_left_over(WorkspaceId(name))
    return gone


def _age(path: Path, now: datetime) -> float:
    try:
        return now.timestamp() - path.lstat().st_mtime
    except OSError:
        return 0.0


def _names(base: Path) -> list[str]:
    try:
        return sorted(os.listdir(base))
    except FileNotFoundError:
        return []
