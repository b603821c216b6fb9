"""The sandboxes of a run: one for its own script, one for each workflow that it started. All are closed with
the run."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from holdfast.core.runs import Language
from holdfast.core.subprocesses import to_the_end
from holdfast.scripts.engines.messages import CallAnswer, ScriptStart, ScriptTurn
from holdfast.scripts.engines.sandbox import Sandbox
from holdfast.scripts.engines.wall import wall
from holdfast.scripts.journal import Scope

SPARE_SECONDS = 0.05


class Sandboxes:
    """Opens them, behind the wall if there is one, which is tried once. With `spares`, one more is opened
    ahead for the next use of the same language: starting is most of a short run's time."""

    def __init__(self, *, spares: bool = False, kept_in: Path | None = None) -> None:
        """`kept_in`: a directory of the server's own, for what an engine makes once."""
        self._spares = spares
        self._kept_in = kept_in
        self._walls: dict[Language, asyncio.Task[tuple[str, ...]]] = {}
        self._ahead: dict[Language, asyncio.Task[Sandbox]] = {}

    async def open(self, language: Language) -> Sandbox:
        spare = self._ahead.pop(language, None)
        if self._spares:
            self._ahead[language] = asyncio.create_task(self._later(language))
        if spare is not None:
            with suppress(OSError):
                sandbox = await _opened(spare)
                if sandbox.alive:
                    return sandbox
                await sandbox.close()
        return await _opened(asyncio.create_task(self._new(language)))

    async def _later(self, language: Language) -> Sandbox:
        """Without delaying the caller who just got one."""
        await asyncio.sleep(SPARE_SECONDS)
        return await self._new(language)

    async def close(self) -> None:
        """Closes those that were opened ahead."""
        while self._ahead:
            _, spare = self._ahead.popitem()
            await to_the_end(_give_up(spare))

    async def _new(self, language: Language) -> Sandbox:
        found = self._walls.get(language)
        if found is None:
            look = asyncio.to_thread(wall, language, self._kept_in)
            found = self._walls[language] = asyncio.create_task(look)
        return await Sandbox.open(language, await asyncio.shield(found), self._kept_in)


async def _opened(opening: asyncio.Task[Sandbox]) -> Sandbox:
    """If the caller is cancelled while a sandbox opens, even twice, it waits until it is closed again."""
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        await to_the_end(_give_up(opening))
        raise


async def _give_up(opening: asyncio.Task[Sandbox]) -> None:
    await asyncio.wait({opening})
    if opening.exception() is None:
        await opening.result().close()


class ScriptSandboxes:
    def __init__(self, sandboxes: Sandboxes) -> None:
        self._sandboxes = sandboxes
        self._running: dict[Scope, Sandbox] = {}

    def __contains__(self, scope: Scope) -> bool:
        return scope in self._running

    async def start(self, scope: Scope, start: ScriptStart) -> ScriptTurn:
        sandbox = self._running[scope] = await self._sandboxes.open(start.language)
        return await sandbox.start(start)

    async def answer(self, scope: Scope, answers: Sequence[CallAnswer]) -> list[ScriptTurn]:
        """A turn for each; fewer if the script ended before it was given all."""
        return await self._running[scope].answer_all(answers)

    async def close(self, scope: Scope) -> None:
        if (sandbox := self._running.pop(scope, None)) is not None:
            await sandbox.close()

    async def close_all(self) -> None:
        """Always completes, even if the caller is cancelled meanwhile: no process stays."""
        await to_the_end(self._close_each())

    async def _close_each(self) -> None:
        await asyncio.gather(*(self.close(scope) for scope in list(self._running)))
