"""The configuration while the server runs: read again on request, handed to who follows it; and what another
replica changed in the database, told by a hint on the bus, or found by looking."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress

import structlog

from holdfast.accounts.stored import Stored
from holdfast.bus.interface import Bus
from holdfast.config.load import check_tools
from holdfast.config.reload import needs_restart
from holdfast.config.sections import Config
from holdfast.config.sources import Merged, merged
from holdfast.core.errors import HoldfastError
from holdfast.core.events import Configured
from holdfast.providers.registry import Registry as Providers
from holdfast.providers.registry import Setup, complete
from holdfast.tools.approval import Rules
from holdfast.worker.settings import WorkerSettings
from holdfast.worker.turn import Limits
from holdfast.worker.worker import Worker

log = structlog.get_logger(__name__)

# How late a change is noticed whose hint was lost.
LOOK_SECONDS = 10.0


class Following:
    """`read` reads the configuration of this process again, from the same places as at the start."""

    def __init__(
        self,
        config: Config,
        read: Callable[[], Config],
        stored: Stored,
        environ: Mapping[str, str],
        bus: Bus,
    ) -> None:
        self.config = config
        # Until `setup`: a model may name a provider that only the database has.
        self.merged = Merged()
        self._running = config
        self._read = read
        self._stored = stored
        self._environ = environ
        self._bus = bus
        # Of what the database had when it was read last.
        self._revision: object = None
        # Whether commands run behind the operating system's wall.
        self.walled = False
        # The names of the tools there are.
        self._tools: Collection[str] = ()
        self._providers: Providers | None = None
        self._worker: Worker | None = None
        # Who read first must not be the last to tell.
        self._one_at_a_time = asyncio.Lock()

    async def setup(self) -> Setup:
        """Providers and models of all sources, as they are now."""
        self.merged = await self._merge(self.config)
        return complete(self.merged.providers, self.merged.models, self._environ)

    def check_tools(self, known: Collection[str]) -> None:
        """Raises BadConfig when something is chosen for a tool that is not there, now and in each reload."""
        check_tools(self.config, known)
        self._tools = known

    def hand_to(self, providers: Providers, worker: Worker | None) -> None:
        self._providers, self._worker = providers, worker

    async def reload(self) -> tuple[str, ...]:
        """Takes over what may change; the keys that wait for a restart. What is wrong changes nothing."""
        async with self._one_at_a_time:
            read = await asyncio.to_thread(self._read)
            check_tools(read, self._tools)
            await self._use(read)
            if self._worker is not None:
                self._worker.use(worker_settings(read, walled=self.walled))
        waiting = needs_restart(self._running, read)
        log.info("configuration read", needs_restart=list(waiting))
        return waiting

    async def refresh(self) -> None:
        """Takes over what was changed in the database just now, and tells the other replicas; file and
        environment are not looked at."""
        async with self._one_at_a_time:
            await self._use(self.config)
        self._bus.publish(Configured())

    async def follow(self, look_seconds: float = LOOK_SECONDS) -> None:
        """Takes over what other replicas change, until it is cancelled."""
        async with self._bus.listen_for_settings() as told:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(look_seconds):
                        if await told.get() is None:
                            return
                try:
                    await self._catch_up()
                except HoldfastError as error:
                    log.warning("providers not looked at", reason=error.text)

    async def _catch_up(self) -> None:
        async with self._one_at_a_time:
            if await self._stored.revision() != self._revision:
                await self._use(self.config)

    async def _use(self, config: Config) -> None:
        together = await self._merge(config)
        setup = complete(together.providers, together.models, self._environ)
        self.config, self.merged = config, together
        if self._providers is not None:
            self._providers.replace(setup)

    async def _merge(self, config: Config) -> Merged:
        kept = await self._stored.read()
        self._revision = kept.revision
        together = merged(config, kept.providers, kept.models)
        for sentence in (*kept.unusable, *together.left_out):
            log.warning("not configured", reason=sentence)
        return together


def worker_settings(config: Config, *, walled: bool) -> WorkerSettings:
    worker = config.worker
    return WorkerSettings(
        max_chats=worker.max_chats,
        max_agents=worker.max_agents,
        max_per_user=worker.max_per_user,
        lease_seconds=worker.lease_seconds,
        grace_seconds=worker.grace_seconds,
        limits=Limits(steps=config.limits.steps, compaction_threshold=config.compaction.threshold),
        rules=Rules(
            default=config.tools.approval,
            walled=walled,
            per_tool={
                name: choice.approval
                for name, choice in config.tools.named.items()
                if choice.approval is not None
            },
        ),
        ask_when_uncertain=config.tools.on_uncertain == "ask",
        uncertain_tools={
            name: choice.on_uncertain
            for name, choice in config.tools.named.items()
            if choice.on_uncertain is not None
        },
        tool_seconds={
            name: choice.timeout_seconds
            for name, choice in config.tools.named.items()
            if choice.timeout_seconds is not None
        },
        compaction_model=config.compaction.model or None,
        title_model=config.titles.model or None,
    )
