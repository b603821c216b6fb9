"""One round: load begins, something is broken, the load drains, and the judge compares the records."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from tests.chaos.clients import GaveUp
from tests.chaos.faults import Fault, Misbehaved
from tests.chaos.judge import Violation, judge
from tests.chaos.plays import Cast, Play, chosen
from tests.chaos.records import family, gather_records, marks, roots_of, runs_of
from tests.chaos.stage import SetUp, Stage
from tests.chaos.watchers import Audience, Roamer, audience

# After the last fault everything settles within so long.
SETTLE_SECONDS = 60.0
# Load is spread over so long.
BEGIN_SECONDS = 3.0


@dataclass
class Result:
    set_up: SetUp
    fault: str
    seed: str
    violations: list[Violation] = field(default_factory=list[Violation])
    # Seconds until all chats that were busy had gone on, for each time something was broken.
    recoveries: list[float] = field(default_factory=list[float])
    chats: int = 0
    # What people noticed of it.
    marks: Counter[str] = field(default_factory=Counter[str])
    seconds: float = 0.0


@dataclass(frozen=True)
class Size:
    """How much load, and how patient the judge is: a test on a busy machine waits longer."""

    plays: int = 10
    patience: float = 1.0


async def play_round(stage: Stage, fault: Fault, seed: str, size: Size) -> Result:
    began = time.monotonic()
    result = Result(stage.set_up, fault.name, seed)
    chance = Random(seed)
    stage.new_round(chance)
    async with audience(stage.clients, chance) as crowd:
        acting = [
            asyncio.create_task(_late(play, stage, crowd, Random(f"{seed}/{number}")))
            for number, play in enumerate(chosen(chance, size.plays))
        ]
        breaking = Random(f"{seed}/breaking")
        try:
            for _ in range(fault.times):
                await asyncio.sleep(breaking.uniform(0.5, BEGIN_SECONDS))
                await _break(stage, fault, breaking, result, size)
            async with asyncio.timeout(SETTLE_SECONDS * size.patience):
                await asyncio.gather(*acting)
                await _settle(stage)
                await _caught_up(crowd)
        except AssertionError as error:
            result.violations.append(Violation("errors", f"a play was answered as it should not be: {error}"))
        except (TimeoutError, GaveUp) as error:
            what = str(error) or f"not settled {SETTLE_SECONDS * size.patience:g} s after the last fault"
            result.violations.append(Violation("I-6", f"{what}: {await _unsettled(stage, acting, crowd)}"))
        finally:
            for task in acting:
                task.cancel()
            await asyncio.wait(acting)
        await crowd.leave()
        records = await gather_records(stage, crowd.watchers, 0 if fault.name == "none" else fault.times)
    result.violations += judge(records)
    result.chats, result.marks = len(records.dumps), marks(records)
    result.seconds = time.monotonic() - began
    return result


async def _late(play: Play, stage: Stage, crowd: Audience, chance: Random) -> None:
    await asyncio.sleep(chance.uniform(0, BEGIN_SECONDS))
    await play(Cast(stage.clients, stage.tags, chance, stage.workspace_id, crowd.watch))


async def _break(stage: Stage, fault: Fault, chance: Random, result: Result, size: Size) -> None:
    busy = await stage.busy()
    began = time.monotonic()
    moving = asyncio.create_task(stage.moved(busy))
    try:
        await fault.inject(stage, chance)
    except Misbehaved as error:
        invariant, _, text = str(error).partition(": ")
        result.violations.append(Violation(invariant, text))
    healed = began if fault.taken_over and len(stage.servers) > 1 else time.monotonic()
    try:
        async with asyncio.timeout(SETTLE_SECONDS * size.patience):
            result.recoveries.append(max(await moving - healed, 0.0))
    except TimeoutError:
        result.violations.append(Violation("I-6", f"not all of {len(busy)} busy chats went on"))


async def _settle(stage: Stage) -> None:
    """Until no chat is busy; whoever is asked something is answered."""
    while True:
        running = [run for run in await runs_of(stage) if run["status"] in ("pending", "running")]
        chats = await family(stage.observer, await roots_of(stage))
        at_rest = all(chat["status"] in ("idle", "error") and not chat["queue_length"] for chat in chats)
        if at_rest and not running:
            return
        for chat in chats:
            # Those of sub-agents are shown on their root.
            if chat["parent_id"] is None:
                await stage.clients.answer_all(chat)
        await asyncio.sleep(0.2)


async def _caught_up(crowd: Audience) -> None:
    for watcher in crowd.watchers:
        watcher.settled = True
    for watcher in crowd.watchers:
        while not _is_caught_up(watcher):
            watcher.changed.clear()
            try:
                async with asyncio.timeout(1):
                    await watcher.changed.wait()
            except TimeoutError:
                pass


def _is_caught_up(watcher: Roamer) -> bool:
    """One that complained will never be; the judge hears of it."""
    at_rest = watcher.status in ("idle", "error") and watcher.preview is None
    return watcher.complaint is not None or at_rest


async def _unsettled(stage: Stage, acting: Sequence[asyncio.Task[None]], crowd: Audience) -> str:
    unanswered = [asked for asked in stage.clients.log if not asked.status]
    busy = await stage.busy()
    playing = sum(not task.done() for task in acting)
    behind = [
        f"{one.manner} {one.about} ({one.status}, {one.connections} connections, last {one.names[-3:]})"
        for one in crowd.watchers
        if not _is_caught_up(one)
    ]
    return (
        f"{playing} plays go on, {len(unanswered)} requests are unanswered, {sorted(busy)} are busy, "
        f"{behind} are behind"
    )
