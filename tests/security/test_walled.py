"""The one way in which our own programs run on what agents can write: what they see, what they can do, how
they end."""

import asyncio
import os
import socket
from pathlib import Path

import pytest

from holdfast.core.errors import InvalidInput, TryAgain, WrongState
from holdfast.workspaces.commands.wall import Kind
from holdfast.workspaces.commands.walled_programs import Program, Ran, Walled
from holdfast.workspaces.files.file_root import Root
from tests.workspaces.rooms import WALLS, sleeping, token, until
from tests.workspaces.walls import walled_in

pytestmark = pytest.mark.heavy


class Stand:
    """A workspace beside something that is nobody's business."""

    def __init__(self, base: Path, kind: Kind) -> None:
        self.code = base / "code"
        self.work = self.code / "work"
        self.work.mkdir(parents=True)
        (self.work / "file").write_text("inside\n")
        self.secret = self.code / "secret"
        self.secret.write_text("outside\n")
        self.data = base / "data"
        self.walled = walled_in(self.data, kind)
        (self.data / "admin.token").write_text("token\n")

    @property
    def root(self) -> Root:
        return Root(self.code, ("work",))

    def program(self, *argv: str, **more: object) -> Program:
        given = {"cwd": self.work, "readable": (self.root,)} | more
        return Program(argv=argv, **given)  # pyright: ignore[reportArgumentType]

    async def shell(self, script: str, *arguments: str, limit: int = 10_000, **more: object) -> Ran:
        program = self.program("/bin/sh", "-c", script, "sh", *arguments, **more)
        return await self.walled.run(program, limit=limit)


@pytest.fixture(params=WALLS)
def stand(request: pytest.FixtureRequest, tmp_path: Path) -> Stand:
    return Stand(tmp_path, request.param)


async def test_it_sees_the_workspace_and_nothing_else(stand: Stand) -> None:
    script = 'cat file; for path; do [ -e "$path" ] && echo "sees $path"; done; ls ..; env | grep SECRET'
    hidden = [stand.secret, stand.data / "admin.token", "/etc/passwd", "/etc/shadow", "/root"]
    os.environ["HOLDFAST_SECRET_OF_TEST"] = "x"
    try:
        ran = await stand.shell(script, *(str(path) for path in hidden))
    finally:
        del os.environ["HOLDFAST_SECRET_OF_TEST"]
    assert ran.output.decode() == "inside\nwork\n"


async def test_it_writes_only_where_it_may(stand: Stand) -> None:
    script = "echo x > new; echo y > file; echo z > /usr/x; rm file; echo own > $1/own && cat $1/own"
    async with stand.walled.room() as room:
        program = stand.program("/bin/sh", "-c", script, "sh", str(room.own))
        assert (await room.run(program, limit=100)).output == b"own\n"
    assert os.listdir(stand.work) == ["file"]
    await stand.shell("echo y > file", readable=(), writable=(stand.root,))
    assert (stand.work / "file").read_text() == "y\n"
    assert os.listdir(stand.data / "programs") == [], "its directory went with it"


async def test_it_has_no_network(stand: Stand) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        ran = await stand.shell(f"/bin/bash -c 'echo > /dev/tcp/127.0.0.1/{port}' && echo reached")
    assert ran.output == b""


async def test_what_it_says_is_bounded(stand: Stand) -> None:
    ran = await stand.shell("yes", limit=1000)
    assert (len(ran.output), ran.cut) == (1000, True)
    ran = await stand.shell("yes | head -c 1000000 >&2; echo said; exit 3")
    assert (ran.code, ran.output, len(ran.errors), ran.reason) == (3, b"said\n", 5000, "y")


async def test_what_it_was_asked_is_no_command_line(stand: Stand) -> None:
    ran = await stand.walled.run(stand.program("printf", "%s\n", "$(id); '\"", "--", "a b"), limit=1000)
    assert ran.output == b"$(id); '\"\n--\na b\n"


async def test_one_that_takes_too_long_ends_with_all_it_started(stand: Stand) -> None:
    mark = token()
    program = stand.program("/bin/sh", "-c", f"setsid sleep {mark} & (sleep {mark} &) ; sleep {mark}")
    with pytest.raises(TryAgain, match="did not end within"):
        await stand.walled.run(program, limit=10, seconds=1.5)
    await until(lambda: not sleeping(mark), "all are gone")


async def test_cancelled_it_ends_too(stand: Stand) -> None:
    mark = token()
    running = asyncio.create_task(stand.shell(f"sleep {mark} & sleep {mark}"))
    await until(lambda: sleeping(mark), "it runs")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until(lambda: not sleeping(mark), "all are gone")
    assert os.listdir(stand.data / "programs") == []


async def test_one_file_alone(stand: Stand) -> None:
    (stand.work / "beside").write_text("beside\n")
    only = Root(stand.code, ("work",), only="file")
    ran = await stand.shell("ls; cat file", readable=(only,))
    assert ran.output == b"file\ninside\n"
    (stand.work / "file").unlink()
    (stand.work / "file").symlink_to(stand.secret)
    with pytest.raises(InvalidInput, match="cannot be read"):
        await stand.shell("cat file", readable=(only,))


async def test_a_directory_that_is_exchanged_while_the_wall_is_built(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opened, then exchanged, then mounted: it is noticed before the program begins."""
    other = stand.code / "other"
    other.mkdir()
    (other / "file").write_text("outside\n")
    start = asyncio.create_subprocess_exec

    async def exchanged(*argv: str, **more: object) -> asyncio.subprocess.Process:
        stand.work.rename(stand.code / "before")
        stand.work.symlink_to(other)
        return await start(*argv, **more)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", exchanged)
    async with stand.walled.room() as room:
        program = stand.program("/bin/sh", "-c", "cat file > $1/seen", "sh", str(room.own))
        with pytest.raises(TryAgain, match=r"was moved|is a link now"):
            await room.run(program, limit=100)
        assert os.listdir(room.own) == []


async def test_a_program_that_is_not_there(stand: Stand) -> None:
    ran = await stand.walled.run(stand.program("no-such-program"), limit=100)
    assert ran.code == 127
    assert "no-such-program" in ran.reason


async def test_a_wall_that_cannot_be_built_says_so(stand: Stand) -> None:
    with pytest.raises(TryAgain, match="could not be built, so it was not run"):
        await stand.walled.run(stand.program("true", system=(Path("/no/such/place"),)), limit=10)


def test_without_a_wall_nothing_is_run(tmp_path: Path) -> None:
    walled: Walled = walled_in(tmp_path / "data", "none")
    assert not walled.stands
    with pytest.raises(WrongState, match="A worktree needs a sandbox"):
        walled.require("A worktree")
