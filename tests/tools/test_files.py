"""File and search tools as the engine calls them: from an input to an answer, every refusal a sentence."""

import asyncio
import inspect
import os
from pathlib import Path

import pytest

from holdfast.core.ids import CallId, ChatId, UserId, WorkspaceId
from holdfast.core.shapes import Json
from holdfast.core.workspaces import Workspace
from holdfast.tools.contract import ToolAnswer, ToolContext, ToolError
from holdfast.tools.files import file_tools
from holdfast.tools.output import shown
from holdfast.tools.registry import ToolRegistry
from holdfast.tools.search import search_tools
from holdfast.workspaces.files.read_state import SeenFiles
from holdfast.workspaces.places.allowed_roots import Roots
from holdfast.workspaces.places.chat_directory import Workspaces
from tests.workspaces.walls import walled_in

CHAT = ChatId("0199c000-0000-7000-8000-000000000001")


class Calls:
    """The tools of a server; calls are of a chat without a workspace unless one is named."""

    def __init__(self, data: Path) -> None:
        async def find(workspace_id: WorkspaceId, owner_id: UserId) -> Workspace | None:
            return None

        workspaces = Workspaces(Roots(data, ()), find)
        self.directory = data / "scratch" / CHAT
        self._tools = ToolRegistry(
            (*file_tools(workspaces, SeenFiles()), *search_tools(workspaces, walled_in(data), None))
        )

    async def answer(
        self, name: str, given: Json, *, run: int = 1, workspace_id: str | None = None
    ) -> ToolAnswer:
        tool = self._tools.get(name)
        assert tool is not None
        assert tool.run is not None
        context = ToolContext(
            chat_id=CHAT,
            owner_id=UserId("o"),
            workspace_id=None if workspace_id is None else WorkspaceId(workspace_id),
            call_id=CallId("c"),
            run=run,
        )
        work = tool.run(context, tool.parse(given))
        assert inspect.isawaitable(work)
        return await work

    async def __call__(self, name: str, given: Json, *, run: int = 1) -> str:
        output = (await self.answer(name, given, run=run)).output
        assert isinstance(output, str)
        return output


@pytest.fixture
def calls(tmp_path: Path) -> Calls:
    return Calls(tmp_path)


async def test_a_file_from_beginning_to_end(calls: Calls) -> None:
    answer = await calls.answer("write_file", {"path": "src/a.py", "content": "x = 1\ny = 2\n"})
    assert answer.outcome == "succeeded"
    assert answer.diff is not None
    assert "+x = 1" in answer.diff
    assert (calls.directory / "src" / "a.py").read_text() == "x = 1\ny = 2\n"
    assert await calls("read_file", {"path": "src/a.py", "start_line": "2"}) == "y = 2\n[lines 2 to 2 of 2]"
    answer = await calls.answer(
        "edit_files", {"edits": [{"path": "src/a.py", "old": "x = 1", "new": "x = 3"}]}
    )
    assert answer.diff == "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 3\n y = 2\n"
    assert await calls("list", {}) == "src/"
    assert await calls("glob", {"pattern": "*.py"}) == "src/a.py"
    assert await calls("grep", {"pattern": "= 3"}) == "src/a.py:1:x = 3"
    assert await calls("grep", {"pattern": "nothing"}) == "[No line matches.]"
    assert await calls("delete_file", {"path": "src/a.py"}) == "Deleted src/a.py."
    assert await calls("list", {"path": "src"}) == "[src is empty]"


@pytest.mark.parametrize(
    "name, given, told",
    [
        ("read_file", {"path": "gone.txt"}, "There is no gone.txt"),
        ("read_file", {"path": "../x"}, "leads out of the workspace"),
        ("read_file", {"path": "a.txt", "start_line": 0}, "start_line"),
        ("read_file", {"path": "a.txt", "start_line": -1}, "start_line"),
        ("read_file", {"path": "a.txt", "start_line": 10**400}, "start_line"),
        ("read_file", {"path": "a.txt", "offset": 1}, "unknown field `offset`"),
        ("read_file", {}, "missing required field `path`"),
        ("write_file", {"path": "a.txt"}, "missing required field `content`"),
        ("write_file", {"path": "/etc/x", "content": ""}, "outside the workspace"),
        ("edit_files", {"edits": []}, "at least one"),
        ("edit_files", {"edits": [{"path": "a.txt", "old": "", "new": "x"}]}, "empty"),
        ("edit_files", {"edits": [{"path": "a.txt", "old": "zzz", "new": "x"}]}, "Edit 1 (a.txt)"),
        ("edit_files", {"edits": [{"path": "a.txt", "old": "a", "new": "b"}] * 10_000}, "not 10000"),
        ("delete_file", {"path": "~/x"}, "begins with ~"),
        ("list", {"path": "gone"}, "There is no gone"),
        ("glob", {"pattern": "/etc/*"}, "leads out"),
        ("grep", {"pattern": "(?<=a)b"}, "lookbehind"),
        ("grep", {"pattern": "a", "context": 1000}, "context"),
        ("read_skill", {"name": "gone"}, "There is no skill"),
    ],
)
async def test_refusals_are_sentences(calls: Calls, name: str, given: Json, told: str) -> None:
    await calls("write_file", {"path": "a.txt", "content": "one\n"})
    with pytest.raises(ToolError) as error:
        await calls(name, given)
    assert told in str(error.value)
    assert (calls.directory / "a.txt").read_text() == "one\n"


async def test_a_workspace_that_is_not_this_chats(calls: Calls) -> None:
    for name, given in (("read_file", {"path": "a"}), ("grep", {"pattern": "a"})):
        with pytest.raises(ToolError, match="workspace is not there"):
            await calls.answer(name, given, workspace_id="0199c000-0000-7000-8000-000000000009")


async def test_an_answer_is_never_cut_once_more(calls: Calls) -> None:
    """What a tool bounds itself says how to go on; cut again, that would be lost."""
    await calls("write_file", {"path": "long.txt", "content": "a line with some text in it\n" * 10_000})
    for name, given in (
        ("read_file", {"path": "long.txt"}),
        ("grep", {"pattern": "line", "context": 3}),
    ):
        output = await calls(name, given)
        assert shown(output) == (output, None)
        assert output.endswith("]")
    for n in range(1100):
        (calls.directory / f"{n} {'x' * 60}").touch()
    for name, given in (("list", {}), ("glob", {"pattern": "*"})):
        output = await calls(name, given)
        assert shown(output) == (output, None)
        assert output.endswith("]")


async def test_a_repeated_call_finishes_what_was_begun_and_no_more(calls: Calls) -> None:
    given: Json = {"path": "a.txt", "content": "one\n"}
    await calls("write_file", given, run=2)
    assert "already" in await calls("write_file", given, run=2)
    (calls.directory / "a.txt").write_text("somebody's\n")
    with pytest.raises(ToolError, match="Nothing was changed this time"):
        await calls("write_file", given, run=2)
    with pytest.raises(ToolError, match="Nothing was changed this time"):
        await calls("delete_file", {"path": "a.txt"}, run=2)
    assert (calls.directory / "a.txt").read_text() == "somebody's\n"


async def test_calls_side_by_side(calls: Calls) -> None:
    await asyncio.gather(
        *(calls("write_file", {"path": f"d/{n}.txt", "content": str(n)}) for n in range(20)),
        *(calls("list", {}) for _ in range(5)),
    )
    assert sorted(os.listdir(calls.directory / "d")) == sorted(f"{n}.txt" for n in range(20))


async def test_a_cancelled_write_has_happened_or_not(calls: Calls) -> None:
    """A thread cannot be stopped: the call ends when it has ended, with what it did."""
    for turns in range(12):
        path = calls.directory / f"{turns}.txt"
        task = asyncio.create_task(calls("write_file", {"path": path.name, "content": "one\n"}))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            assert task.result() == f"Wrote {path.name}, a new file."
        assert path.exists() is not task.cancelled()


async def test_a_skill(calls: Calls) -> None:
    await calls(
        "write_file",
        {
            "path": ".agents/skills/notes/SKILL.md",
            "content": "---\nname: notes\ndescription: How notes are written.\n---\nBriefly.\n",
        },
    )
    text = await calls("read_skill", {"name": "notes"})
    assert text == "[skill notes; its other files are in .agents/skills/notes]\nBriefly.\n"
