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
        acting = asyncio.gather(*(play(stage, self._chance) for play in plays))
        try:
            for number, death in enumerate(deaths):
                if number:
                    victim = await stage.begin(death if isinstance(death, Point) else None)
                    introducing = asyncio.create_task(self._introduce(victim))
                elif isinstance(death, Point):
                    await victim.ask("arm", death)
                    introducing = None
                else:
                    introducing = None
                died = await self._strike(victim, death, acting)
                if introducing is not None:
                    await introducing
                if not died:
                    await victim.ask("arm", None)
                    break
            else:
                victim = await stage.start()
            self._victim = victim
            await acting
        finally:
            acting.cancel()
        await stage.settle()
        assert (found := await judge(stage)) == [], "\n".join(["", *self.story(), *found])
        return len(stage.kills) - killed

    def story(self) -> list[str]:
        return [f"killed: {kill.how}" for kill in self._stage.kills]

    async def _introduce(self, victim: Handle) -> None:
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
        await asyncio.wait({dying, quiet}, return_when=asyncio.FIRST_COMPLETED)
        late = quiet if dying.done() else dying
        late.cancel()
        await asyncio.wait({late})
        if dying.done() and not dying.cancelled():
            dying.result()
            return True
        quiet.result()
        return False

    async def _quiet(self, acting: Awaitable[object]) -> None:
        await asyncio.shield(acting)
        await self._stage.settle()


def seeded(name: str) -> tuple[str, Random]:
    """A seed to print, and the chance that follows from it. The environment may say which."""
    seed = os.environ.get(SEED_VARIABLE) or (
        "0" if "CI" in os.environ else str(SystemRandom().randrange(10**6))
    )
    print(f"{SEED_VARIABLE}={seed} ({name})")
    return seed, Random(f"{name} {seed}")


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
