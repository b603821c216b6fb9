"""Questions about source code, answered by the real process behind the wall."""

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from holdfast.core.errors import InvalidInput, WrongState
from holdfast.core.ids import ChatId
from holdfast.tools.code import CodeImpact, CodeMap, CodeSymbols, CodeTools
from holdfast.tools.contract import ToolError
from holdfast.workspaces.code.code_indexes import CodeIndexes
from holdfast.workspaces.code.code_process import CodeAnswer, MapQuestion, SymbolQuestion
from tests.workspaces.rooms import CHAT
from tests.workspaces.stage import Stage
from tests.workspaces.walls import walled_in

KEY = "01890000-0000-7000-8000-00000000000a"


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def indexes(stage: Stage) -> CodeIndexes:
    data = stage.inside.parent / "data"
    return CodeIndexes(walled_in(data), data)


async def the_map(stage: Stage, below: str = "") -> CodeAnswer:
    return await indexes(stage).ask(stage.root, KEY, MapQuestion(below=below, tokens=1000))


async def test_a_map_follows_what_changes(stage: Stage) -> None:
    (stage.inside / "a.py").write_text("def first(): ...\n")
    (stage.inside / "use.go").write_text("package x\nfunc Go() { first() }\n")
    (stage.inside / "notes.txt").write_text("def no(): ...\n")
    before = await the_map(stage)
    assert "1: def first(): ..." in before.text
    assert (before.files, before.left_out) == (2, 0)
    (stage.inside / "a.py").write_text("\ndef second(): ...\n")
    (stage.inside / "use.go").unlink()
    after = await the_map(stage)
    assert "2: def second(): ..." in after.text
    assert "first" not in after.text
    assert after.files == 1


async def test_what_is_ignored_hidden_or_behind_a_link_is_not_read(stage: Stage, tmp_path: Path) -> None:
    (stage.inside / ".gitignore").write_text("built/\n")
    (stage.inside / "built").mkdir()
    (stage.inside / "built" / "x.py").write_text("def built(): ...\n")
    (tmp_path / "elsewhere.py").write_text("def elsewhere(): ...\n")
    (stage.inside / "link.py").symlink_to(tmp_path / "elsewhere.py")
    (stage.inside / "own.py").write_text("def own(): ...\n")
    os.mkfifo(stage.inside / "pipe.py")
    found = await the_map(stage)
    assert "own.py:" in found.text
    assert found.files == 1


async def test_files_that_cannot_be_read_are_named(stage: Stage) -> None:
    (stage.inside / "broken.py").write_text("}}} ((( \0")
    (stage.inside / "huge.py").write_text("x = 1\n" * 300_000)
    found = await the_map(stage)
    assert "broken.py: not valid source code" in found.text
    assert "huge.py: larger than 1024 KiB" in found.text


async def test_a_file_that_ended_the_process_is_skipped_until_it_changes(stage: Stage) -> None:
    """The mark stays when the process dies while it parses; here it is set by hand."""
    bad, kept = stage.inside / "bad.py", stage.inside.parent / "data" / "code" / KEY
    bad.write_text("def bad(): ...\n")
    info = bad.stat()
    mark = msgspec.msgpack.encode(("bad.py", (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)))
    kept.mkdir(parents=True)
    (kept / "current").write_bytes(len(mark).to_bytes(4, "big") + mark)
    assert "bad.py: parsing it failed" in (await the_map(stage)).text
    assert "bad.py: parsing it failed" in (await the_map(stage)).text
    bad.write_text("def good(): ...\n")
    assert "def good" in (await the_map(stage)).text


async def test_a_damaged_index_is_made_anew(stage: Stage) -> None:
    (stage.inside / "a.py").write_text("def first(): ...\n")
    await the_map(stage)
    (stage.inside.parent / "data" / "code" / KEY / "index").write_bytes(b"\xff nonsense")
    assert "def first" in (await the_map(stage)).text


async def test_two_at_once_have_the_same_answer(stage: Stage) -> None:
    (stage.inside / "a.py").write_text("def first(): ...\n")
    asked = indexes(stage)
    answers = await asyncio.gather(
        *(asked.ask(stage.root, KEY, SymbolQuestion(query="first")) for _ in range(2))
    )
    assert answers[0] == answers[1]


async def test_without_a_wall_nothing_is_parsed(stage: Stage) -> None:
    data = stage.inside.parent / "data"
    with pytest.raises(WrongState, match="needs a sandbox"):
        await CodeIndexes(walled_in(data, "none"), data).ask(stage.root, KEY, SymbolQuestion(query="x"))


class OneDirectory:
    """Every chat works in the stage's directory."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def root_of(self, _: object) -> object:
        return self._stage.root


async def test_the_tools_refuse_paths_outside(stage: Stage) -> None:
    (stage.inside / "src").mkdir()
    (stage.inside / "src" / "a.py").write_text("def first(): ...\n")
    tools = CodeTools(cast(Any, OneDirectory(stage)), indexes(stage))
    context = cast(Any, SimpleNamespace(chat_id=ChatId(CHAT), workspace_id=None))
    assert "def first" in str((await tools.map(context, CodeMap(path="src"))).output)
    assert "src/a.py:1" in str((await tools.symbols(context, CodeSymbols(query="first"))).output)
    assert "src/a.py" in str((await tools.impact(context, CodeImpact(path="src"))).output)
    for path in ("../..", "/etc", "~"):
        with pytest.raises((ToolError, InvalidInput)):
            await tools.map(context, CodeMap(path=path))
    with pytest.raises(ToolError, match="either"):
        await tools.impact(context, CodeImpact())
