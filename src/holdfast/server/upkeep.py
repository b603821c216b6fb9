"""What a server maintains besides requests and chats: feeds and chats of users who lost access, commands of
deleted chats, directories that nobody needs any more."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from holdfast.chats.commands import Interrupt
from holdfast.core.errors import HoldfastError
from holdfast.server.parts import Parts
from holdfast.store import chats, collisions, debug_runs, outbox
from holdfast.tools.intents import finish_left_over
from holdfast.workspaces.places.upkeep import (
    remove_code_indexes,
    remove_commands,
    remove_left_over,
    remove_orphans,
    remove_scratch,
)

log = structlog.get_logger(__name__)

ACCESS_SECONDS = 2.0
COMMANDS_SECONDS = 2.0
DIRECTORIES_SECONDS = 600.0
EDITS_SECONDS = 20.0
DEBUG_SECONDS = 20.0
HOOKS_SECONDS = 2.0
STOPPED_AT_ONCE = 100


def upkeep(parts: Parts) -> list[asyncio.Task[None]]:
    """To be cancelled when the server stops."""
    services, box = parts.services, parts.toolbox

    async def cut_lost_feeds() -> None:
        await services.feeds.cut_lost(services.access, services.hub)

    async def end_commands() -> None:
        """Of deleted chats."""
        running = box.processes.chats()
        if running:
            there = {chat.id for chat in await services.store.read(chats.chats(tuple(running)))}
            for gone in running - there - box.set_up_commands.at_work:
                await box.processes.end_chat(gone, remove=True)

    async def stop_suspended() -> None:
        """What runs for a suspended user. Queued messages that start next are interrupted in turn."""
        for chat_id in await services.store.read(chats.busy_of_suspended(STOPPED_AT_ONCE)):
            await services.store.transition(chat_id, Interrupt())

    async def remove_directories() -> None:
        await remove_orphans(services.store, box.worktrees)
        await remove_scratch(services.store, box.workspaces.roots)
        await remove_code_indexes(services.store, box.workspaces.roots)
        await remove_commands(services.store, box.processes, box.set_up_commands.at_work)
        await remove_left_over(services.store, box.worktrees, box.workspaces.roots, services.clock.now())
        await box.files.sweep()
        await services.store.write(collisions.forget_old())
        await services.store.write(outbox.forget_old())
        await box.drafts.remove_left_over()
        chosen = services.config().changes
        await box.checkpoints.sweep(chosen.keep_days, chosen.max_mib)

    async def end_debug_runs() -> None:
        """Of turns that ended elsewhere, and of workers that died."""
        await services.store.write(debug_runs.end_left_over())

    async def forget_debug_runs() -> None:
        while await services.store.write(debug_runs.forget_old(services.config().debug.keep_days)):
            pass

    async def finish_edits() -> None:
        await finish_left_over(services.store, box.workspaces)
        await box.changes.finish_left_over()

    async def clean_builds() -> None:
        await box.builds.clean_left_over()

    own = 0 if parts.worker is None else 1
    return [
        asyncio.create_task(_again_after_failure(services.discovery.run)),
        asyncio.create_task(_every(ACCESS_SECONDS, cut_lost_feeds)),
        asyncio.create_task(_every(ACCESS_SECONDS, stop_suspended)),
        asyncio.create_task(_every(COMMANDS_SECONDS, end_commands)),
        asyncio.create_task(_every(DIRECTORIES_SECONDS, remove_directories)),
        asyncio.create_task(_every(EDITS_SECONDS, finish_edits)),
        asyncio.create_task(_every(DEBUG_SECONDS, end_debug_runs)),
        asyncio.create_task(_every(DIRECTORIES_SECONDS, forget_debug_runs)),
        asyncio.create_task(_every(EDITS_SECONDS, clean_builds, at_once=True)),
        asyncio.create_task(_again_after_failure(box.hook_deliveries.run, HOOKS_SECONDS)),
        asyncio.create_task(parts.peers.count(services.store, own=own)),
        *([asyncio.create_task(parts.following.follow())] if parts.may_have_peers else []),
    ]


async def _again_after_failure(
    work: Callable[[], Awaitable[None]], seconds: float = DIRECTORIES_SECONDS
) -> None:
    """For work with its own interval."""
    while True:
        try:
            await work()
        except Exception:
            log.exception("upkeep failed", work=getattr(work, "__name__", ""))
        await asyncio.sleep(seconds)


async def _every(seconds: float, work: Callable[[], Awaitable[None]], *, at_once: bool = False) -> None:
    name = getattr(work, "__name__", "")
    while True:
        await asyncio.sleep(0 if at_once else seconds)
        at_once = False
        try:
            await work()
        except HoldfastError as error:
            log.warning("upkeep put off", work=name, reason=error.text)
        except Exception:
            # Users who lost access must be cut next time, whatever went wrong this time.
            log.exception("upkeep failed", work=name)
