"""Tools that nobody here knows: what the engine must know about a call is stored with it, so they work like
the built-in ones."""

import ast
import re
from pathlib import Path

from msgspec import to_builtins

from holdfast.core.calls import STRUCTURED_OUTPUT, Trait
from holdfast.core.ids import ChatId, FileId, WorkspaceId
from holdfast.core.parts import File
from holdfast.store.steps import traced
from holdfast.telemetry.spans import spans
from holdfast.tools.contract import ToolAnswer, ToolContext
from holdfast.tools.registry import ToolRegistry
from tests.providers.replies import call, say
from tests.tools.built_in import BUILT_IN
from tests.worker.engine import Engine, said_to_model
from tests.worker.test_surroundings import WALLED, Told
from tests.worker.toolbox import Named, tool

SOURCE = Path(__file__).parents[2] / "src" / "holdfast"
BELOW_TOOLS = ("core", "chats", "store", "bus", "providers", "prompt", "telemetry", "feed", "worker")
# The demo model plays scripts that call tools, as any model does.
NOT_THE_ENGINE = {"providers/demo_plays.py"}
WORKSPACE = WorkspaceId("019df000-0000-7000-8000-0000000000a1")
SHOWN = File(file_id=FileId("f"), media_type="text/plain", name="x.txt", size=1)
OUTPUTS: dict[str, object] = {"ends_turn": "bye", "writes": "saved", "shows_file": to_builtins(SHOWN)}


def started(engine: Engine) -> Told:
    """A worker with three tools from elsewhere, one for each trait."""

    async def run(context: ToolContext, given: Named) -> ToolAnswer:
        return ToolAnswer(output=OUTPUTS[given.name])

    traits: tuple[Trait, ...] = ("ends_turn", "writes", "shows_file")
    engine.tools = ToolRegistry(
        [tool(f"elsewhere__{trait}", run, effect="idempotent", traits=(trait,)) for trait in traits]
    )
    told = Told({})
    engine.start(WALLED, surroundings=told)
    return told


async def turn(engine: Engine, trait: str) -> ChatId:
    """One turn with a call of that tool, which is traced like any other."""
    engine.server.queue(call(f"elsewhere__{trait}", {"name": trait}), say("Done."))
    chat = await engine.create("Go.", workspace_id=WORKSPACE)
    await engine.idle(chat)
    rows = await engine.store.read(traced(chat, 1, 1))
    found = spans(chat, rows.turns, rows.steps, rows.calls, rows.messages)
    (span,) = [span for span in found if span.kind == "tool_call"]
    assert (span.name, span.outcome) == (f"elsewhere__{trait}", "succeeded")
    return chat


async def test_one_may_end_the_turn(engine: Engine) -> None:
    started(engine)
    await turn(engine, "ends_turn")
    assert len(engine.asked) == 1


async def test_the_check_runs_after_one_that_writes(engine: Engine) -> None:
    told = started(engine)
    await turn(engine, "writes")
    assert told.checked == [WORKSPACE]
    assert len(engine.asked) == 2


async def test_one_may_show_a_file(engine: Engine) -> None:
    started(engine)
    chat = await turn(engine, "shows_file")
    (parts,) = [message.parts for message in await engine.history(chat) if message.role == "tool"]
    assert parts[-1] == SHOWN
    assert "x.txt" in said_to_model(engine.asked[1])


def test_no_tool_is_known_by_its_name_below_the_tools() -> None:
    """Sentences for a model may name tools. What compares with a name, or lists names, is a table."""
    # Providers have a tool of their own that is called like ours.
    names = {tool.name for tool in BUILT_IN} - {STRUCTURED_OUTPUT, "web_search"}
    in_sql = re.compile(rf"\bname\b[^;]{{0,20}}'({'|'.join(sorted(names))})'")
    found: list[str] = []
    for path in (path for package in BELOW_TOOLS for path in sorted((SOURCE / package).rglob("*.py"))):
        where = str(path.relative_to(SOURCE))
        if where in NOT_THE_ENGINE:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and (text in names or in_sql.search(text)):
                found.append(f"{where} {text[:60]!r}")
    assert found == []
