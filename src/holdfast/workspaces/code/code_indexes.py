"""Questions about a workspace's source code, each answered by a process behind the wall (`code_process`). The
index of a workspace is kept in the data directory and deleted with the workspace."""

import asyncio
import sys
from pathlib import Path
from weakref import WeakValueDictionary

import msgspec

from holdfast.core.errors import TryAgain, WrongState
from holdfast.core.shapes import encode
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.code.code_process import PARSE_SECONDS, CodeAnswer, CodeQuestion, CodeRequest
from holdfast.workspaces.code.grammars import installed
from holdfast.workspaces.commands.walled_programs import Program, Ran, Walled, interpreter
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.search.searches import hidden_below

# Parsing, and time for everything around it on a busy machine.
CODE_SECONDS = PARSE_SECONDS + 50
_ANSWER_BYTES = 4 * 1024 * 1024
# A file that ends the process is skipped by the next attempt.
_RETRIES = 3
_PROCESS = (sys.executable, "-I", "-m", "holdfast.workspaces.code.code_process")
FOLDER = "code"


class CodeIndexes:
    def __init__(self, walled: Walled, data: Path) -> None:
        self._walled = walled
        self._base = data.resolve() / FOLDER
        # One process at a time writes the index of a workspace.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def ask(self, root: Root, key: str, question: CodeQuestion) -> CodeAnswer:
        """`key` names the workspace, or the chat whose scratch directory it is."""
        if not installed():
            raise WrongState(
                "Mapping code needs grammars that are not installed. Install them with: "
                "pip install 'holdfast[code]'"
            )
        self._walled.require("Mapping code")
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            kept = await blocking(lambda: self._directory(key))
            hidden, covered = await blocking(lambda: hidden_below(root))
            request = CodeRequest(question=question, hidden=hidden, covered=covered)
            ran = await self._run(root, kept, request)
            for _ in range(_RETRIES):
                if ran.code == 0:
                    break
                ran = await self._run(root, kept, request)
        if ran.code != 0 or ran.cut:
            raise TryAgain(f"The source code could not be read: {ran.reason}")
        return msgspec.json.decode(ran.output, type=CodeAnswer)

    async def _run(self, root: Root, kept: Root, request: CodeRequest) -> Ran:
        async with self._walled.room() as room:
            asked = room.own / "request"
            await blocking(lambda: asked.write_bytes(encode(request)))
            program = Program(
                argv=(*_PROCESS, str(root.path), str(kept.path), str(asked)),
                cwd=Path("/"),
                readable=(root,),
                writable=(kept,),
                system=interpreter(),
            )
            return await room.run(program, limit=_ANSWER_BYTES, seconds=CODE_SECONDS)

    def _directory(self, key: str) -> Root:
        for path in (self._base, self._base / key):
            path.mkdir(mode=0o700, exist_ok=True)
        return Root(self._base, (key,))
