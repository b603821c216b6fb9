"""Kills with SIGKILL at named points and at random times, on both engines; afterwards every invariant holds.
A run is repeated with HOLDFAST_CRASH_SEED set to what it printed."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.crash import plays
from tests.crash.judge import judge
from tests.crash.plays import Play
from tests.crash.points import Point
from tests.crash.rounds import Rounds, random_deaths, random_plays, seeded
from tests.crash.scripts import call, message
from tests.crash.stage import QUICK, Stage, a_stage

# Each named point with a play that reaches it. The first ones are killed at in every run of the suite.
NAMED: tuple[tuple[str, int, Play], ...] = (
    ("stream", 5, plays.streaming),
    ("inside commit_step", 1, plays.batch),
    ("after commit_step", 1, plays.batch),
    ("after pay", 1, plays.batch),
    ("before finish_call", 3, plays.batch),
    ("after finish_call", 2, plays.batch),
    ("after send_queue", 2, plays.queued),
    ("inside finish_turn", 1, plays.queued),
    ("before finish_interrupt", 1, plays.interrupted),
    ("inside edit", 1, plays.edited),
    ("summary", 3, plays.full),
    ("after require_action", 1, plays.asking),
    ("after create", 1, plays.streaming),
    ("inside create", 1, plays.one_call),
    ("inside send_queue", 2, plays.queued),
    ("before begin_attempt", 2, plays.steps),
    ("inside begin_attempt", 2, plays.steps),
    ("after begin_attempt", 2, plays.steps),
    ("before commit_step", 1, plays.one_call),
    ("before pay", 1, plays.batch),
    ("before stamp", 1, plays.batch),
    ("after stamp", 1, plays.batch),
    ("after look", 1, plays.batch),
    ("inside finish_call", 1, plays.batch),
    ("after finish_turn", 1, plays.queued),
    ("before finish_turn", 2, plays.queued),
    ("after send_interrupt", 1, plays.interrupted),
    ("inside send_interrupt", 1, plays.interrupted),
    ("inside finish_interrupt", 1, plays.interrupted),
    ("after finish_interrupt", 1, plays.interrupted),
    ("after send_steer", 1, plays.steered),
    ("before edit", 1, plays.edited),
    ("after edit", 1, plays.edited),
    ("summary", 1, plays.summarised),
    ("after compact", 1, plays.summarised),
    ("inside require_action", 1, plays.asking),
    ("after decide", 1, plays.asking),
    ("inside submit_results", 1, plays.asking),
    ("after order", 1, plays.asking),
    ("after note_retry", 1, plays.failing),
    ("before acquire", 2, plays.batch),
    ("after acquire", 1, plays.batch),
    ("inside promote", 1, plays.rearranged),
    ("after delete_queued", 1, plays.rearranged),
)
POINTS = tuple(Point(name=name, count=count) for name, count, _ in NAMED)


async def kill_at(stage: Stage, named: tuple[tuple[str, int, Play], ...], name: str) -> None:
    chance = seeded(name)
    rounds = Rounds(stage, chance)
    for point, count, play in named:
        for _ in range(3):
            # On a busy machine a play may come too late for its point.
            if await rounds.play([play, chance.choice(plays.PLAYS)], [Point(name=point, count=count)]):
                break
        else:
            pytest.fail(f"the point {point} #{count} was not reached")
    await stage.leave()


async def kill_at_random(stage: Stage, kills: int, name: str) -> None:
    chance = seeded(name)
    rounds = Rounds(stage, chance)
    while kills > 0:
        deaths = random_deaths(chance, POINTS)[:kills]
        kills -= await rounds.play(random_plays(chance), deaths)
    await stage.leave()


@pytest.mark.heavy
@pytest.mark.timeout(1200)
async def test_twelve_kills_at_named_points(stage: Stage) -> None:
    """Six on each engine; `test_kills_at_all_named_points` has all on both."""
    await kill_at(stage, NAMED[stage.is_on_postgres : 12 : 2], "named")


@pytest.mark.heavy
@pytest.mark.timeout(1200)
async def test_eight_kills_at_random_times(stage: Stage) -> None:
    """Four on each engine."""
    await kill_at_random(stage, 4, "random")


@pytest.mark.heavy
@pytest.mark.timeout(1200)
async def test_kills_while_starting(stage: Stage) -> None:
    """From the first moment of an empty database on."""
    chance = seeded("starting")
    for _ in range(5):
        victim = await stage.begin()
        await asyncio.sleep(chance.uniform(0.2, 1.5))
        await stage.kill(victim, "while starting")
    await stage.start()
    await stage.create(message(call("pay")))
    await stage.settle()
    assert await judge(stage) == []
    await stage.leave()


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(4))
async def test_kills_at_all_named_points(stage: Stage, part: int) -> None:
    await kill_at(stage, NAMED[part * 11 : part * 11 + 11], f"all named {part}")


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(12))
async def test_kills_at_many_random_times(stage: Stage, part: int) -> None:
    await kill_at_random(stage, 10, f"many random {part}")


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(4))
async def test_kills_where_people_are_asked_what_became_of_it(
    database: str, tmp_path: Path, part: int
) -> None:
    """The policy that asks: done, skipped or run again, as somebody says."""
    settings = replace(QUICK, ask_when_uncertain=True)
    async with a_stage(tmp_path, database, settings) as stage:
        await kill_at_random(stage, 10, f"asked {part}")


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(2))
async def test_kills_beside_a_replica_that_lives(postgres_url: str, tmp_path: Path, part: int) -> None:
    """What the dead one leaves is taken over by either."""
    async with a_stage(tmp_path, postgres_url, QUICK) as stage:
        replica = await stage.begin()
        await replica.ready()
        await kill_at_random(stage, 10, f"beside {part}")
