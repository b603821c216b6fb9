"""The parts of a server process, opened in order and closed in reverse."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from holdfast.accounts.access import Access
from holdfast.accounts.sign_in import SignIn
from holdfast.accounts.stored_providers import Stored
from holdfast.accounts.user_admin import People
from holdfast.accounts.vault import Vault
from holdfast.api.attempts import Attempts
from holdfast.api.services import Services
from holdfast.bus.interface import Bus
from holdfast.bus.memory import MemoryBus
from holdfast.config.places import skill_directories
from holdfast.config.sections import Config
from holdfast.core.accounts import User
from holdfast.core.clock import SystemClock
from holdfast.core.errors import CannotStart
from holdfast.core.ids import RandomIds
from holdfast.duties.worker import Worker
from holdfast.feed.hub import Hub
from holdfast.providers.discovery import Discovery
from holdfast.providers.prices import Prices
from holdfast.providers.registry import ModelRegistry as Providers
from holdfast.server.config_reload import Following, worker_settings
from holdfast.server.known_secrets import known_secrets
from holdfast.server.peers import Peers
from holdfast.server.toolbox import Toolbox, toolbox
from holdfast.store import directory
from holdfast.store.open import is_postgres, open_store
from holdfast.telemetry.crashes import Crashes
from holdfast.telemetry.debug_recording import DebugRecorder
from holdfast.telemetry.metrics import Metrics
from holdfast.telemetry.trace_export import TraceExport
from holdfast.worker.chat_duty import ChatDuty
from holdfast.worker.commit_messages import CommitMessages
from holdfast.worker.models import ConfiguredModels
from holdfast.worker.side_calls import SideCalls


@dataclass(kw_only=True)
class Parts:
    services: Services
    toolbox: Toolbox
    following: Following
    worker: Worker | None
    crashes: Crashes
    peers: Peers
    # Whether other processes may work on the same database.
    may_have_peers: bool
    # Whom the sign-in link is for.
    admin: User
    stopping: asyncio.Event


@asynccontextmanager
async def opened(
    config: Config, read: Callable[[], Config], environ: Mapping[str, str]
) -> AsyncGenerator[Parts]:
    """Everything but serving requests and running chats. From now on local programs can find their token."""
    clock, ids, metrics, peers = SystemClock(), RandomIds(), Metrics(), Peers()
    data, url = config.server.data, config.database.url.reveal()
    export = TraceExport.wanted(environ)
    await asyncio.to_thread(directory.secure, data)
    async with AsyncExitStack() as stack:
        bus = await stack.enter_async_context(_bus(config, peers))
        # Without our clock: leases and deadlines are judged by the database's own, the same for all replicas.
        publish = bus.publish if export is None else export.listening(bus.publish)
        store = await open_store(url, data=data, publish=publish, ids=ids)
        stack.push_async_callback(store.close)
        crashes = await Crashes.open(store, data, clock)
        stack.push_async_callback(crashes.close)
        vault = await asyncio.to_thread(Vault.open, data, config.server.secret_key)
        await vault.check(store)
        stored = Stored(store, vault, clock, ids)
        access = Access(store, clock)
        sign_in = SignIn(store, access, clock, ids)
        following = Following(config, read, stored, environ, bus)
        providers = await stack.enter_async_context(Providers(await following.setup(), environ=environ))
        tracing = None
        if export is not None:
            tracing = export.begin(store, providers)
            stack.push_async_callback(export.close)
        box = await stack.enter_async_context(
            toolbox(
                config=lambda: following.config,
                store=store,
                bus=bus,
                providers=providers,
                clock=clock,
                ids=ids,
                environ=environ,
                crashes=crashes,
                vault=vault,
            )
        )
        following.check_tools([tool.name for tool in box.tools])
        following.walled = box.probe.wall.stands
        prices = Prices()
        debug = await stack.enter_async_context(
            DebugRecorder(
                store, clock, ids, metrics, lambda: known_secrets(following.config, providers, environ)
            )
        )
        models = ConfiguredModels(providers, prices)
        beside = SideCalls(store=store, models=models, clock=clock, ids=ids, metrics=metrics, tracing=tracing)
        chats = ChatDuty(
            store=store,
            bus=bus,
            models=models,
            tools=box.tools,
            settings=worker_settings(config, walled=following.walled),
            metrics=metrics,
            clock=clock,
            ids=ids,
            surroundings=box.surroundings,
            files=box.files,
            checkpoints=box.checkpoints,
            hooks=box.hooks,
            isolation=box.isolation,
            tool_sources=box.tool_sources,
            crashes=crashes,
            debug=debug,
            tracing=tracing,
        )
        worker = Worker(
            [chats, box.workflows.duty(chats), box.flows.duty(chats)],
            store=store,
            bus=bus,
            lease_seconds=lambda: chats.settings.lease_seconds,
            metrics=metrics,
            crashes=crashes,
            clock=clock,
        )
        following.hand_to(providers, chats)
        hub = Hub(store, bus)
        stack.push_async_callback(hub.close)
        parts = Parts(
            services=Services(
                store=store,
                bus=bus,
                hub=hub,
                access=access,
                sign_in=sign_in,
                people=People(store, access, clock, ids),
                stored=stored,
                providers=providers,
                discovery=Discovery(providers, prices),
                origins=lambda: following.merged,
                tools=box.tools,
                workspaces=box.workspaces,
                agent_names=box.agent_names,
                trust=box.trust,
                mcp=box.mcp,
                surroundings=box.surroundings,
                templates=box.templates,
                builds=box.builds,
                hooks=box.hooks,
                agent_trust=box.agent_trust,
                skills=skill_directories(environ),
                walled=box.walled,
                files=box.files,
                code=box.code,
                changes=box.changes,
                worktrees=box.worktrees,
                worktree_merge=box.worktree_merge,
                commit_messages=CommitMessages(beside, lambda: following.config.titles.model or None),
                runs=box.workflows.runs,
                flow_runs=box.flows.runs,
                config=lambda: following.config,
                reload=following.reload,
                refresh=following.refresh,
                metrics=metrics,
                clock=clock,
                ids=ids,
                ready=lambda: not parts.stopping.is_set(),
                attempts=Attempts(config.server.proxies),
                traced=export is not None,
            ),
            toolbox=box,
            following=following,
            worker=worker if config.worker.enabled else None,
            crashes=crashes,
            peers=peers,
            may_have_peers=is_postgres(url),
            admin=await sign_in.prepare(data),
            stopping=asyncio.Event(),
        )
        yield parts


def _bus(config: Config, peers: Peers) -> AbstractAsyncContextManager[Bus]:
    """What is not used is not imported."""
    database, bus = config.database.url.reveal(), config.bus.url.reveal()
    if bus:
        try:
            from holdfast.bus.redis import RedisBus
        except ModuleNotFoundError:
            raise CannotStart(
                "bus.url names a Redis, and its client is not installed. "
                "Install it with: pip install 'holdfast[redis]'"
            ) from None
        return RedisBus(bus, peers=peers.any, announces=not config.worker.enabled)
    if is_postgres(database):
        from holdfast.bus.postgres import PostgresBus

        return PostgresBus(database, peers=peers.any, announces=not config.worker.enabled)
    return MemoryBus()
