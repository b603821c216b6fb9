"""Commands as processes: how they end, and that nothing of them is left; behind every wall and without."""

import asyncio
import signal
from pathlib import Path

import pytest

from holdfast.core.errors import CannotRun
from holdfast.core.ids import ChatId
from holdfast.workspaces.commands.mounts import CommandPlace
from holdfast.workspaces.commands.output_files import printed
from holdfast.workspaces.commands.process_records import KEPT
from holdfast.workspaces.commands.processes import BACKGROUND, GRACE_SECONDS
from tests.workspaces.rooms import CHAT, DEATH_SECONDS, Room, room, sleeping, token, until, zombies
from tests.workspaces.tricks import ESCAPES

OTHER = ChatId("01890000-0000-7000-8000-000000000002")


async def test_a_command_ends_with_its_exit_code_and_output(anywhere: Room) -> None:
    end, text = await anywhere.run("echo out; echo err >&2; exit 3")
    assert (end.how, end.exit_code) == ("exited", 3)
    assert text == "out\nerr\n"
    assert end.printed == len(text)


async def test_a_command_is_one_argument(anywhere: Room) -> None:
    """Whatever is in it: it is neither split nor taken for an option of ours."""
    for command, wanted in {
        "-x": "-x: command not found",
        "printf '%s\\n' 'a  b' \"$#\" \"$0\"": "a  b\n0\n",
        'echo "quotes \' and $((1 + 1))"': "quotes ' and 2\n",
        "echo ä \N{SNOWMAN} # comment": "ä \N{SNOWMAN}\n",
    }.items():
        _, text = await anywhere.run(command)
        assert wanted in text


async def test_an_end_by_a_signal_is_told_as_shells_do(anywhere: Room) -> None:
    assert (await anywhere.run("kill -SEGV $$"))[0].exit_code == 128 + signal.SIGSEGV
    assert (await anywhere.run("kill -KILL $$"))[0].exit_code == 128 + signal.SIGKILL


async def test_there_is_nothing_to_read_and_no_terminal(anywhere: Room) -> None:
    end, text = await anywhere.run("cat; read line; echo got:$line; : </dev/tty && echo terminal; exit 0")
    assert end.exit_code == 0
    assert "got:\n" in text
    assert "terminal" not in text.splitlines()


async def test_what_a_command_leaves_running_ends_with_it(anywhere: Room) -> None:
    mark = token()
    end, text = await anywhere.run(f"(setsid sleep {mark} &); sleep {mark} & echo done")
    assert (end.exit_code, text) == (0, "done\n")
    assert sleeping(mark) == []
    assert zombies() == []


# Those that do not end when they are asked to cost the whole grace.
@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=pytest.mark.heavy) if "TERM" in ESCAPES[way] else way for way in ESCAPES]
)
async def test_the_whole_tree_is_dead_after_a_stop(anywhere: Room, way: str) -> None:
    mark = token()
    process = await anywhere.start(f"echo before; {ESCAPES[way].format(mark)}")
    await until(lambda: sleeping(mark), "something sleeps")
    async with asyncio.timeout(DEATH_SECONDS):
        await anywhere.processes.stop(process, "timed_out")
    assert sleeping(mark) == []
    end = process.ended.result()
    assert end.how == "timed_out"
    assert end.exit_code is None
    assert (await anywhere.text(process.entry)).startswith("before\n")
    await until(lambda: not zombies(), "every child was waited for")


async def test_a_stop_gives_time_to_clean_up(anywhere: Room) -> None:
    process = await anywhere.start("trap 'echo cleaned; exit' TERM; echo ready; while :; do sleep 0.05; done")
    await anywhere.printed(process, "ready")
    await anywhere.processes.stop(process, "stopped")
    assert "cleaned" in await anywhere.text(process.entry)


async def test_two_who_stop_the_same_wait_for_one_end(anywhere: Room) -> None:
    process = await anywhere.start("sleep 1000")
    await asyncio.gather(
        anywhere.processes.stop(process, "timed_out"), anywhere.processes.stop(process, "cancelled")
    )
    assert process.ended.result().how == "timed_out"


async def test_who_is_cancelled_while_starting_leaves_nothing(anywhere: Room) -> None:
    mark = token()
    starting = asyncio.create_task(anywhere.start(f"sleep {mark}"))
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert sleeping(mark) == []
    assert [entry.end is not None for entry in await anywhere.processes.all_of(CHAT)] in ([], [True])


async def test_closing_ends_what_runs(tmp_path: Path) -> None:
    mark = token()
    async with room(tmp_path, "none") as found:
        assert found is not None
        await found.start(f"sleep {mark}", background=True)
        await until(lambda: sleeping(mark), "it sleeps")
    assert sleeping(mark) == []
    assert zombies() == []
    with pytest.raises(CannotRun, match="stopping"):
        await found.start("true")


async def test_signals_reach_what_the_command_started(anywhere: Room) -> None:
    process = await anywhere.start(
        "trap 'echo one' USR1; (trap 'echo two' USR1; echo ready; while :; do sleep 0.05; done) & "
        "while :; do sleep 0.05; done"
    )
    await anywhere.printed(process, "ready")
    await anywhere.processes.send_signal(process, signal.SIGUSR1)
    await anywhere.printed(process, "one")
    await anywhere.printed(process, "two")
    await anywhere.processes.send_signal(process, signal.SIGKILL)
    assert process.ended.result().how == "stopped"


# To whom they belong


async def test_a_process_is_known_to_its_chat_alone(anywhere: Room) -> None:
    process = await anywhere.start("sleep 1000", background=True)
    assert await anywhere.processes.find(CHAT, process.entry.id) == process.entry
    assert await anywhere.processes.find(OTHER, process.entry.id) is None
    assert anywhere.processes.running(OTHER, process.entry.id) is None
    assert await anywhere.processes.all_of(OTHER) == []
    await anywhere.processes.stop(process, "stopped")
    found = await anywhere.processes.find(CHAT, process.entry.id)
    assert found is not None
    assert found.end is not None
    assert await anywhere.processes.find(OTHER, process.entry.id) is None


async def test_no_name_leads_elsewhere(anywhere: Room) -> None:
    await anywhere.run("echo '{}' > $HOME/entry.json")
    for name in ("", ".", "..", "../x", "home", "tmp", "a/b", "x" * 300, "p\0", "*"):
        assert await anywhere.processes.find(CHAT, name) is None


async def test_a_chat_that_is_deleted_takes_everything_along(anywhere: Room) -> None:
    mark = token()
    other = await anywhere.start("sleep 1000", OTHER)
    await anywhere.run("mkdir -p ~/a/b && touch ~/a/b/c /tmp/here && chmod 500 ~/a/b")
    await anywhere.start(f"sleep {mark}", background=True)
    await anywhere.processes.end_chat(CHAT, remove=True)
    assert sleeping(mark) == []
    assert await anywhere.processes.all_of(CHAT) == []
    assert [path.name for path in (anywhere.data / "commands" / "chats").iterdir()] == [OTHER]
    assert not other.ended.done()


async def test_home_and_temporary_files_stay_and_are_a_chats_own(anywhere: Room) -> None:
    await anywhere.run("echo one > ~/x; echo two > $TMPDIR/y")
    assert (await anywhere.run("cat ~/x $TMPDIR/y"))[1] == "one\ntwo\n"
    process = await anywhere.start("cat ~/x $TMPDIR/y", OTHER)
    await anywhere.ended(process)
    assert process.ended.result().exit_code == 1


@pytest.mark.heavy
async def test_there_is_a_limit_on_background_processes(anywhere: Room) -> None:
    started = [await anywhere.start("sleep 1000", background=True) for _ in range(BACKGROUND)]
    with pytest.raises(CannotRun, match="process_signal"):
        await anywhere.start("sleep 1000", background=True)
    await anywhere.start("sleep 1000", OTHER, background=True)
    await anywhere.processes.stop(started[0], "stopped", grace_seconds=0)
    await anywhere.start("sleep 1000", background=True)


@pytest.mark.heavy
async def test_old_ones_are_forgotten(tmp_path: Path) -> None:
    async with room(tmp_path, "none") as found:
        assert found is not None
        first = await found.start("true")
        await found.ended(first)
        for _ in range(KEPT + 1):
            await found.run("true")
        assert await found.processes.find(CHAT, first.entry.id) is None
        assert len(await found.processes.all_of(CHAT)) <= KEPT + 1


# What cannot be run


async def test_a_workspace_that_is_gone(anywhere: Room) -> None:
    gone = anywhere.workspace / "gone"
    with pytest.raises(CannotRun):
        await anywhere.start("echo never", place=CommandPlace(root=gone), cwd=gone)
    assert all(entry.end is not None for entry in await anywhere.processes.all_of(CHAT))
    assert (await anywhere.run("echo still here"))[1] == "still here\n"


async def test_a_workspace_that_became_a_link(anywhere: Room, tmp_path: Path) -> None:
    """Who can write around it must not choose what the wall is built around."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    for place in (
        CommandPlace(root=tmp_path / "link"),
        CommandPlace(root=tmp_path, writable=(tmp_path / "link",)),
    ):
        with pytest.raises(CannotRun, match="link"):
            await anywhere.start("touch here", place=place)
    assert list((tmp_path / "secret").iterdir()) == []


async def test_output_that_nobody_reads_does_not_stop_it(anywhere: Room) -> None:
    end, _ = await anywhere.run("head -c 3000000 /dev/zero; echo; echo end")
    assert end.exit_code == 0
    assert end.printed == 3_000_005
    entry = (await anywhere.processes.all_of(CHAT))[-1]
    assert await anywhere.processes.look(entry, printed) == 3_000_005


def test_the_grace_leaves_time_for_the_kill() -> None:
    assert GRACE_SECONDS < 4.0
