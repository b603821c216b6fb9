"""The tools that run commands: what a model is answered, and that a call never leaves anything behind."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from holdfast.core.clock import SystemClock
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import CallId, ChatId, UserId
from holdfast.core.shapes import encode_text
from holdfast.tools.approval import ApprovalRules
from holdfast.tools.commands import command_tools
from holdfast.tools.contract import Tool, ToolAnswer, ToolContext, ToolError
from holdfast.tools.output import OUTPUT_LIMIT, shown
from holdfast.workspaces.commands.mounts import CommandPlace
from tests.workspaces.rooms import CHAT, KINDS, PATIENCE_SECONDS, Room, room, sleeping, token, until

OTHER = ChatId("01890000-0000-7000-8000-000000000002")


class OneWorkspace:
    def __init__(self, root: Path) -> None:
        self._root = root

    async def place_of(self, context: ToolContext, /) -> CommandPlace:
        if context.chat_id not in (CHAT, OTHER):
            raise InvalidInput("This chat's workspace is gone.")
        return CommandPlace(root=self._root)


class Bench:
    """The tools as the worker calls them."""

    def __init__(self, found: Room) -> None:
        self.room = found
        made = command_tools(found.processes, OneWorkspace(found.workspace), SystemClock(), found.limits)
        self.tools = {tool.name: tool for tool in made}

    async def call(
        self, name: str, chat_id: ChatId = CHAT, *, seconds: float | None = None, **given: Any
    ) -> ToolAnswer:
        tool = self.tools[name]
        assert tool.run is not None
        context = ToolContext(
            chat_id=chat_id,
            owner_id=UserId("o"),
            workspace_id=None,
            call_id=CallId("c"),
            run=1,
            seconds=seconds,
        )
        answer = tool.run(context, tool.parse(given))
        assert not isinstance(answer, ToolAnswer)
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await answer

    async def output(self, name: str, **given: Any) -> dict[str, Any]:
        return cast(dict[str, Any], (await self.call(name, **given)).output)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    """Behind the wall this machine has, or without one."""
    for kind in KINDS:
        async with room(tmp_path, kind) as found:
            if found is not None:
                yield Bench(found)
                return


def tools(bench: Bench) -> list[Tool]:
    return list(bench.tools.values())


# What they say of themselves


async def test_every_tool_is_documented(bench: Bench) -> None:
    for tool in tools(bench):
        assert tool.description.endswith(".")
        properties: Any = tool.schema["properties"]
        assert all("description" in schema for schema in properties.values())
        assert "examples" in encode_text(tool.schema) or not properties
    assert {tool.name: (tool.effect, tool.reach) for tool in tools(bench)} == {
        "execute": ("unsafe", "command"),
        "process_output": ("read", "none"),
        "process_list": ("read", "none"),
        "process_signal": ("unsafe", "none"),
    }


async def test_without_a_wall_a_person_is_asked(bench: Bench) -> None:
    execute = bench.tools["execute"]
    assert ApprovalRules(walled=True).judge(execute)[0] == "run"
    assert ApprovalRules(walled=False).judge(execute)[0] == "ask"


# execute


async def test_a_program_gets_its_arguments_as_they_are(bench: Bench) -> None:
    words = ["printf", "%s|", "a b", "$HOME", "it's", "*", "; id", "$(id)", ""]
    answer: Any = (await bench.call("execute", args=words)).output
    assert answer["output"] == "a b|$HOME|it's|*|; id|$(id)||"
    listed: Any = (await bench.call("process_list")).output
    assert listed["processes"][0]["command"].startswith("printf '%s|' 'a b'")
    for word in ("eval", "cd", "no-such-program"):
        assert (await bench.call("execute", args=[word, "."])).outcome == "failed"


@pytest.mark.parametrize(
    "given", [{}, {"command": "true", "args": ["true"]}, {"args": [""]}, {"args": ["a\0b"]}]
)
async def test_either_a_line_or_a_program(bench: Bench, given: dict[str, Any]) -> None:
    with pytest.raises(ToolError):
        await bench.call("execute", **given)


async def test_a_command_that_succeeds(bench: Bench) -> None:
    answer = await bench.call("execute", command="echo hello; pwd")
    assert answer.outcome == "succeeded"
    output: Any = answer.output
    assert output["output"] == f"hello\n{bench.room.workspace.resolve()}\n"
    assert (output["status"], output["exit_code"]) == ("exited", 0)
    assert "note" not in output


async def test_one_that_fails_and_one_that_is_killed(bench: Bench) -> None:
    failed = await bench.call("execute", command="ls /nowhere; exit 4")
    assert failed.outcome == "failed"
    output: Any = failed.output
    assert output["exit_code"] == 4
    assert "/nowhere" in output["output"]
    killed: Any = (await bench.call("execute", command="kill -SEGV $$")).output
    assert (killed["exit_code"], killed["signal"]) == (139, "SIGSEGV")


async def test_a_timeout_is_never_success(bench: Bench) -> None:
    """Not even for a command that takes the request to end as a good end."""
    mark = token()
    command = f"trap 'exit 0' TERM; echo so far; (setsid sleep {mark} &); while :; do sleep 0.05; done"
    answer = await bench.call("execute", command=command, timeout_seconds=1)
    assert answer.outcome == "failed"
    output: Any = answer.output
    assert output["status"] == "timed_out"
    assert "exit_code" not in output
    assert output["output"].startswith("so far\n")
    assert "did not end within 1 s" in output["note"]
    assert sleeping(mark) == []


@pytest.mark.parametrize("asked", [{}, {"timeout_seconds": 600}])
async def test_what_was_configured_is_never_exceeded(bench: Bench, asked: dict[str, Any]) -> None:
    answer = await bench.call("execute", command="sleep 600", seconds=0.2, **asked)
    output: Any = answer.output
    assert output["status"] == "timed_out"
    assert "did not end within 0.2 s" in output["note"]


async def test_a_cancelled_call_ends_its_tree_and_says_what_it_had(bench: Bench) -> None:
    mark = token()
    calling = asyncio.create_task(
        bench.call("execute", command=f"echo so far; (setsid sleep {mark} &); sleep {mark}")
    )
    await until(lambda: len(sleeping(mark)) == 2, "it runs")
    # And it is known to: who cancels at the moment of the beginning hears of nothing but the cancellation.
    (entry,) = await bench.room.processes.all_of(CHAT)
    process = bench.room.processes.running(CHAT, entry.id)
    assert process is not None
    assert await process.begun
    await asyncio.sleep(0.1)
    calling.cancel()
    answer = await calling
    assert answer.outcome == "cancelled"
    output: Any = answer.output
    assert output["output"].startswith("so far\n")
    assert sleeping(mark) == []


async def test_a_long_output_is_cut_and_can_be_read_on(bench: Bench) -> None:
    answer = await bench.call("execute", command="seq 100000")
    assert shown(answer.output)[1] is None, "the answer would be cut a second time"
    output: Any = answer.output
    text: str = output["output"]
    assert text.startswith("1\n2\n")
    assert text.endswith("99999\n100000\n")
    assert "bytes left out" in text
    whole, start = "", 0
    while True:
        part = await bench.output("process_output", process_id=output["process_id"], start_byte=start)
        whole += part["output"]
        if "note" not in part:
            break
        start = int(part["note"].partition("start_byte ")[2].split()[0])
    assert whole == "".join(f"{number}\n" for number in range(1, 100_001))


async def test_output_that_grows_as_json_still_fits(bench: Bench) -> None:
    answer = await bench.call("execute", command="yes '\"\\' | head -c 100000")
    assert len(encode_text(answer.output)) <= OUTPUT_LIMIT


async def test_control_sequences_do_not_reach_anybody(bench: Bench) -> None:
    output = await bench.output("execute", command=r"printf '\033]52;c;Zm9v\007\033[31mred\033[0m\000\n'")
    assert output["output"] == "red\N{SYMBOL FOR NULL}\n"


@pytest.mark.parametrize(
    "given",
    [
        {"command": "true", "timeout_seconds": 0},
        {"command": "true", "timeout_seconds": -1},
        {"command": "true", "timeout_seconds": 10**9},
        {"command": "true", "timeout_seconds": "5 minutes"},
        {"command": "true", "timeout_seconds": 0.5},
        {"command": ""},
        {"command": "x" * 100_001},
        {"command": ["ls"]},
        {"command": "true", "shell": "fish"},
        {},
        {"command": "echo a\0b"},
        {"command": "echo \ud800"},
        {"command": "pwd", "cwd": ".."},
        {"command": "pwd", "cwd": "/etc"},
        {"command": "pwd", "cwd": "~"},
        {"command": "pwd", "cwd": "nowhere"},
        {"command": "pwd", "cwd": "file"},
        {"command": "pwd", "cwd": "out"},
        {"command": "pwd", "cwd": "a\0b"},
        {"command": "pwd", "cwd": "loop"},
        {"command": "pwd", "cwd": "loop/below"},
        {"command": "pwd", "cwd": "x" * 300},
    ],
)
async def test_what_cannot_be_run_is_refused(bench: Bench, given: dict[str, Any]) -> None:
    (bench.room.workspace / "file").touch()
    (bench.room.workspace / "out").symlink_to("/etc")
    (bench.room.workspace / "loop").symlink_to("pool")
    (bench.room.workspace / "pool").symlink_to("loop")
    with pytest.raises(ToolError):
        await bench.call("execute", **given)
    assert await bench.room.processes.all_of(CHAT) == []


async def test_a_chat_without_a_place(bench: Bench) -> None:
    with pytest.raises(ToolError, match="workspace is gone"):
        await bench.call("execute", chat_id=ChatId("another"), command="true")


async def test_a_directory_below(bench: Bench) -> None:
    (bench.room.workspace / "a b").mkdir()
    for cwd in ("a b", "./a b/", f"{bench.room.workspace.resolve()}/a b"):
        output = await bench.output("execute", command="pwd", cwd=cwd)
        assert output["output"].endswith("/workspace/a b\n")


async def test_names_are_never_interpreted(bench: Bench) -> None:
    for name in (";id", "$(id)", "`id`", "-rf", "--upload-pack=id", "a\nb"):
        (bench.room.workspace / name).mkdir()
        output = await bench.output("execute", command="pwd", cwd=f"./{name}") if "\n" not in name else None
        assert output is None or output["output"].endswith(f"/{name}\n")


# In the background


async def test_a_background_process_from_start_to_end(bench: Bench) -> None:
    started = await bench.output(
        "execute",
        command="trap 'echo bye; exit 7' INT; echo up; while :; do sleep 0.05; done",
        background=True,
    )
    assert started["status"] == "running"
    process_id = started["process_id"]
    process = bench.room.processes.running(CHAT, process_id)
    assert process is not None
    await bench.room.printed(process, "up")
    assert "up" in (await bench.output("process_output", process_id=process_id))["output"]
    listed = await bench.output("process_list")
    assert [(one["process_id"], one["status"]) for one in listed["processes"]] == [(process_id, "running")]
    assert (await bench.output("process_signal", process_id=process_id, signal="INT"))["sent"] == "SIGINT"
    await bench.room.ended(process)
    ended = await bench.output("process_output", process_id=process_id)
    assert (ended["status"], ended["exit_code"]) == ("exited", 7)
    assert "bye" in ended["output"]
    with pytest.raises(ToolError, match="ended already"):
        await bench.call("process_signal", process_id=process_id, signal="SIGTERM")


async def test_one_that_fails_at_once_is_told_of_at_once(bench: Bench) -> None:
    answer = await bench.call("execute", command="no-such-program-anywhere", background=True)
    output: Any = answer.output
    if output["status"] == "running":
        pytest.skip("the machine is too slow for that")
    assert (answer.outcome, output["exit_code"]) == ("failed", 127)


async def test_another_chats_process_does_not_exist(bench: Bench) -> None:
    started = await bench.output("execute", command="sleep 1000", background=True)
    process_id = started["process_id"]
    calls: dict[str, dict[str, Any]] = {"process_output": {}, "process_signal": {"signal": "SIGKILL"}}
    for name, given in calls.items():
        with pytest.raises(ToolError, match="There is no process"):
            await bench.call(name, chat_id=OTHER, process_id=process_id, **given)
    listed: Any = (await bench.call("process_list", chat_id=OTHER)).output
    assert listed == {"processes": []}
    assert bench.room.processes.running(CHAT, process_id) is not None


@pytest.mark.parametrize("given", ["SIGWHAT", "", "99", -9, 0, "SIGCHLD"])
async def test_signals_that_are_none(bench: Bench, given: object) -> None:
    started = await bench.output("execute", command="sleep 1000", background=True)
    with pytest.raises(ToolError, match="SIGTERM, SIGINT"):
        await bench.call("process_signal", process_id=started["process_id"], signal=given)


async def test_a_kill_ends_all_of_it(bench: Bench) -> None:
    mark = token()
    started = await bench.output(
        "execute", command=f"trap '' TERM; (setsid sleep {mark} &); sleep {mark}", background=True
    )
    await until(lambda: len(sleeping(mark)) == 2, "it runs")
    answer = await bench.output("process_signal", process_id=started["process_id"], signal=9)
    assert answer["status"] == "stopped"
    assert sleeping(mark) == []
