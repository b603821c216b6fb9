"""The wall's promises: tried on this machine, and what the guide says of them."""

from pathlib import Path

import pytest

from holdfast.workspaces.commands.limits import CommandLimits
from holdfast.workspaces.commands.wall_probe import probe
from holdfast.workspaces.commands.wall_promises import PROMISES, try_all
from tests.security.promised import BEGIN, DEPENDS, END, GUIDE, measured, table


def test_the_guide_has_every_promise() -> None:
    text = GUIDE.read_text()
    rows = text.partition(BEGIN)[2].partition(END)[0].splitlines()[2:]
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == [one.says for one in PROMISES]


@pytest.mark.heavy
def test_the_guide_says_what_was_found() -> None:
    """Written by `python scripts/promises.py`. A column that this machine cannot try is left as it is."""
    found = measured()
    told = {row.split(" | ")[0]: row for row in GUIDE.read_text().splitlines()}
    for row in table(found).splitlines():
        name, *cells = row.split(" | ")
        for cell, said in zip(cells, told[name].split(" | ")[1:], strict=True):
            assert cell.strip(" |") in (said.strip(" |"), "not tried"), row


@pytest.mark.heavy
def test_every_attempt_fails_without_a_wall(tmp_path: Path) -> None:
    found = probe(tmp_path, cgroups=None, limits=CommandLimits(), kinds=())
    assert [one.holds for one in try_all(tmp_path, found, limits=CommandLimits(), grouped=False)] == [
        False
    ] * len(PROMISES)
    assert {one.name for one in PROMISES} > DEPENDS


@pytest.mark.heavy
def test_an_attempt_that_succeeds_is_told_of(tmp_path: Path) -> None:
    """In the machine's own network what listens there is reached; without control groups memory is open."""
    found = probe(tmp_path, cgroups=None, limits=CommandLimits(), network="host")
    if not found.wall.stands:
        pytest.skip("no wall can be made here")
    tried = {
        one.promise.name: one.holds for one in try_all(tmp_path, found, limits=CommandLimits(), grouped=False)
    }
    assert not tried["network"]
    assert not tried["sockets"]
    assert not tried["memory"]
    assert tried["data"]
