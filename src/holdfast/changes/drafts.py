"""Drafts: copies of workspaces for agents whose writes wait for review. A draft is made behind the wall
when a tool first needs it, from the workspace as it is then, with uncommitted and ignored files and
`.git`."""

import asyncio
import secrets
import shutil
from pathlib import Path
from weakref import WeakValueDictionary

from holdfast.core.errors import WrongState
from holdfast.core.ids import ChatId, is_uuid7
from holdfast.store.interface import Store
from holdfast.store.modes import drafting_chat
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.commands.walled_programs import Program, Walled
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.places.allowed_roots import Roots

COPY_SECONDS = 600.0
_OUTPUT_BYTES = 4096


class Drafts:
    def __init__(self, store: Store, roots: Roots, walled: Walled) -> None:
        self._store = store
        self._roots = roots
        self._walled = walled
        self._making: WeakValueDictionary[ChatId, asyncio.Lock] = WeakValueDictionary()

    async def of_chat(self, chat_id: ChatId) -> ChatId | None:
        """The chat whose draft this chat works in; None if it writes to the workspace itself."""
        return await self._store.read(drafting_chat(chat_id)) if is_uuid7(chat_id) else None

    async def root(self, chat_id: ChatId, workspace: Root) -> Root:
        """The draft's directory, copied from the workspace if it does not exist yet."""
        root = self._roots.draft(chat_id)
        async with self._making.setdefault(chat_id, asyncio.Lock()):
            if not await blocking(root.path.is_dir):
                await self._make(root, workspace)
        return root

    def place(self, chat_id: ChatId) -> Root:
        """Where the draft is, or would be."""
        return self._roots.draft(chat_id)

    async def _make(self, root: Root, workspace: Root) -> None:
        self._walled.require("To let changes wait for review")
        begun = root.base / f".new-{secrets.token_hex(8)}"
        await blocking(lambda: begun.mkdir(mode=0o700))
        try:
            program = Program(
                argv=("cp", "-a", "--reflink=auto", "--", f"{workspace.path}/.", str(begun)),
                cwd=Path("/"),
                readable=(workspace,),
                writable=(Root(root.base, (begun.name,)),),
            )
            ran = await self._walled.run(program, limit=_OUTPUT_BYTES, seconds=COPY_SECONDS)
            if ran.code != 0:
                raise WrongState(f"The workspace could not be copied for review: {ran.reason}.")
            await blocking(lambda: begun.rename(root.path))
        finally:
            await blocking(lambda: shutil.rmtree(begun, ignore_errors=True))

    async def remove_left_over(self) -> int:
        """Removes drafts of deleted chats, and copies that a killed server left."""
        base = self._roots.data / "drafts"
        gone = 0
        names = await blocking(lambda: [path.name for path in base.iterdir()] if base.is_dir() else [])
        for name in names:
            if is_uuid7(name) and await self._store.view(ChatId(name)) is None:
                await blocking(lambda name=name: shutil.rmtree(base / name, ignore_errors=True))
                gone += 1
        return gone
