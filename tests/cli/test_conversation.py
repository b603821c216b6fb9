"""A conversation's decisions: what a line means as an answer and as a command, and what the picture
shows."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from holdfast.cli.context import Filled, Filling, context_lines
from holdfast.cli.conversation.answers import Asking, DecisionAnswer, Submit, Unclear
from holdfast.cli.conversation.commands import COMMANDS, SlashCommand, help_text, is_command, parse
from holdfast.cli.conversation.inquiry import Inquiry
from holdfast.cli.conversation.picture import Typing, picture
from holdfast.cli.terminal.editor import Editor
from holdfast.cli.transcript import Transcript
from holdfast.core.calls import Action, ActionCall, ActionKind
from holdfast.core.feed_events import QueueData, StatusData
from holdfast.core.ids import CallId, QueueItemId, UserId
from holdfast.core.messages import QueueItem
from tests.cli.making import CHAT_ID, NOW, RETRY, Streaming, call, chat, message, said


def asked(kind: ActionKind, name: str = "execute", **given: object) -> Asking:
    waiting = ActionCall(
        call_id=CallId("c1"), kind=kind, name=name, input=given, deadline_at=None, chat_id=CHAT_ID
    )
    return Asking(waiting)


APPROVAL = asked("approval", command="make deploy\nrm -rf build")


@pytest.mark.parametrize(
    "line, decided",
    [
        ("y", DecisionAnswer(APPROVAL.call, "approve")),
        (" YES ", DecisionAnswer(APPROVAL.call, "approve")),
        ("a", DecisionAnswer(APPROVAL.call, "approve", "chat")),
        ("n", DecisionAnswer(APPROVAL.call, "deny")),
        ("no, not on Friday", DecisionAnswer(APPROVAL.call, "deny", note="not on Friday")),
        ("n because it is late", DecisionAnswer(APPROVAL.call, "deny", note="it is late")),
    ],
)
def test_an_approval_is_decided(line: str, decided: DecisionAnswer) -> None:
    assert APPROVAL.understand(line) == decided


@pytest.mark.parametrize(
    "line", ["", "  ", "yes please do", "ok", "yn", "always and ever", "next, run the tests"]
)
def test_nothing_is_approved_by_a_guess(line: str) -> None:
    assert isinstance(APPROVAL.understand(line), Unclear)


def test_an_approval_shows_everything_that_will_run() -> None:
    shown = APPROVAL.request()
    assert "make deploy" in shown
    assert "rm -rf build" in shown
    assert "␛[2J" in asked("approval", command="ls\x1b[2J").request()


@pytest.mark.parametrize("line, verdict", [("r", "retry"), ("D", "done"), ("s", "skip")])
def test_an_uncertain_call_is_settled(line: str, verdict: str) -> None:
    asking = asked("uncertain", command="make deploy")
    answer = asking.understand(line)
    assert isinstance(answer, DecisionAnswer)
    assert answer.decision == verdict
    assert isinstance(asking.understand("y"), Unclear)


def test_questions_are_asked_one_after_the_other() -> None:
    questions = [
        {"id": "db", "text": "Which database?", "options": ["SQLite", "PostgreSQL"]},
        {"id": "parts", "text": "Which parts?", "options": ["a", "b", "c"], "multiple": True},
        {"id": "name", "text": "What name?"},
    ]
    first = asked("question", "ask_user", questions=questions)
    assert "2. PostgreSQL" in first.request()
    second = first.understand("2")
    assert isinstance(second, Asking)
    third = second.understand("1, 3")
    assert isinstance(third, Asking)
    assert "What name?" in third.request()
    answers = {"db": "PostgreSQL", "parts": ["a", "c"], "name": "7"}
    assert third.understand("7") == Submit(first.call, {"answers": answers})


@pytest.mark.parametrize("line", ["3", "0", "1,2", "neither"])
def test_what_is_no_option_is_an_answer_of_its_own(line: str) -> None:
    asking = asked("question", questions=[{"id": "q", "text": "Which?", "options": ["x", "y"]}])
    assert asking.understand(line) == Submit(asking.call, {"answers": {"q": line}})


def test_a_question_that_cannot_be_read_is_asked_as_it_is() -> None:
    asking = asked("question", questions="Which?")
    assert "Which?" in asking.request()
    assert asking.understand("that") == Submit(asking.call, {"answers": {"answer": "that"}})


def test_a_plan_is_accepted_or_sent_back() -> None:
    plan = asked("plan", "propose_plan", plan="1. Look\n2. Do")
    assert "2. Do" in plan.request()
    assert plan.understand("y") == Submit(plan.call, {"approved": True})
    assert plan.understand("first tests") == Submit(plan.call, {"approved": False, "note": "first tests"})


def waiting(*names: str) -> Action:
    return Action(
        calls=tuple(
            ActionCall(
                call_id=CallId(name),
                kind="client_tool" if name == "client" else "approval",
                name=name,
                input={},
                deadline_at=None,
                chat_id=CHAT_ID,
            )
            for name in names
        )
    )


def test_each_thing_is_asked_once_and_in_order() -> None:
    inquiry = Inquiry()
    assert not inquiry.look(None)
    both = waiting("client", "one", "two")
    assert inquiry.look(both)
    assert inquiry.asking is not None
    first = inquiry.asking.call
    assert first.name == "one"
    assert not inquiry.look(both)
    inquiry.answered(first)
    assert inquiry.look(both)
    assert inquiry.asking is not None
    assert inquiry.asking.call.name == "two"
    assert not inquiry.look(waiting("two")), "the first is gone, the second is still asked"
    assert inquiry.look(waiting("client")), "somebody else answered it"
    assert inquiry.asking is None


def test_what_was_not_taken_is_asked_again() -> None:
    inquiry = Inquiry()
    inquiry.look(waiting("one"))
    assert inquiry.asking is not None
    call = inquiry.asking.call
    inquiry.answered(call)
    assert inquiry.look(waiting("one"))
    inquiry.not_answered(call)
    assert inquiry.look(waiting("one"))
    assert inquiry.asking is not None


# --- commands ---


@pytest.mark.parametrize("line", ["/help", " /model demo", "/nosuch", "/queue a b"])
def test_lines_with_a_slash_are_commands(line: str) -> None:
    assert is_command(line)


@pytest.mark.parametrize("line", ["", "hello", "/etc/hosts is wrong", "// comment", "/ ", "/usr/bin", "/2"])
def test_other_lines_are_said(line: str) -> None:
    assert not is_command(line)


@pytest.mark.parametrize(
    "line, parsed",
    [
        ("/help", SlashCommand("help", "")),
        ("/MODEL demo ", SlashCommand("model", "demo")),
        ("/model", SlashCommand("model", "")),
        ("/now stop that", SlashCommand("now", "stop that")),
    ],
)
def test_commands_are_understood(line: str, parsed: SlashCommand) -> None:
    assert parse(line) == parsed


@pytest.mark.parametrize(
    "line, wrong",
    [("/titel", "/title"), ("/xyzzy", "/help"), ("/now", "TEXT"), ("/quit now", "no arguments")],
)
def test_what_is_wrong_with_a_command_is_said(line: str, wrong: str) -> None:
    told = parse(line)
    assert isinstance(told, str)
    assert wrong in told


def test_help_names_every_command() -> None:
    assert all(f"/{command.name}" in help_text(80) for command in COMMANDS)


# --- the picture ---


def seen(transcript: Transcript, typing: Typing, rows: int = 30) -> str:
    return "\n".join(picture(transcript, typing, NOW, 80, rows).lines)


def test_the_picture_shows_what_is_under_way() -> None:
    transcript = Transcript(lambda _: 0)
    transcript.apply(chat("running"))
    transcript.apply(message("assistant", call(command="make test")))
    transcript.apply(Streaming().text("Now I *think*"))
    item = QueueItem(
        id=QueueItemId("q"),
        content=(said("and then this"),),
        busy="queue",
        position=0,
        held=False,
        model=None,
        effort=None,
        created_by=UserId("u"),
        created_at=NOW,
    )
    transcript.apply(QueueData(items=(item,)))
    shown = seen(transcript, Typing(Editor("typed", 5), sending=("on its way",), hint="a hint"))
    for wanted in (
        "Now I",
        "make test",
        "working",
        "demo",
        "1. and then this",
        "on its way",
        "a hint",
        "› typed",
    ):
        assert wanted in shown


def test_the_picture_says_why_nothing_happens() -> None:
    transcript = Transcript()
    transcript.apply(StatusData(status="running", waiting="capacity"))
    assert "waiting for a free slot" in seen(transcript, Typing(Editor()))
    transcript.apply(RETRY)
    assert "retrying in 12 s: Too busy." in seen(transcript, Typing(Editor()))


def test_what_is_typed_is_seen_however_much_is_said_and_typed() -> None:
    transcript = Transcript(lambda _: 0)
    transcript.apply(Streaming().text("line\n\n" * 200))
    editor = Editor("\n".join(map(str, range(100))), 0)
    region = picture(transcript, Typing(editor), NOW + timedelta(1), 80, 20)
    assert len(region.lines) <= 20
    assert region.cursor is not None
    assert region.lines[region.cursor[0]] == "› 0"
    region = picture(transcript, Typing(Editor("last", 4)), NOW, 80, 20)
    assert region.lines[-1] == "› last"


def test_a_context_names_what_changed_and_what_is_wrong() -> None:
    filled = Filled(
        used=4000,
        limit=8000,
        threshold=70,
        instructions="changed",
        segments=(
            Filling(kind="instructions", label="AGENTS.md", tokens=1000, drift="changed"),
            *(Filling(kind="skills", label=f"s{number}", tokens=300) for number in range(10)),
            Filling(kind="skills", label="\x1b[2Jodd", tokens=0, error="It has no description."),
        ),
    )
    shown = "\n".join(context_lines(filled, word="/context renew"))
    assert "of 8.0k (50 %)" in shown
    assert "AGENTS.md (changed on disk)" in shown
    assert "odd (It has no description.)" in shown
    assert "\x1b" not in shown
    assert "and 2 more" in shown
    assert shown.endswith("/context renew gives it the new text.")
    assert "next step" in context_lines(replace(filled, instructions="renewing"))[-1]
