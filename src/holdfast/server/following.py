"""The configuration while the server runs: read again on request, handed to who follows it."""

import asyncio
from collections.abc import Callable, Mapping

import structlog

from holdfast.accounts.stored import Stored
from holdfast.config.reload import needs_restart
from holdfast.config.sections import Config
from holdfast.config.sources import Merged, merged
from holdfast.providers.registry import Registry as Providers
from holdfast.providers.registry import Setup, complete
from holdfast.tools.approval import Rules
from holdfast.worker.settings import WorkerSettings
from holdfast.worker.turn import Limits
from holdfast.worker.worker import Worker

log = structlog.get_logger(__name__)


class Following:
    """`read` reads the configuration of this process again, from the same places as at the start."""

    def __init__(
        self, config: Config, read: Callable[[], Config], stored: Stored, environ: Mapping[str, str]
    ) -> None:
        self.config = config
        # Until `setup`: a model may name a provider that only the database has.
        self.merged = Merged()
        self._running = config
        self._read = read
        self._stored = stored
        self._environ = environ
        # Whether commands run behind the operating system's wall.
        self.walled = False
        self._providers: Providers | None = None
        self._worker: Worker | None = None
        # Who read first must not be the last to tell.
        self._one_at_a_time = asyncio.Lock()

    async def setup(self) -> Setup:
        """Providers and models of all sources, as they are now."""
        self.merged = await self._merge(self.config)
        return complete(self.merged.providers, self.merged.models, self._environ)

    def hand_to(self, providers: Providers, worker: Worker | None) -> None:
        self._providers, self._worker = providers, worker

    async def reload(self) -> tuple[str, ...]:
        """Takes over what may change; the keys that wait for a restart. What is wrong changes nothing."""
        async with self._one_at_a_time:
            read = await asyncio.to_thread(self._read)
            await self._use(read)
            if self._worker is not None:
                self._worker.use(worker_settings(read, walled=self.walled))
        waiting = needs_restart(self._running, read)
        log.info("configuration read", needs_restart=list(waiting))
        return waiting

    async def refresh(self) -> None:
        """Takes over what the database has now; file and environment are not looked at."""
        async with self._one_at_a_time:
            await self._use(self.config)

    async def _use(self, config: Config) -> None:
        together = await self._merge(config)
        setup = complete(together.providers, together.models, self._environ)
        self.config, self.merged = config, together
        if self._providers is not None:
            self._providers.replace(setup)

    async def _merge(self, config: Config) -> Merged:
        kept = await self._stored.read()
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
        compaction_model=config.compaction.model or None,
        title_model=config.titles.model or None,
    )
