"""Rounds of plays and kills on one stage. A round begins with a victim at work; it is killed at a named point
or after some time, perhaps its successors too; then everything must settle, and the judge looks."""

import asyncio
import os
from collections.abc import Awaitable, Sequence
from random import Random, SystemRandom

from tests.crash.handle import Died, Handle
from tests.crash.judge import judge
from tests.crash.plays import PLAYS, Play
from tests.crash.points import Point
from tests.crash.stage import Stage

SEED_VARIABLE = "HOLDFAST_CRASH_SEED"

# At a point, or so many seconds after the victim was started (the first: after the round began).
Death = Point | float


class Rounds:
    """`chance` decides everything but the scheduling of processes."""

    def __init__(self, stage: Stage, chance: Random) -> None:
        self._stage = stage
        self._chance = chance
        self._victim: Handle | None = None

    async def play(self, plays: Sequence[Play], deaths: Sequence[Death]) -> int:
        """How many of the deaths came about. A point that is not reached is none."""
        stage = self._stage
        killed = len(stage.kills)
        victim = self._victim or await stage.start()
        acting = asyncio.gather(*(play(stage, Random(self._chance.random())) for play in plays))
        try:
            self._victim = await self._kill(victim, deaths, acting)
            await acting
        finally:
            acting.cancel()
        stage.rested = list(await stage.settle())
        found = await judge(stage)
        assert found == [], "\n".join(["", *(f"killed: {how}" for how in stage.kills), *found])
        return len(stage.kills) - killed

    async def _kill(self, victim: Handle, deaths: Sequence[Death], acting: Awaitable[object]) -> Handle:
        """One after another; the victim that is left in the end."""
        for number, death in enumerate(deaths):
            if number:
                victim = await self._stage.begin(death if isinstance(death, Point) else None)
            elif isinstance(death, Point):
                await victim.ask("arm", death)
            introducing = asyncio.create_task(self._introduce(victim))
            died = await self._strike(victim, death, acting)
            await introducing
            if not died:
                await victim.ask("arm", None)
                return victim
        return await self._stage.start()

    async def _introduce(self, victim: Handle) -> None:
        """Clients talk to it as soon as it is ready, if it ever is."""
        try:
            await victim.ready()
        except Died:
            return
        await self._stage.present(victim)

    async def _strike(self, victim: Handle, death: Death, acting: Awaitable[object]) -> bool:
        if not isinstance(death, Point):
            await asyncio.sleep(death)
            await self._stage.kill(victim, f"after {death:.3f} s")
            return True
        dying = asyncio.create_task(self._stage.dead(victim, death.words))
        quiet = asyncio.create_task(self._quiet(acting))
        done, late = await asyncio.wait({dying, quiet}, return_when=asyncio.FIRST_COMPLETED)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
        for task in done:
            task.result()
        return dying in done

    async def _quiet(self, acting: Awaitable[object]) -> None:
        await asyncio.shield(acting)
        await self._stage.settle()


def seeded(name: str) -> Random:
    """What follows from a seed, which is printed. The environment may say which."""
    seed = os.environ.get(SEED_VARIABLE) or (
        "0" if "CI" in os.environ else str(SystemRandom().randrange(10**6))
    )
    print(f"{SEED_VARIABLE}={seed} ({name})")
    return Random(f"{name} {seed}")


def random_plays(chance: Random) -> list[Play]:
    return [chance.choice(PLAYS) for _ in range(chance.choice((2, 3, 4)))]


def random_deaths(chance: Random, points: Sequence[Point]) -> list[Death]:
    """Mostly one; sometimes the recovery is killed too."""

    def death(longest: float) -> Death:
        if chance.random() < 0.4:
            point = chance.choice(points)
            return Point(name=point.name, count=chance.choice((1, 1, 2, 3)) * point.count)
        return chance.uniform(0.0, longest)

    return [death(2.5), *(death(2.5) for _ in range(chance.choice((0, 0, 0, 1, 2))))]
