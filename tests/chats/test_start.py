"""How chats begin: what is decided about a new one, whoever starts it, and that one place decides it."""

import ast
from pathlib import Path

from holdfast.chats.commands import Create, Fork, Import
from holdfast.chats.start import ForkStart, ImportStart, Start, begin
from holdfast.core.chats import ClientTool, Settings
from holdfast.core.ids import CallId, ChatId, MessageId, NamedAgentId, RunId, UserId, WorkspaceId
from holdfast.core.origins import PERSON, FromChat, FromRun, Origin
from holdfast.core.parts import Text
from holdfast.core.usage import Budget
from tests.chats.making import message, text

SOURCE = Path(__file__).parents[2] / "src" / "holdfast"
OWNER = UserId("owner")
PARENT, CALL, RUN = ChatId("parent"), CallId("call_1"), RunId("run")
AGENTS: list[Origin] = [FromChat(chat_id=PARENT, call_id=CALL), FromRun(run_id=RUN)]
TASK = (Text(text="# Look at *this*\nand at that " + "x" * 200),)


def test_everything_that_was_chosen_is_in_the_command() -> None:
    tool = ClientTool(name="t", description="", input_schema={})
    start = Start(
        owner_id=OWNER,
        parts=TASK,
        name=" A  name ",
        agent=NamedAgentId("reviewer"),
        model="large",
        effort="high",
        workspace_id=WorkspaceId("w"),
        budget=Budget(tokens=5),
        tools=["read_file"],
        client_tools=(tool,),
        instructions="Be brief.",
        labels=("a",),
    )
    settings = Settings(
        title="A name",
        title_source="person",
        model="large",
        effort="high",
        workspace_id=WorkspaceId("w"),
        agent="reviewer",
        instructions="Be brief.",
        client_tools=(tool,),
        tools=["read_file"],
        labels=("a",),
        budget=Budget(tokens=5),
    )
    assert begin(start) == Create(owner_id=OWNER, settings=settings, parts=TASK, origin=PERSON)


def test_a_person_without_a_name_gets_the_first_line() -> None:
    chosen = begin(Start(owner_id=OWNER, parts=TASK)).settings
    assert (chosen.title, chosen.title_source) == ("Look at *this*", "none")


def test_an_agent_is_called_by_its_label_or_by_its_task() -> None:
    for origin in AGENTS:
        create = begin(Start(owner_id=OWNER, parts=TASK, origin=origin, root_id=PARENT))
        assert (create.origin, create.root_id) == (origin, PARENT)
        title = create.settings.title
        assert (title[:31], len(title), create.settings.title_source) == (
            "# Look at *this* and at that xx",
            80,
            "none",
        )
        named = begin(Start(owner_id=OWNER, parts=TASK, origin=origin, name="first\nlook")).settings
        assert (named.title, named.title_source) == ("first look", "person")


def test_a_fork_takes_what_was_chosen_but_not_what_was_spent() -> None:
    source = Settings(title="One", title_source="generated", summary="s", pinned=True, model="large")
    start = ForkStart(owner_id=OWNER, source_id=PARENT, source=source, up_to=MessageId("m"))
    chosen = Settings(title="One (fork)", title_source="generated", model="large")
    assert begin(start) == Fork(owner_id=OWNER, source_id=PARENT, settings=chosen, up_to=MessageId("m"))
    named = begin(ForkStart(owner_id=OWNER, source_id=PARENT, source=source, name="Two")).settings
    assert (named.title, named.title_source) == ("Two", "person")


def test_an_import_is_cleaned() -> None:
    messages = (message(1, text("hello")),)
    start = ImportStart(owner_id=OWNER, messages=messages, name="a\0b", labels=("c\0",), pinned=True)
    chosen = Settings(
        title="a\N{REPLACEMENT CHARACTER}b",
        title_source="person",
        labels=("c\N{REPLACEMENT CHARACTER}",),
        pinned=True,
    )
    assert begin(start) == Import(owner_id=OWNER, settings=chosen, messages=messages)


def test_nothing_else_makes_the_commands_that_begin_a_chat() -> None:
    """Who starts a chat in a new way describes it; see `chats/start.py`."""
    makes = {"Create", "Fork", "Import"}
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in SOURCE.rglob("*.py")
        if path != SOURCE / "chats" / "start.py" and "holdfast.chats.commands" in path.read_text()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in makes
    ]
    assert found == []
