"""What a person is shown in the terminal when they decide: all of it, and unmistakably. The attacker controls
whatever the agent wrote."""

from typing import Any

import pytest
from msgspec.structs import replace

from holdfast.cli.conversation.answers import Asking, DecisionAnswer, Part, Submit, Unclear
from holdfast.cli.conversation.parts import parts_of
from holdfast.cli.wording import about, title, waits_for
from holdfast.core.calls import Action, ActionCall, ActionKind
from holdfast.core.ids import CallId
from tests.cli.making import CHAT_ID, chat

COLUMNS, ROWS = 80, 24
HARMLESS = "echo harmless" + "\n" * 120 + "rm -rf ~"
LONG = "\n".join(f"echo {number}" for number in range(100)) + "\nrm -rf ~"


def asked(kind: ActionKind, name: str = "execute", **given: Any) -> Asking:
    call = ActionCall(
        call_id=CallId("c"), kind=kind, name=name, input=given, deadline_at=None, chat_id=CHAT_ID
    )
    return Asking(call)


def test_empty_lines_hide_nothing() -> None:
    shown = asked("approval", command=HARMLESS).begun(COLUMNS, ROWS)
    assert shown.asking.unread == ()
    assert "echo harmless" in shown.text
    assert "⟨119 empty lines⟩" in shown.text
    assert "rm -rf ~" in shown.text
    assert shown.text.count("\n") < 8


def test_spaces_hide_nothing() -> None:
    shown = asked("approval", command="echo harmless;" + " " * 5000 + "rm -rf ~").begun(COLUMNS, ROWS)
    assert shown.asking.unread == ()
    assert "⟨5000 spaces⟩rm -rf ~" in shown.text


@pytest.mark.parametrize("kind", ["approval", "uncertain", "plan"])
def test_what_was_not_shown_is_not_approved(kind: ActionKind) -> None:
    part = asked(kind, **{"plan" if kind == "plan" else "command": LONG}).begun(COLUMNS, ROWS)
    text, asking = part.text, part.asking
    assert "rm -rf ~" not in text
    for word in ("y", "yes", "a", "always", "r", "d", "s"):
        refused = asking.understand(word)
        assert isinstance(refused, Unclear)
        assert "more lines" in refused.text
    told = asking.keys()
    assert "more lines" in told
    while asking.unread:
        following = asking.understand("m")
        assert isinstance(following, Part)
        assert following.text.count("\n") < ROWS
        text, asking = f"{text}\n{following.text}", following.asking
    assert "rm -rf ~" in text
    assert all(f"echo {number}" in text for number in range(100))
    answer = asking.understand("r" if kind == "uncertain" else "y")
    assert isinstance(answer, DecisionAnswer | Submit)


def test_what_was_not_shown_can_be_refused() -> None:
    asking = asked("approval", command=LONG).begun(COLUMNS, ROWS).asking
    refused = asking.understand("n too much")
    assert isinstance(refused, DecisionAnswer)
    assert (refused.decision, refused.note) == ("deny", "too much")


def test_parts_are_the_whole_and_fit() -> None:
    text = "x" * 10_000 + "\n" + LONG + "\n" + "漢" * 3000
    parts = parts_of(text, COLUMNS, ROWS)
    assert "".join(parts).replace("\n", "") == text.replace("\n", "")
    assert all(part for part in parts)
    assert parts_of("", COLUMNS, ROWS) == ("",)


TRICKS = {
    "\u202e": "⟨U+202E⟩",
    "\u2066": "⟨U+2066⟩",
    "\u200b": "⟨U+200B⟩",
    "\u2028": "⟨U+2028⟩",
    "\x1b": "␛",
    "\x9b": "⟨U+009B⟩",
    "p\u0430ypal": "p⟨U+0430⟩ypal",
    "\U000e0041": "⟨U+E0041⟩",
}


@pytest.mark.parametrize("trick", TRICKS)
def test_tricks_are_marked_wherever_somebody_decides_or_reads(trick: str) -> None:
    mark = TRICKS[trick]
    given = {
        "path": f"/home/{trick}",
        "reason": f"because {trick}",
        "questions": [{"id": "q", "text": f"which {trick}", "options": [f"one {trick}"]}],
        "plan": f"a plan {trick}",
    }
    for asking in (
        asked("approval", "request_access", path=given["path"], reason=given["reason"]),
        asked("approval", f"tool{trick}", x=1),
        asked("approval", "execute", **{f"field{trick}": 1}),
        asked("uncertain", "execute", command=f"run {trick}"),
        asked("plan", "propose_plan", plan=given["plan"]),
        asked("question", "ask_user", questions=given["questions"]),
    ):
        shown = asking.request()
        assert mark in shown, shown
        assert trick not in shown
    # Inside of JSON, controls are written as such.
    nested = asked("approval", "execute", nested={"list": [f"x{trick}"]}).request()
    assert trick not in nested
    assert mark in nested or "\\u001b" in nested
    assert "one" in asked("question", questions=given["questions"]).request()
    for line in (
        title(replace(chat(), title=f"title {trick}")),
        about({"path": given["path"]}),
        waits_for(Action(calls=(asked("approval", f"tool{trick}").call,))),
    ):
        assert mark in line
        assert trick not in line
