"""The configuration of a running server: reloaded on request, and passed to the parts that use it; also picks
up what another replica changed in the database, by a hint on the bus or by polling."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress

import structlog

from holdfast.accounts.stored_providers import Stored
from holdfast.bus.interface import Bus
from holdfast.config.findings import findings
from holdfast.config.load import check_tools
from holdfast.config.sections import Config, needs_restart
from holdfast.config.sources import Merged, merged
from holdfast.core.errors import BadConfig, HoldfastError, InvalidInput
from holdfast.providers.registry import ModelRegistry as Providers
from holdfast.providers.registry import Setup, complete
from holdfast.tools.approval import ApprovalRules
from holdfast.tools.modes import own_mode
from holdfast.worker.actions import TurnLimits
from holdfast.worker.chat_duty import ChatDuty
from holdfast.worker.settings import WorkerSettings

log = structlog.get_logger(__name__)

# How late a change is noticed if its hint was lost.
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
        # Identifies the state of the database when it was last read.
        self._revision: object = None
        # Whether commands run behind the operating system's wall.
        self.walled = False
        # The names of the tools there are.
        self._tools: Collection[str] = ()
        self._providers: Providers | None = None
        self._chats: ChatDuty | None = None
        # Whoever reads first must not be the last to apply.
        self._one_at_a_time = asyncio.Lock()

    async def setup(self) -> Setup:
        """Providers and models of all sources, in their current state."""
        self.merged = await self._merge(self.config)
        return self._complete(self.config, self.merged)

    def check_tools(self, known: Collection[str]) -> None:
        """Raises BadConfig if a tool is configured that does not exist, now and at each reload."""
        check_tools(self.config, known)
        self._tools = known

    def hand_to(self, providers: Providers, chats: ChatDuty | None) -> None:
        self._providers, self._chats = providers, chats

    async def reload(self) -> tuple[str, ...]:
        """Applies what may change; returns the keys that need a restart. An invalid configuration changes
        nothing."""
        async with self._one_at_a_time:
            read = await asyncio.to_thread(self._read)
            check_tools(read, self._tools)
            await self._use(read)
            if self._chats is not None:
                self._chats.use(worker_settings(read, walled=self.walled))
        for sentence in self.findings():
            log.warning("configuration", finding=sentence)
        waiting = needs_restart(self._running, read)
        log.info("configuration read", needs_restart=list(waiting))
        return waiting

    async def refresh(self) -> None:
        """Applies what was just changed in the database, without reading file and environment. The other
        replicas are told by the write itself."""
        async with self._one_at_a_time:
            await self._use(self.config)

    async def follow(self, look_seconds: float = LOOK_SECONDS) -> None:
        """Applies what other replicas change, until it is cancelled."""
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
        setup = self._complete(config, together)
        self.config, self.merged = config, together
        if self._providers is not None:
            self._providers.replace(setup)

    def _complete(self, config: Config, together: Merged) -> Setup:
        try:
            return complete(together.providers, together.models, self._environ, default=together.default)
        except InvalidInput as error:
            if together.default == config.default_model:
                raise BadConfig(f"{error.text}.") from None
            # It was chosen while a key was in the environment that is gone now.
            return complete(together.providers, together.models, self._environ)

    def findings(self) -> tuple[str, ...]:
        """What is wrong with the configuration in use."""
        setup = (
            self._providers.setup if self._providers is not None else self._complete(self.config, self.merged)
        )
        return tuple(findings(self.config, setup, self._environ))

    async def _merge(self, config: Config) -> Merged:
        kept = await self._stored.read()
        self._revision = kept.revision
        together = merged(config, kept.providers, kept.models, kept.default)
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
        limits=TurnLimits(
            steps=config.limits.steps,
            closing=config.limits.closing,
            compaction_threshold=config.compaction.threshold,
        ),
        rules=ApprovalRules(
            default=config.tools.approval,
            walled=walled,
            per_tool={
                name: choice.approval
                for name, choice in config.tools.named.items()
                if choice.approval is not None
            },
        ),
        modes={
            name: own_mode(name, choice.tools, choice.instructions) for name, choice in config.modes.items()
        },
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
        compaction_seconds=config.compaction.seconds,
        compaction_prompt=config.compaction.prompt.strip() or None,
        title_model=config.titles.model or None,
        summaries_by_model=config.titles.summaries,
        debug=config.debug.mode,
    )
