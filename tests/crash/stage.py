"""A stage: one database, one scripted provider, one ledger, and the victims that come and go on it."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import asyncpg
from msgspec.structs import replace

from holdfast.core.ids import ChatId
from holdfast.store.open import FILE_NAME, is_postgres, open_store
from holdfast.worker.settings import WorkerSettings
from tests.crash.clients import SETTLE_SECONDS, Clients
from tests.crash.handle import Handle
from tests.crash.ledger import Ledger
from tests.crash.orders import Setup
from tests.crash.points import Point
from tests.crash.summaries import around_summaries
from tests.providers.server import ProviderServer

# On PostgreSQL a dead worker's chats wait for the end of its lease.
QUICK = WorkerSettings(lease_seconds=3.0, poll_seconds=0.3)
# What may be left of a victim has so long to go; times four.
LEFT_SECONDS = 120.0
OTHER_SESSIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


class Stage(Clients):
    def __init__(
        self, directory: Path, database: str, provider: ProviderServer, settings: WorkerSettings
    ) -> None:
        super().__init__()
        self.provider = provider
        self.ledger = Ledger(directory / "ledger.jsonl")
        # How victims came to their ends, in words.
        self.kills: list[str] = []
        # Chats of earlier plays that rest, for others to go on with.
        self.rested: list[ChatId] = []
        self._directory = directory
        self._handles: list[Handle] = []
        # Kept open by victims and all that they start: its end comes when the last of them is gone.
        self._pipe = os.pipe()
        os.set_blocking(self._pipe[0], False)
        self._setup = Setup(
            database=database,
            data=str(directory / "data"),
            ledger=str(directory / "ledger.jsonl"),
            provider_url=provider.url,
            settings=settings,
            kept_open=self._pipe[1],
        )
        provider.answer = around_summaries()

    @property
    def is_on_postgres(self) -> bool:
        return is_postgres(self._setup.database)

    # --- victims ---

    async def begin(self, point: Point | None = None, *, working: bool = True) -> Handle:
        """A victim that is starting."""
        log = self._directory / f"victim-{len(self._handles)}.log"
        handle = await Handle.begin(replace(self._setup, point=point, working=working), log)
        self._handles.append(handle)
        return handle

    async def start(self, point: Point | None = None, *, working: bool = True) -> Handle:
        """A victim that is ready, and whom clients talk to from now on."""
        handle = await self.begin(point, working=working)
        await handle.ready()
        await self.present(handle)
        return handle

    async def dead(self, handle: Handle, how: str) -> None:
        """Waits for the end of a victim that was to be killed."""
        async with asyncio.timeout(SETTLE_SECONDS):
            code = await handle.gone()
        assert code == -signal.SIGKILL, f"the victim ended by itself ({code}) at {how}:\n{handle.log()}"
        self.kills.append(how)

    async def kill(self, handle: Handle, how: str = "killed by the driver") -> None:
        handle.kill()
        await self.dead(handle, how)

    async def leave_victims(self) -> None:
        """All victims stop as servers do."""
        for handle in self._handles:
            if handle.alive:
                code = await handle.leave()
                assert code == 0, f"the victim did not stop well ({code}):\n{handle.log()}"

    async def leave(self) -> None:
        """The end of the play. I-11: nothing is left of anybody."""
        await self.leave_victims()
        os.close(self._pipe[1])
        self._pipe = (self._pipe[0], -1)
        await self.until(self._all_gone, LEFT_SECONDS)
        if self.is_on_postgres:
            await self._no_session_left()
        else:
            files = await asyncio.to_thread(os.listdir, self._setup.data)
            assert set(files) == {FILE_NAME, f"{FILE_NAME}.lock"}

    def _all_gone(self) -> bool:
        try:
            return os.read(self._pipe[0], 1) == b""
        except BlockingIOError:
            return False

    async def _no_session_left(self) -> None:
        connection = await asyncpg.connect(self._setup.database)
        try:
            async with asyncio.timeout(LEFT_SECONDS):
                while await connection.fetchval(OTHER_SESSIONS):  # noqa: ASYNC110 - the server ends them
                    await asyncio.sleep(0.1)
        finally:
            await connection.close()

    async def close(self) -> None:
        """Whatever happened, nobody stays."""
        self.stop()
        for handle in self._handles:
            handle.thaw()
            handle.kill()
        for handle in self._handles:
            with suppress(TimeoutError):
                async with asyncio.timeout(60):
                    await handle.gone()
        for fd in self._pipe:
            if fd >= 0:
                os.close(fd)

    # --- what is so ---

    async def check(self) -> list[str]:
        """What is wrong with the database, seen from outside and beside a server that is at work."""
        store = await open_store(
            self._setup.database, data=Path(self._setup.data), publish=lambda _: None, mode="tool"
        )
        try:
            return await store.check()
        finally:
            await store.close()

    async def until(self, holds: Callable[[], bool], seconds: float = SETTLE_SECONDS) -> None:
        async with asyncio.timeout(seconds):
            while not holds():  # noqa: ASYNC110 - what is waited for happens in other processes
                await asyncio.sleep(0.01)

    def open_gate(self) -> None:
        """Calls that wait for it go on."""
        self.ledger.gate.touch()

    def asked_of(self, text: str) -> int:
        """How many requests the provider got whose messages have this text."""
        return sum(text.encode() in asked.raw for asked in self.provider.log)

    def effects_of(self, chat_id: ChatId, tool: str | None = None) -> int:
        return sum(line.chat_id == chat_id for line in self.ledger.effects(tool))


@asynccontextmanager
async def a_stage(
    directory: Path, database: str, settings: WorkerSettings | None = None
) -> AsyncGenerator[Stage]:
    async with ProviderServer() as provider:
        stage = Stage(directory, database, provider, settings or WorkerSettings())
        try:
            yield stage
        finally:
            await stage.close()
