"""The judge finds what is wrong: records of a round where all is well, with one thing changed at a time."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.clients import Asked
from tests.chaos.judge import judge
from tests.chaos.records import Dump, Records, Watched
from tests.providers.answering import Asked as Requested

SAY = "<<s1 one → two s1>>"
CHAT = "00000000-0000-7000-8000-000000000001"


def message(number: int, role: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": f"m-{number}",
        "role": role,
        "parts": list(parts),
        "revision": number,
        "visibility": "both",
        "removed": False,
        "interrupted": False,
        "compaction": None,
        **more,
    }


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def call(call_id: str, tag: str) -> dict[str, Any]:
    return {
        "type": "tool_call",
        "call_id": call_id,
        "name": "execute",
        "input": {"command": f"echo {tag} >> ledger.txt"},
        "provider_executed": False,
    }


def result(call_id: str, outcome: str = "succeeded") -> dict[str, Any]:
    return {"type": "tool_result", "call_id": call_id, "outcome": outcome, "output": "done"}


HISTORY = [
    message(1, "user", text("[m1]")),
    message(2, "assistant", call("c1", "e1")),
    message(3, "tool", result("c1")),
    message(4, "assistant", text(SAY)),
    message(5, "user", text("[m2]")),
    message(6, "assistant", text("<<s2 three s2>>")),
]
STEPS = [{"kind": "step", "turn": 1, "outcome": "succeeded", "failure": None}] * 3


def asked(kind: str, tag: str, number: int, **more: Any) -> Asked:
    return Asked(kind, CHAT, f"k{number}", tag=tag, tries=1, status=201, **more)


def requested(**more: Any) -> Requested:
    values: dict[str, Any] = {"outcome": "answered", "raw": b'{"messages": "[m1]"}'}
    return Requested(
        number=0,
        at=0.0,
        format="openai",
        family="compatible",
        model="m",
        body={},
        headers={},
        **values | more,
    )


def good(**more: Any) -> Records:
    dump = Dump(
        {"id": CHAT, "status": "idle", "last_error": None, "title": "mine", "run_id": None},
        HISTORY,
        (),
        STEPS,
    )
    records = Records(
        log=[asked("create", "m1", 1, about="mine"), asked("send", "m2", 2, busy="queue")],
        requests=[requested(), requested(), requested()],
        ledger=["e1"],
        watched=[Watched(CHAT, "calm", dump.visible)],
        dumps={CHAT: dump},
        canaries=("sk-canary",),
    )
    return replace(records, **more)


def with_history(messages: list[dict[str, Any]], **chat: Any) -> Records:
    before = good()
    dump = replace(before.dumps[CHAT], messages=messages, chat=before.dumps[CHAT].chat | chat)
    return replace(before, dumps={CHAT: dump}, watched=[Watched(CHAT, "calm", dump.visible)])


def changed(number: int, **more: Any) -> list[dict[str, Any]]:
    return [one | more if place == number else one for place, one in enumerate(HISTORY)]


def invariants(records: Records) -> set[str]:
    return {violation.invariant for violation in judge(records)}


def test_nothing_is_wrong_with_a_good_round() -> None:
    assert judge(good()) == []


BAD: dict[str, tuple[str, Callable[[], Records]]] = {
    "a message is lost": ("I-1", lambda: with_history(HISTORY[:4])),
    "a message is there twice": (
        "I-1",
        lambda: with_history([*HISTORY, message(7, "user", text("[m2]")), message(8, "assistant")]),
    ),
    "a repeated request was done twice": (
        "I-2",
        lambda: replace(
            with_history([*HISTORY, message(7, "user", text("[m2]"))]),
            log=[replace(one, tries=2) for one in good().log],
        ),
    ),
    "ids do not rise": ("I-3", lambda: with_history(changed(5, id="m-0"))),
    "a later message has an older revision": ("I-3", lambda: with_history(changed(5, revision=2))),
    "messages stand in the wrong order": (
        "I-3",
        lambda: good(log=[*good().log, asked("send", "m1", 3, busy="queue")]),
    ),
    "an effect happened twice": ("I-4", lambda: good(ledger=["e1", "e1"])),
    "a success without an effect": ("I-4", lambda: good(ledger=[])),
    "an effect that no call speaks of": ("I-4", lambda: good(ledger=["e1", "e2"])),
    "a call without a result": ("I-5", lambda: with_history([*HISTORY[:2], *HISTORY[3:]])),
    "a result too many": ("I-5", lambda: with_history(changed(2, parts=[result("c1"), result("c1")]))),
    "a refused request": ("I-5", lambda: good(requests=[requested(refusal="no result", outcome="refused")])),
    "a chat that runs for ever": ("I-6", lambda: with_history(HISTORY, status="running")),
    "a chat that failed": ("I-6", lambda: with_history(HISTORY, status="error")),
    "the same answer from two": ("I-7", lambda: with_history(changed(5, parts=[text(SAY)]))),
    "a watcher missed something": (
        "I-8",
        lambda: good(watched=[Watched(CHAT, "slow", good().dumps[CHAT].visible[:-1])]),
    ),
    "a watcher still shows a preview": (
        "I-8",
        lambda: good(watched=[Watched(CHAT, "slow", good().dumps[CHAT].visible, left="half")]),
    ),
    "half a text was stored": ("I-9", lambda: with_history(changed(5, parts=[text("<<s2 thr")]))),
    "too many requests": ("I-10", lambda: good(requests=[requested()] * 4)),
    "a title was overwritten": ("I-13", lambda: with_history(HISTORY, title="generated")),
    "a workflow failed": ("I-6", lambda: good(runs=[{"id": "r", "status": "failed", "error": None}])),
    "a workflow started an agent twice": (
        "I-2",
        lambda: good(runs=[{"id": "r", "status": "succeeded", "result": [SAY, SAY]}]),
    ),
    "a secret in the log": ("I-12", lambda: good(logs="key=sk-canary")),
    "a broken database": ("I-14", lambda: good(flaws=["row 3 missing"])),
    "a traceback": ("errors", lambda: good(logs="Traceback (most recent call last)")),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_found(what: str) -> None:
    invariant, made = BAD[what]
    assert invariant in invariants(made())


def test_an_effect_may_be_unknown_if_it_is_told() -> None:
    told = with_history(changed(2, parts=[result("c1", "uncertain")]))
    assert judge(told) == []
    assert judge(replace(told, ledger=[])) == []


def test_faults_and_people_explain_more_requests() -> None:
    assert judge(good(requests=[requested()] * 5, faults=1)) == []
    interrupted = [*good().log, asked("interrupt", "", 3)]
    assert judge(good(requests=[requested()] * 4, log=interrupted)) == []
