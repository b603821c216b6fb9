"""What nobody needs any more: worktrees an hour after their chat is gone, scratch directories of chats that
are gone."""

import os
import shutil
from pathlib import Path

from holdfast.core.ids import ChatId, is_uuid7
from holdfast.store.interface import Store
from holdfast.store.workspaces import ORPHAN_MICROS, delete, orphans
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.roots import Roots
from holdfast.workspaces.worktrees import Worktrees


async def remove_orphans(store: Store, worktrees: Worktrees, after_micros: int = ORPHAN_MICROS) -> int:
    """How many were removed. Killed in between, the next one does the rest."""
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


def _names(base: Path) -> list[str]:
    try:
        return sorted(os.listdir(base))
    except FileNotFoundError:
        return []
