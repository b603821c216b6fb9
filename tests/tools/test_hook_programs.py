"""What the program of a hook can do to a server: nothing. Real programs behind a real wall."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.shapes import Json
from holdfast.tools.hooks.decisions import HookEnd
from holdfast.tools.hooks.definitions import Hook
from holdfast.tools.hooks.programs import HookPrograms
from holdfast.workspaces.commands.cgroups import Cgroups
from holdfast.workspaces.commands.limits import CommandLimits
from holdfast.workspaces.commands.mounts import CommandPlace
from holdfast.workspaces.commands.piped_programs import PipedPrograms
from holdfast.workspaces.commands.wall_probe import probe

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Any:
    data = tmp_path_factory.mktemp("data")
    limits = CommandLimits.of_machine()
    found = probe(data, cgroups=None, limits=limits, network="none")
    if not found.wall.stands:
        pytest.skip("this machine has no wall")
    return data, found, limits


class HookRoom:
    def __init__(self, programs: HookPrograms, root: Path) -> None:
        self.programs = programs
        self.root = root

    async def run(
        self, command: str, given: dict[str, Json] | None = None, seconds: float = 20.0, **more: Any
    ) -> HookEnd:
        hook = Hook(source="config", event="pre_tool", path="t", command=command, timeout_seconds=seconds)
        place = CommandPlace(root=self.root)
        return await self.programs.run(hook, given or {}, place, home="hooks-test", **more)


@pytest.fixture
async def room(machine: Any, tmp_path: Path) -> AsyncIterator[HookRoom]:
    data, found, limits = machine
    cgroups = await asyncio.to_thread(Cgroups.find, data)
    environ = {"SERVER_SECRET": "abc123", "PATH": os.environ["PATH"]}
    piped = PipedPrograms(
        data, found.wall, limits=limits, cgroups=cgroups, network="none", server_environment=environ
    )
    root = tmp_path / "work"
    root.mkdir()
    yield HookRoom(HookPrograms(piped), root)
    piped.close()
    if cgroups is not None:
        cgroups.close()


async def test_it_is_told_on_standard_input_and_heard_on_output_and_exit_code(room: HookRoom) -> None:
    text = "ü" * 200_000
    end = await room.run(
        "python3 -c 'import json,sys; print(len(json.load(sys.stdin)[\"text\"]))'; pwd; echo no >&2; exit 2",
        {"text": text},
    )
    assert (end.exit_code, end.errors.strip(), end.trouble) == (2, "no", None)
    assert end.output.split() == ["200000", str(room.root)]
    # As a file too, which a socket could not be.
    end = await room.run(
        "python3 -c 'print(open(\"/dev/stdin\").read())'; echo $CLAUDE_PROJECT_DIR", {"a": 1}
    )
    assert end.output.splitlines() == [json.dumps({"a": 1}, separators=(",", ":")), str(room.root)]
    # It need not listen.
    end = await room.run("exit 0", {"text": text})
    assert (end.exit_code, end.trouble) == (0, None)
    # It has nothing of the server's environment.
    assert "abc123" not in (await room.run("env")).output


async def test_one_that_hangs_is_ended_with_all_it_started(room: HookRoom) -> None:
    end = await room.run("(sleep 1000; touch late) & trap '' TERM; sleep 1000", seconds=2.0)
    assert end.timed_out
    assert end.exit_code is None
    assert not (room.root / "late").exists()
    # What stays behind in the background ends with it.
    end = await room.run("setsid sleep 1000 & disown; echo done", seconds=15.0)
    assert (end.exit_code, end.output.strip()) == (0, "done")


async def test_one_that_prints_without_end_is_cut(room: HookRoom) -> None:
    end = await room.run("head -c 1000000000 /dev/zero")
    assert end.trouble is not None
    assert "printed more than" in end.trouble
    assert len(end.output) == 0
    end = await room.run("head -c 20000000 /dev/zero >&2; echo told >&2; exit 2")
    assert end.exit_code == 2
    assert len(end.errors) < 10_000
    assert end.errors.strip().endswith("told")


async def test_one_that_forks_without_end_hits_its_limit(room: HookRoom) -> None:
    end = await room.run("bomb() { bomb | bomb & }; bomb; sleep 1000", seconds=2.0)
    assert end.timed_out or end.exit_code != 0
    assert (await room.run("exit 3")).exit_code == 3


async def test_one_that_is_ended_by_a_signal_objects_to_nothing(room: HookRoom) -> None:
    end = await room.run("kill -SEGV $$")
    assert end.exit_code not in (0, 2)
    end = await room.run("no-such-program")
    assert end.exit_code == 127


async def test_in_a_mode_that_changes_nothing_it_sees_the_workspace_read_only(room: HookRoom) -> None:
    assert (await room.run("touch written")).exit_code == 0
    end = await room.run("touch more; ls", read_only=True)
    assert end.output.split() == ["written"]
    assert "ead-only" in end.errors
