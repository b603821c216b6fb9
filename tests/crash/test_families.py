"""Sub-agents when the server is killed at any point: each is started once, each end is told once, in the
history of its parent."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random

import pytest

from tests.crash import families
from tests.crash.families import Families, judge_families
from tests.crash.points import Point
from tests.crash.rounds import Death, Rounds, seeded
from tests.crash.stage import QUICK, Stage, a_stage

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(1200)]

Play = Callable[[Stage, Families, Random], Awaitable[None]]

# Each point with a play that reaches it.
NAMED: tuple[tuple[str, int, Play], ...] = (
    # The second chat is the first child.
    ("inside create", 2, families.noticed),
    ("after create", 5, families.wide),
    ("before finish_call", 3, families.wide),
    ("inside finish_turn", 1, families.noticed),
    ("after finish_turn", 4, families.deep),
    ("before notify", 1, families.noticed),
    ("inside notify", 2, families.noticed),
    ("after notify", 3, families.noticed),
    ("inside begin_attempt", 3, families.tree),
    ("after send_steer", 1, families.revived),
    ("inside send_steer", 1, families.revived),
)


class Kills:
    def __init__(self, stage: Stage, name: str) -> None:
        self.chance = seeded(name)
        self._stage = stage
        self._families = Families(stage)
        self._rounds = Rounds(stage, self.chance)

    async def play(self, play: Play, deaths: Sequence[Death]) -> int:
        killed = await self._rounds.play([partial(_played, play, self._families)], deaths)
        found = await judge_families(self._stage)
        assert found == [], "\n".join(["", *(f"killed: {how}" for how in self._stage.kills), *found])
        return killed


async def _played(play: Play, scripts: Families, stage: Stage, chance: Random) -> None:
    await play(stage, scripts, chance)


@pytest.mark.parametrize("play", [families.wide, families.deep], ids=["wide", "deep"])
async def test_thirty_and_the_server_dies_at_any_time(stage: Stage, play: Play) -> None:
    kills = Kills(stage, f"thirty {play.__name__}")
    deaths = [kills.chance.uniform(0.3, 4.0) for _ in range(4)]
    assert await kills.play(play, deaths) == 4
    await stage.leave()


async def test_named_points(stage: Stage) -> None:
    """Half of them on each engine; `test_all_named_points` has all on both."""
    await kill_at(stage, NAMED[stage.is_on_postgres :: 2])


@pytest.mark.slow
@pytest.mark.timeout(3600)
async def test_all_named_points(stage: Stage) -> None:
    await kill_at(stage, NAMED)


async def kill_at(stage: Stage, named: Sequence[tuple[str, int, Play]]) -> None:
    kills = Kills(stage, "family points")
    for name, count, play in named:
        for _ in range(3):
            if await kills.play(play, [Point(name=name, count=count)]):
                break
        else:
            pytest.fail(f"the point {name} #{count} was not reached")
    await stage.leave()


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(4))
async def test_many_deaths(stage: Stage, part: int) -> None:
    kills = Kills(stage, f"families {part}")
    plays = (families.wide, families.deep, families.tree, families.noticed, families.revived)
    for _ in range(8):
        deaths: list[Death] = [kills.chance.uniform(0.1, 4.0) for _ in range(kills.chance.choice((1, 2, 3)))]
        await kills.play(kills.chance.choice(plays), deaths)
    await stage.leave()


@pytest.mark.slow
@pytest.mark.timeout(3600)
async def test_one_of_two_replicas_dies(postgres_url: str, tmp_path: Path) -> None:
    """The family is spread over both: what the dead one leaves is taken over by the other."""
    async with a_stage(tmp_path, postgres_url, QUICK) as stage:
        replica = await stage.begin()
        await replica.ready()
        kills = Kills(stage, "families beside")
        for play in (families.wide, families.deep, families.tree, families.noticed, families.revived):
            await kills.play(play, [kills.chance.uniform(0.3, 3.0)])
        await stage.leave()
