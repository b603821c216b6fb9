"""The harness itself: a short round on each set-up, with something broken, is judged and finds nothing."""

from pathlib import Path
from random import Random

import pytest

from tests.chaos.faults import FAULTS
from tests.chaos.leftovers import sample
from tests.chaos.rounds import Size, play_round
from tests.chaos.stage import SetUp, staged

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600)]
# Load small enough for a busy machine, and a judge who is patient with it.
SIZE = Size(plays=6, patience=4.0)


@pytest.mark.parametrize("set_up, name", [("sqlite", "kill"), ("one", "database fast"), ("three", "kill")])
async def test_a_short_round(set_up: SetUp, name: str, tmp_path: Path) -> None:
    fault = next(fault for fault in FAULTS if fault.name == name)
    async with staged(set_up, tmp_path / "stage", Random(1)) as stage:
        result = await play_round(stage, fault, f"suite/{set_up}/{name}", SIZE)
        held = await sample(stage)
        assert [await server.stop() for server in stage.servers] == [0] * len(stage.servers)
    assert result.violations == []
    assert result.chats >= SIZE.plays
    assert result.marks["commands"] > 0
    assert len(result.recoveries) == fault.times
    assert held.descriptors > 0
