"""What a workspace contributes: its instructions once per workspace, its check after every step that wrote
files."""

import asyncio
import errno
import itertools
from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace
from typing_extensions import override

from holdfast.chats.commands import Compact, Notify, RetryTurn
from holdfast.core.checks import Checked, CheckResult
from holdfast.core.clock import SystemClock
from holdfast.core.errors import NotFound, TryAgain
from holdfast.core.ids import ChatId, WorkspaceId
from holdfast.core.parts import Notice
from holdfast.core.shapes import Json
from holdfast.core.spans import Span
from holdfast.feed.chat_reads import reading
from holdfast.feed.cursor import Position
from holdfast.feed.limits import PageSize
from holdfast.feed.watch import tell
from holdfast.prompt.notices import INSTRUCTIONS_RENEWED, RENEWED_TEXT
from holdfast.prompt.sources import PlacedPassage, PromptChat, WorkspaceText
from holdfast.store.steps import traced
from holdfast.telemetry.spans import spans
from holdfast.tools.approval import ApprovalRules
from holdfast.tools.contract import ToolAnswer, ToolContext
from holdfast.tools.registry import ToolRegistry
from tests.providers.replies import call, say
from tests.worker.engine import SETTINGS, Engine, eventually, said_to_model
from tests.worker.toolbox import Named, Toolbox, tool

WORKSPACE = WorkspaceId("019df000-0000-7000-8000-0000000000a1")
OTHER = WorkspaceId("019df000-0000-7000-8000-0000000000a2")


# Where commands run without asking, and so does a check.
WALLED = replace(SETTINGS, rules=ApprovalRules(walled=True))


def told_text(text: str | None) -> WorkspaceText:
    if text is None:
        return WorkspaceText()
    return WorkspaceText(passages=(PlacedPassage(place="instructions", label="AGENTS.md", text=text),))


class Told:
    """Counts how often it was asked."""

    def __init__(self, texts: dict[WorkspaceId | None, str], checks: list[Checked] | None = None) -> None:
        self.texts = texts
        self.asked: list[WorkspaceId | None] = []
        self.checked: list[WorkspaceId | None] = []
        self.checks = checks or []

    async def instructions(self, where: PromptChat) -> WorkspaceText:
        self.asked.append(where.workspace_id)
        return told_text(self.texts.get(where.workspace_id))

    async def check(self, where: PromptChat, still_ours: Callable[[], bool]) -> Checked | None:
        self.checked.append(where.workspace_id)
        return self.checks.pop(0) if self.checks else None


def checked(result: CheckResult, output: str = "") -> Checked:
    now = SystemClock().now()
    return Checked(
        command="make check",
        result=result,
        exit_code=0 if result == "passed" else 2,
        output=output,
        started_at=now,
        finished_at=now,
    )


async def notices(engine: Engine, chat: ChatId) -> list[str]:
    return [
        part.text
        for message in await engine.history(chat, for_model=True)
        for part in message.parts
        if isinstance(part, Notice) and part.code == "instructions"
    ]


async def test_they_are_committed_once(engine: Engine) -> None:
    told = Told({WORKSPACE: "Use tabs."})
    engine.start(surroundings=told)
    chat = await engine.create("say: One.", workspace_id=WORKSPACE)
    await engine.idle(chat)
    await engine.send(chat, "say: Two.")
    await engine.idle(chat)
    assert await notices(engine, chat) == ["Use tabs."]
    assert told.asked == [WORKSPACE]
    assert all("Use tabs." in said_to_model(asked) for asked in engine.asked)
    assert engine.server.refusals == []


async def test_a_database_that_is_away_for_a_moment_fails_no_turn(engine: Engine) -> None:
    class Away(Told):
        @override
        async def instructions(self, where: PromptChat) -> WorkspaceText:
            told = await super().instructions(where)
            if len(self.asked) < 3:
                raise TryAgain("All connections to the database are in use.", 0.01)
            return told

    engine.start(surroundings=Away({WORKSPACE: "Use tabs."}))
    chat = await engine.create("say: One.", workspace_id=WORKSPACE)
    await engine.idle(chat)
    assert await notices(engine, chat) == ["Use tabs."]


class Refusing(Told):
    """Refuses the first times it is asked."""

    def __init__(self, error: Exception, times: int) -> None:
        super().__init__({WORKSPACE: "Use tabs."})
        self.error, self.times = error, times

    @override
    async def instructions(self, where: PromptChat) -> WorkspaceText:
        told = await super().instructions(where)
        if len(self.asked) <= self.times:
            raise self.error
        return told


async def test_what_the_system_refuses_for_a_moment_is_asked_for_again(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.worker.owned_chat.PREPARE_SECONDS", (0.0, 0.0, 0.0))
    engine.start(surroundings=Refusing(OSError(errno.EMFILE, "Too many open files"), times=3))
    chat = await engine.create("say: One.", workspace_id=WORKSPACE)
    await engine.idle(chat)
    assert await notices(engine, chat) == ["Use tabs."]


async def test_what_it_refuses_for_long_fails_the_turn(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.worker.owned_chat.PREPARE_SECONDS", (0.0, 0.0, 0.0))
    told = Refusing(OSError(errno.EIO, "Input/output error"), times=100)
    engine.start(surroundings=told)
    chat = await engine.create("say: One.", workspace_id=WORKSPACE)
    error = (await engine.failed(chat)).chat.last_error
    assert error is not None
    assert "Input/output error" in str(error.detail)
    assert len(told.asked) == 4


async def test_what_the_machine_lacks_for_long_is_waited_for(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.worker.owned_chat.PREPARE_SECONDS", (0.0, 0.0, 0.0))
    monkeypatch.setattr("holdfast.worker.runner.SHORTAGE_SECONDS", (0.0,))
    told = Refusing(OSError(errno.EMFILE, "Too many open files"), times=20)
    engine.start(surroundings=told)
    chat = await engine.create("say: One.", workspace_id=WORKSPACE)
    assert (await engine.idle(chat)).chat.last_error is None
    assert len(told.asked) > 20


async def test_a_place_that_is_gone_fails_the_turn_at_once_and_says_so(engine: Engine) -> None:
    told = Refusing(NotFound("The workspace's directory was moved or removed."), times=1)
    engine.start(surroundings=told)
    chat = await engine.create("say: One.", workspace_id=WORKSPACE)
    error = (await engine.failed(chat)).chat.last_error
    assert error is not None
    assert (error.kind, error.message) == ("config", "The workspace's directory was moved or removed.")
    assert len(told.asked) == 1
    # It is there again.
    await engine.do(chat, RetryTurn())
    await engine.idle(chat)


async def test_none_leave_a_marker(engine: Engine) -> None:
    told = Told({})
    engine.start(surroundings=told)
    chat = await engine.create("say: One.", workspace_id=WORKSPACE)
    await engine.idle(chat)
    await engine.send(chat, "say: Two.")
    await engine.idle(chat)
    assert len(await notices(engine, chat)) == 1
    assert told.asked == [WORKSPACE]


async def test_without_a_workspace_there_is_nothing_to_mark(engine: Engine) -> None:
    engine.start(surroundings=Told({}))
    chat = await engine.create("say: One.")
    await engine.idle(chat)
    assert await notices(engine, chat) == []


async def test_another_workspace_has_its_own(engine: Engine) -> None:
    engine.start(surroundings=Told({WORKSPACE: "Use tabs.", OTHER: "Use spaces."}))
    chat = await engine.create("say: One.", workspace_id=WORKSPACE)
    await engine.idle(chat)
    await engine.store.update_settings(chat, workspace_id=OTHER)
    await engine.send(chat, "say: Two.")
    await engine.idle(chat)
    assert await notices(engine, chat) == ["Use tabs.", "Use spaces."]


async def test_a_summary_does_not_swallow_them(engine: Engine) -> None:
    engine.start(surroundings=Told({WORKSPACE: "Use tabs."}))
    chat = await engine.create("say: One.", workspace_id=WORKSPACE)
    await engine.idle(chat)
    await engine.do(chat, Compact())
    await engine.idle(chat)
    await engine.send(chat, "say: Two.")
    await engine.idle(chat)
    assert "Use tabs." in said_to_model(engine.asked[-1])


async def test_what_a_check_finds_wrong_is_told_before_the_next_step(engine: Engine) -> None:
    told = Told({}, checks=[checked("failed", "tabs in line 3")])
    engine.start(WALLED, surroundings=told)
    engine.server.queue(call("save"), call("look"), say("Done."))
    chat = await engine.create("Save it.", workspace_id=WORKSPACE)
    await engine.idle(chat)
    assert told.checked == [WORKSPACE]
    assert "tabs in line 3" in said_to_model(engine.asked[1])
    assert "tabs in line 3" not in said_to_model(engine.asked[0])
    assert engine.server.refusals == []


async def test_a_check_is_not_begun_once_the_lease_is_over(engine: Engine) -> None:
    """As after a freeze between the look at the lease and the command; the turn is the next owner's."""

    class Slow(Told):
        def __init__(self) -> None:
            super().__init__({})
            self.asking: list[Callable[[], bool]] = []

        @override
        async def check(self, where: PromptChat, still_ours: Callable[[], bool]) -> Checked | None:
            self.asking.append(still_ours)
            await asyncio.Event().wait()

    told = Slow()
    worker = engine.start(replace(WALLED, cancel_seconds=0.1, grace_seconds=0.0), surroundings=told)
    engine.server.queue(call("save"), say("Done."))
    chat = await engine.create("Save it.", workspace_id=WORKSPACE)
    await eventually(lambda: bool(told.asking))
    assert await asyncio.to_thread(told.asking[0])
    await engine.stop(worker)
    assert not await asyncio.to_thread(told.asking[0])
    view = await engine.store.view(chat)
    assert view is not None
    assert view.chat.status == "running"


async def test_a_check_that_passed_is_shown_to_people_alone(engine: Engine) -> None:
    engine.start(WALLED, surroundings=Told({}, checks=[checked("passed")]))
    engine.server.queue(call("save"), say("Done."))
    chat = await engine.create("Save it.", workspace_id=WORKSPACE)
    await engine.idle(chat)
    (shown,) = [
        part for message in await engine.history(chat) for part in message.parts if isinstance(part, Notice)
    ]
    assert (shown.code, "passed" in shown.text) == ("check", True)
    assert "make check" not in said_to_model(engine.asked[-1])


async def test_a_check_is_a_span_of_its_turn(engine_everywhere: Engine) -> None:
    engine = engine_everywhere
    engine.start(WALLED, surroundings=Told({}, checks=[checked("failed", "tabs"), checked("passed")]))
    engine.server.queue(call("save"), call("save"), say("Done."))
    chat = await engine.create("Save it.", workspace_id=WORKSPACE)
    await engine.idle(chat)
    rows = await engine.store.read(traced(chat, 1, 1))
    found = spans(chat, rows.turns, rows.steps, rows.calls, rows.messages)
    checks = [span for span in found if span.kind == "check"]
    assert [(span.name, span.outcome, span.parent_id) for span in checks] == [
        ("make check", "failed", "turn-1"),
        ("make check", "passed", "turn-1"),
    ]
    assert len({span.id for span in found}) == len(found)
    # A watcher that comes now is told of both, one that knew the first only of the second.
    size = PageSize(messages=100, bytes=10**6, spans=100)
    first_revision = int(checks[0].id.rsplit("-", 1)[1])
    for position, expected in ((Position(), 2), (Position(spans=first_revision + 1), 1)):
        read = await engine.store.read(reading(chat, [position], size))
        assert read is not None
        told = tell(position, read[0], read[1][0])
        events = [event.payload for event in told.events if event.name == "span"]
        assert sum(isinstance(span, Span) and span.kind == "check" for span in events) == expected


REFUSING = {
    "without a wall": ApprovalRules(),
    "execute denied": ApprovalRules(walled=True, per_tool={"execute": "deny"}),
    "execute asks": ApprovalRules(walled=True, per_tool={"execute": "ask"}),
    "everything asks": ApprovalRules(walled=True, default="ask", per_tool={"save": "allow"}),
    "everything denied but the writing": ApprovalRules(
        walled=True, default="deny", per_tool={"save": "allow"}
    ),
}


@pytest.mark.parametrize("why", REFUSING)
async def test_a_check_is_a_command_of_the_agent(engine: Engine, why: str) -> None:
    """It runs what the agent wrote, a Makefile say: where the agent may not, neither does the check."""
    told = Told({}, checks=[checked("failed", "it ran")])
    engine.start(replace(SETTINGS, rules=REFUSING[why]), surroundings=told)
    engine.server.queue(call("save"), say("Done."))
    chat = await engine.create("Save it.", workspace_id=WORKSPACE)
    await engine.idle(chat)
    assert told.checked == []


@pytest.mark.parametrize(
    "chosen, runs",
    [
        ({"execute": "deny"}, False),
        ({"execute": "ask"}, False),
        (["save"], False),
        (["save", "execute"], True),
        ({"execute": "allow"}, True),
    ],
)
async def test_what_is_chosen_for_a_chat_counts_for_its_check(
    engine: Engine, chosen: Json, runs: bool
) -> None:
    told = Told({}, checks=[checked("passed")])
    engine.tools = ToolRegistry([*engine.tools, tool("execute", _run, reach="command")])
    engine.start(WALLED, surroundings=told)
    engine.server.queue(call("save"), say("Done."))
    chat = await engine.create("Save it.", workspace_id=WORKSPACE, tools=chosen)
    await engine.idle(chat)
    assert told.checked == ([WORKSPACE] if runs else [])


async def _run(context: ToolContext, given: Named) -> ToolAnswer:
    return ToolAnswer(output=given.name)


def wish(message_id: str | None) -> Notify:
    return Notify(
        source=INSTRUCTIONS_RENEWED,
        key=f"{INSTRUCTIONS_RENEWED}:{message_id}",
        text=RENEWED_TEXT,
        data={"message_id": message_id},
    )


async def message_with(engine: Engine, chat: ChatId) -> str:
    """The newest message with instructions."""
    return next(
        message.id
        for message in reversed(await engine.history(chat, for_model=True))
        if any(isinstance(part, Notice) and part.code == "instructions" for part in message.parts)
    )


async def test_new_instructions_enter_once_when_a_person_wants_them(engine_everywhere: Engine) -> None:
    engine = engine_everywhere
    told = Told({WORKSPACE: "Use tabs."})
    engine.start(surroundings=told)
    chat = await engine.create("say: One.", workspace_id=WORKSPACE)
    await engine.idle(chat)
    told.texts[WORKSPACE] = "Use spaces."
    await engine.send(chat, "say: Two.")
    await engine.idle(chat)
    # By themselves they stay what they were.
    assert await notices(engine, chat) == ["Use tabs."]
    await engine.do(chat, wish(await message_with(engine, chat)))
    assert (await engine.chat(chat)).status == "idle"
    for words in ("say: Three.", "say: Four."):
        await engine.send(chat, words)
        await engine.idle(chat)
    assert await notices(engine, chat) == ["Use tabs.", "Use spaces."]
    assert told.asked == [WORKSPACE, WORKSPACE]
    # What was sent before is sent again as it was.
    requests = [msgspec.json.decode(asked.raw)["messages"] for asked in engine.asked]
    assert all(after[: len(before)] == before for before, after in itertools.pairwise(requests))
    assert "Use spaces." not in said_to_model(engine.asked[1])
    assert "Use spaces." in said_to_model(engine.asked[2])


async def test_a_wish_in_the_middle_of_a_turn_counts_for_its_next_step(
    engine: Engine, tools: Toolbox
) -> None:
    told = Told({WORKSPACE: "Use tabs."})
    engine.start(surroundings=told)
    chat = await engine.create('call: patient {"name": "a"}\nsay: Done.', workspace_id=WORKSPACE)
    await eventually(lambda: tools.running == 1)
    told.texts[WORKSPACE] = "Use spaces."
    await engine.do(chat, wish(await message_with(engine, chat)))
    tools.go("a").set()
    await engine.idle(chat)
    assert await notices(engine, chat) == ["Use tabs.", "Use spaces."]
    assert "Use spaces." in said_to_model(engine.asked[1])
    # The notice came behind the new text, and asks for nothing more.
    await engine.send(chat, "say: More.")
    await engine.idle(chat)
    assert len(told.asked) == 2


async def test_a_wish_that_was_committed_outlives_the_worker(engine_everywhere: Engine) -> None:
    """It is in history already, and the text is not: whoever goes on decides from the rows."""
    engine = engine_everywhere
    told = Told({WORKSPACE: "Use tabs."})
    engine.start(surroundings=told)
    chat = await engine.create("say: One.", workspace_id=WORKSPACE)
    await engine.idle(chat)
    await engine.stop()
    told.texts[WORKSPACE] = "Use spaces."
    await engine.do(chat, wish(await message_with(engine, chat)))
    await engine.send(chat, "say: Two.")
    assert await notices(engine, chat) == ["Use tabs."]
    engine.start(surroundings=told)
    await engine.idle(chat)
    assert await notices(engine, chat) == ["Use tabs.", "Use spaces."]


async def test_a_wish_about_older_instructions_changes_nothing(engine: Engine) -> None:
    told = Told({WORKSPACE: "Use tabs."})
    engine.start(surroundings=told)
    chat = await engine.create("say: One.", workspace_id=WORKSPACE)
    await engine.idle(chat)
    await engine.do(chat, wish("019df000-0000-7000-8000-0000000000ff"))
    await engine.do(chat, wish(None))
    await engine.send(chat, "say: Two.")
    await engine.idle(chat)
    assert told.asked == [WORKSPACE]
