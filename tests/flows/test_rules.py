# ruff: noqa: E501 - tables
"""The rules of a run, numbered. Each is a flow, the states of its steps (a letter each, see
`graphs.STATES`) and what the next round says."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from holdfast.core.flow_runs import Answer
from holdfast.flows.definition import Flow, FlowBatch
from holdfast.flows.schedule import (
    FlowFinished,
    Graph,
    Moves,
    Rest,
    Stuck,
    answered,
    decide,
    failed,
    timed_out,
)
from tests.flows.graphs import (
    NOW,
    agent,
    approval,
    chose,
    code,
    decided,
    flow,
    rows_of,
    switch,
    told,
    wait,
    workflow,
)


def join(rule: str) -> Flow:
    return flow(agent("a"), agent("b"), agent("c", "a", "b", trigger_rule=rule))


@dataclass(frozen=True)
class Rule:
    number: int
    says: str
    flow: Flow
    states: str
    then: dict[str, str]
    known: dict[str, Any] = field(default_factory=dict[str, Any])
    slots: int = 16


UF, SK, EX = "upstream_failed:upstream_failed", "skipped:trigger_rule", "skipped:excluded"
TRIGGERS: list[tuple[str, str, dict[str, str] | None]] = [
    # rule, states of its two dependencies, what becomes of it (None: it waits)
    ("all_success", "SS", {"c": "begin"}),
    ("all_success", "SP", None),
    ("all_success", "SF", {"c": UF}),
    ("all_success", "ST", {"c": UF}),
    ("all_success", "SU", {"c": UF}),
    ("all_success", "SK", {"c": SK}),
    ("all_success", "KK", {"c": SK}),
    ("all_success", "FR", {"c": UF}),
    ("all_success", "KR", None),
    ("all_success", "KF", {"c": UF}),
    ("one_success", "SR", {"c": "begin"}),
    ("one_success", "FR", None),
    ("one_success", "FS", {"c": "begin"}),
    ("one_success", "FF", {"c": UF}),
    ("one_success", "FK", {"c": UF}),
    ("one_success", "KK", {"c": SK}),
    ("all_done", "SF", {"c": "begin"}),
    ("all_done", "TU", {"c": "begin"}),
    ("all_done", "KK", {"c": "begin"}),
    ("all_done", "SR", None),
    ("all_failed", "FF", {"c": "begin"}),
    ("all_failed", "TU", {"c": "begin"}),
    ("all_failed", "FS", {"c": SK}),
    ("all_failed", "FK", {"c": SK}),
    ("all_failed", "SR", {"c": SK}),
    ("all_failed", "FR", None),
    ("one_failed", "FR", {"c": "begin"}),
    ("one_failed", "TS", {"c": "begin"}),
    ("one_failed", "SS", {"c": SK}),
    ("one_failed", "SK", {"c": SK}),
    ("one_failed", "SR", None),
    ("none_failed", "SS", {"c": "begin"}),
    ("none_failed", "SK", {"c": "begin"}),
    ("none_failed", "KK", {"c": "begin"}),
    ("none_failed", "SF", {"c": UF}),
    ("none_failed", "FR", {"c": UF}),
    ("none_failed", "SR", None),
    ("none_failed_min_one_success", "SS", {"c": "begin"}),
    ("none_failed_min_one_success", "SK", {"c": "begin"}),
    ("none_failed_min_one_success", "KK", {"c": SK}),
    ("none_failed_min_one_success", "SF", {"c": UF}),
    ("none_failed_min_one_success", "KR", None),
    ("always", "RR", {"c": "begin"}),
    ("always", "FF", {"c": "begin"}),
    ("always", "KC", {"c": "begin"}),
]


@pytest.mark.parametrize(
    "number, rule, states, then",
    [(number, *row) for number, row in enumerate(TRIGGERS, 1)],
    ids=lambda value: str(value) if isinstance(value, int | str) else "",
)
def test_trigger_rules(number: int, rule: str, states: str, then: dict[str, str] | None) -> None:
    decision = decided(join(rule), states)
    if then is None:
        assert isinstance(decision, Rest) or "c" not in told(decision)
    else:
        assert told(decision) == then | dict.fromkeys(
            [name for name, letter in zip("ab", states, strict=True) if letter == "P"], "begin"
        )


BRANCHES = flow(
    agent("a"),
    switch("s", "a", cases={"yes": ("x",), "no": ("y",)}, default=("z",)),
    agent("x", "s"),
    agent("y", "s"),
    agent("z", "s"),
    agent("j", "x", "y", "z", trigger_rule="none_failed_min_one_success"),
)
NESTED = flow(
    switch("s", cases={"in": ("t",)}, default=("o",)),
    switch("t", "s", cases={"deep": ("x",)}, default=("y",)),
    agent("o", "s"),
    agent("x", "t"),
    agent("y", "t"),
    agent("j", "x", "y", "o", trigger_rule="none_failed"),
)
SHARED = flow(
    switch("s", cases={"one": ("x", "m"), "two": ("y", "m")}),
    agent("x", "s"),
    agent("y", "s"),
    agent("m", "s"),
)
SWITCHES = [
    Rule(46, "a switch is decided as soon as it may run, alone", BRANCHES, "S", {"s": "choose"}),
    Rule(47, "the chosen branch runs, all others are excluded", BRANCHES, "SS", {"y": EX, "z": EX}, {"s": chose("x")}),
    Rule(48, "after that the chosen branch begins", BRANCHES, "SSPKK", {"x": "begin"}, {"s": chose("x")}),
    Rule(49, "a join after a switch runs when its rule lets exclusions pass", BRANCHES, "SSSKK", {"j": "begin"}, {"s": chose("x")}),
    Rule(50, "the default follows when no case is true", BRANCHES, "SS", {"x": EX, "y": EX}, {"s": chose("z", label=None)}),
    Rule(51, "no case and no default: all targets are excluded", SHARED, "S", {"x": EX, "y": EX, "m": EX}, {"s": chose(label=None)}),
    Rule(52, "a target of two branches is excluded only if neither is chosen", SHARED, "S", {"y": EX}, {"s": chose("x", "m")}),
    Rule(53, "a switch without cases chooses its default",
         flow(switch("s", default=("x",)), agent("x", "s")), "P", {"s": "choose"}),
    Rule(54, "what follows an excluded step alone is excluded, whatever its rule",
         flow(switch("s", cases={"c": ("x",)}), agent("x", "s"), agent("d", "x", trigger_rule="all_done")),
         "SK", {"d": EX}, {"s": chose(label=None)}),
    Rule(55, "one open way is enough not to be excluded; all_success is then skipped",
         flow(agent("a"), switch("s", cases={"c": ("x",)}), agent("x", "s"), agent("j", "a", "x")),
         "SSK", {"j": SK}, {"s": chose(label=None)}),
    Rule(56, "one open way and all_done: it runs",
         flow(agent("a"), switch("s", cases={"c": ("x",)}), agent("x", "s"), agent("j", "a", "x", trigger_rule="all_done")),
         "SSK", {"j": "begin"}, {"s": chose(label=None)}),
    Rule(57, "a target that is reached another way too is not excluded",
         flow(switch("s", cases={"c": ("x",)}, default=("r",)), agent("x", "s"), agent("r", "x", "s", trigger_rule="all_done")),
         "SS", {"r": "begin"}, {"s": chose("x")}),
    Rule(58, "a nested switch that is excluded excludes its targets", NESTED, "S", {"t": EX, "x": EX, "y": EX}, {"s": chose("o", label=None)}),
    Rule(59, "a nested switch that is chosen is decided next", NESTED, "SPK", {"t": "choose"}, {"s": chose("t")}),
    Rule(60, "a join after nested switches", NESTED, "SSKSK", {"j": "begin"}, {"s": chose("t"), "t": chose("x")}),
    Rule(61, "a switch that failed fails what follows", BRANCHES, "SF", {"x": UF, "y": UF, "z": UF}),
    Rule(62, "a switch that was skipped excludes nobody: its targets go by their rules", BRANCHES, "SK", {"x": SK, "y": SK, "z": SK}),
    Rule(63, "always does not run before it is known not to be excluded",
         flow(agent("a"), switch("s", "a", cases={"c": ("x",)}), agent("x", "s", trigger_rule="always")), "P", {"a": "begin"}),
    Rule(64, "always is excluded like everybody",
         flow(switch("s", cases={"c": ("x",)}), agent("x", "s", trigger_rule="always")), "S", {"x": EX}, {"s": chose(label=None)}),
    Rule(65, "somebody who depends on a switch and is no target of it is never excluded by it",
         flow(switch("s", cases={"c": ("x",)}), agent("x", "s"), agent("o", "s")), "SK", {"o": "begin"}, {"s": chose(label=None)}),
]  # fmt: skip
ORDER = [
    Rule(66, "skips come before switches", flow(agent("a"), agent("b", "a"), switch("s")), "F", {"b": UF}),
    Rule(67, "conditions are asked before switches", flow(agent("a", when="x"), switch("s")), "", {"a": "ask"}),
    Rule(68, "switches before code", flow(code("c"), switch("s")), "", {"s": "choose"}),
    Rule(69, "code before agents", flow(agent("a"), code("c")), "", {"c": "compute"}),
    Rule(70, "agents, workflows, approvals and waits begin together", flow(agent("a"), workflow("w"), approval("p"), wait("t")), "",
         {"a": "begin", "w": "begin", "p": "begin", "t": "begin"}),
    Rule(71, "a condition is asked only when the rule holds", flow(agent("a"), agent("b", "a", when="x")), "", {"a": "begin"}),
    Rule(72, "a step whose condition was true is not asked again", flow(agent("a", when="x")), "Y", {"a": "begin"}),
    Rule(73, "a step without dependencies runs whatever its rule", flow(agent("a", trigger_rule="one_failed")), "", {"a": "begin"}),
    Rule(74, "a whole round is skipped at once", flow(agent("a"), agent("b", "a"), agent("c", "a")), "F", {"b": UF, "c": UF}),
]  # fmt: skip
TWO = FlowBatch(max=2)
BATCHES = [
    Rule(75, "a batch admits as many as fit within one round",
         flow(agent("a", batch="b"), agent("c", batch="b"), agent("d", batch="b"), b=TWO), "",
         {"a": "begin", "c": "begin", "d": "ready:slots"}),
    Rule(76, "who runs holds a slot", flow(agent("a", batch="b"), agent("c", batch="b"), agent("d", batch="b"), b=TWO), "RPP",
         {"c": "begin", "d": "ready:slots"}),
    Rule(77, "a full batch blocks its own steps alone",
         flow(agent("a", batch="b"), agent("c", batch="b"), agent("d"), b=FlowBatch(max=1)), "RY", {"d": "begin"}),
    Rule(78, "several batches have slots of their own",
         flow(agent("a", batch="b"), agent("c", batch="b"), agent("d", batch="e"), b=FlowBatch(max=1), e=FlowBatch(max=1)), "",
         {"a": "begin", "d": "begin", "c": "ready:slots"}),
    Rule(79, "a slot that is free again is given to who waits for it",
         flow(agent("a", batch="b"), agent("c", batch="b"), b=FlowBatch(max=1)), "SY", {"c": "begin"}),
    Rule(80, "an approval in a batch holds a slot while it waits",
         flow(approval("a", batch="b"), agent("c", batch="b"), b=FlowBatch(max=1)), "WP", {"c": "ready:slots"}),
    Rule(81, "the run has slots for agents and workflows too", flow(agent("a"), workflow("c"), agent("d")), "RPP",
         {"c": "begin", "d": "ready:slots"}, slots=2),
    Rule(82, "approvals and waits need no slot of the run", flow(agent("a"), approval("p"), wait("w")), "R",
         {"p": "begin", "w": "begin"}, slots=1),
    Rule(83, "a join holds back who is outside until all of the batch has ended",
         flow(agent("a", batch="b"), agent("c", batch="b"), agent("o", "a"), agent("x"), b=FlowBatch(max=2, join="none_failed")), "SR",
         {"x": "begin"}),
    Rule(84, "a join that does not hold fails who is outside, also through a step that succeeded",
         flow(agent("a", batch="b"), agent("c", batch="b"), agent("o", "a"), b=FlowBatch(max=2, join="none_failed")), "SF", {"o": UF}),
    Rule(85, "a join that holds leaves it to the rule of the step",
         flow(agent("a", batch="b"), agent("c", batch="b"), agent("o", "a"), b=FlowBatch(max=2, join="none_failed")), "SK", {"o": "begin"}),
    Rule(86, "a join does not hold, and all_done runs all the same",
         flow(agent("a", batch="b"), agent("c", batch="b"), agent("o", "a", trigger_rule="all_done"), b=FlowBatch(max=2, join="none_failed")),
         "SF", {"o": "begin"}),
    Rule(87, "a join counts only outside of its batch",
         flow(agent("a", batch="b"), agent("c", "a", batch="b"), b=FlowBatch(max=2, join="all_success")), "S", {"c": "begin"}),
    Rule(88, "a batch that is over its time ends who runs, waits for a slot, or waits for a person",
         flow(agent("a", batch="b"), agent("c", batch="b"), approval("p", batch="b"), b=FlowBatch(max=2, timeout_seconds=60)), "RYW",
         {"a": "timed_out:batch_timeout", "c": "timed_out:batch_timeout", "p": "timed_out:batch_timeout"},
         {"a": {"begun_at": NOW - timedelta(seconds=60)}}),
    Rule(89, "its time runs from the first start, also of a step that has ended",
         flow(agent("a", batch="b"), agent("c", "a", batch="b"), b=FlowBatch(max=2, timeout_seconds=60)), "SP",
         {"c": "timed_out:batch_timeout"}, {"a": {"begun_at": NOW - timedelta(seconds=61)}}),
]  # fmt: skip


@pytest.mark.parametrize("rule", [*SWITCHES, *ORDER, *BATCHES], ids=lambda rule: f"{rule.number}-{rule.says}")
def test_rules(rule: Rule) -> None:
    assert told(decided(rule.flow, rule.states, slots=rule.slots, **rule.known)) == rule.then


def test_numbers_are_unique() -> None:
    numbers = [*range(1, len(TRIGGERS) + 1), *(rule.number for rule in (*SWITCHES, *ORDER, *BATCHES))]
    assert sorted(set(numbers)) == sorted(numbers)
    assert len(numbers) >= 80


def at(seconds: float) -> dict[str, Any]:
    return {"deadline_at": NOW + timedelta(seconds=seconds)}


ENDS: list[tuple[int, str, Callable[[], object], object]] = [
    (90, "all ended well", lambda: decided(flow(agent("a"), agent("b")), "SS"), FlowFinished(())),
    (91, "a failed step fails the run", lambda: decided(flow(agent("a"), agent("b")), "SF"), FlowFinished(("b",))),
    (92, "on_failure: continue does not", lambda: decided(flow(agent("a", on_failure="continue")), "F"), FlowFinished(())),
    (93, "a timeout fails it too", lambda: decided(flow(agent("a")), "T"), FlowFinished(("a",))),
    (94, "something after it succeeded: the run does not fail",
     lambda: decided(flow(agent("a"), agent("b", "a", trigger_rule="one_failed")), "FS"), FlowFinished(())),
    (95, "also far after it",
     lambda: decided(flow(agent("a"), agent("b", "a"), agent("c", "b", trigger_rule="all_done")), "FUS"), FlowFinished(())),
    (96, "what succeeded beside it does not count", lambda: decided(flow(agent("a"), agent("b")), "FS"), FlowFinished(("a",))),
    (97, "upstream_failed alone fails nothing", lambda: decided(flow(agent("a", on_failure="continue"), agent("b", "a")), "FU"), FlowFinished(())),
    (98, "nothing ready, running or waiting: stuck, by name",
     lambda: decided(flow(agent("a", "b"), agent("b", "a")), "PP"), Stuck(("a", "b"))),
    (99, "a row that is missing: stuck", lambda: decide(Graph(flow(agent("a"), agent("b", "a"))), {}, NOW, slots=1), Stuck(("a", "b"))),
    (100, "somebody works: rest until the first deadline",
     lambda: decided(flow(agent("a"), agent("b")), "RR", a=at(50), b=at(20)), Rest(NOW + timedelta(seconds=20), False)),
    (101, "only a person can move it", lambda: decided(flow(approval("a")), "W"), Rest(None, True)),
    (102, "only time can move it", lambda: decided(flow(wait("a")), "W", a=at(60)), Rest(NOW + timedelta(seconds=60), True)),
    (103, "a backoff is waited for", lambda: decided(flow(agent("a")), "Y", a=at(5)), Rest(NOW + timedelta(seconds=5), True)),
    (104, "the attempt before must be at rest before the next one",
     lambda: decided(flow(agent("a")), "Y", a={"previous_chat_id": "old"}), Rest(None, False)),
    (105, "the deadline of a batch is waited for",
     lambda: decided(flow(agent("a", batch="b"), b=FlowBatch(timeout_seconds=9)), "R", a={"begun_at": NOW}),
     Rest(NOW + timedelta(seconds=9), False)),
]  # fmt: skip


@pytest.mark.parametrize("number, says, made, then", ENDS, ids=[f"{row[0]}-{row[1]}" for row in ENDS])
def test_ends(number: int, says: str, made: Callable[[], object], then: object) -> None:
    assert made() == then


def one(step: Any, letter: str = "R", **known: Any) -> Any:
    return rows_of(flow(step), letter, **{step.id: known})[step.id]


TIMES: list[tuple[int, str, Callable[[], Any], dict[str, Any]]] = [
    (106, "a failure with retries left waits out its backoff as the next attempt",
     lambda: failed(s := agent("a", retries=2, backoff_seconds=5), one(s, chat_id="c1", attempt=1), NOW, reason="error", detail="no"),
     {"state": "ready", "reason": "retry", "attempt": 2, "retried": 1, "chat_id": None, "previous_chat_id": "c1", **at(5)}),
    (107, "the backoff doubles",
     lambda: failed(s := agent("a", retries=2, backoff_seconds=5), one(s, attempt=2, retried=1), NOW, reason="error", detail="no"),
     {"retried": 2, **at(10)}),
    (108, "no retries left: failed", lambda: failed(s := agent("a", retries=2), one(s, retried=2), NOW, reason="error", detail="no"),
     {"state": "failed", "reason": "error", "finished_at": NOW, "deadline_at": None}),
    (109, "a timeout is retried too", lambda: timed_out(s := agent("a", retries=1, timeout_seconds=60), one(s, attempt=1), NOW),
     {"state": "ready", "attempt": 2}),
    (110, "the last timeout ends it as timed_out", lambda: timed_out(s := agent("a"), one(s, attempt=1), NOW),
     {"state": "timed_out", "reason": "timeout"}),
    (111, "a condition that throws is not tried again",
     lambda: failed(s := agent("a", retries=5), one(s), NOW, reason="expression", detail="x", final=True), {"state": "failed", "reason": "expression"}),
    (112, "a wait that has passed succeeded", lambda: timed_out(s := wait("a"), one(s, "W"), NOW), {"state": "succeeded"}),
    (113, "an approval that nobody answers is denied", lambda: timed_out(s := approval("a", timeout_seconds=60), one(s, "W"), NOW),
     {"state": "failed", "reason": "denied"}),
    (114, "or approved", lambda: timed_out(s := approval("a", on_timeout="approve"), one(s, "W"), NOW), {"state": "succeeded", "reason": "approved"}),
    (115, "or timed out", lambda: timed_out(s := approval("a", on_timeout="fail"), one(s, "W"), NOW), {"state": "timed_out", "reason": "timeout"}),
    (116, "approved by a person", lambda: answered(approval("a"), one(approval("a"), "W"), Answer(decision="approve", by="ann"), NOW),
     {"state": "succeeded", "output": {"decision": "approve", "note": None, "answer": None, "by": "ann"}}),
    (117, "denied by a person", lambda: answered(approval("a"), one(approval("a"), "W"), Answer(decision="deny", note="no"), NOW),
     {"state": "failed", "reason": "denied", "detail": "no"}),
    (118, "denied and skipped", lambda: answered(approval("a", on_deny="skip"), one(approval("a"), "W"), Answer(decision="deny"), NOW),
     {"state": "skipped", "reason": "denied"}),
]  # fmt: skip


@pytest.mark.parametrize("number, says, made, then", TIMES, ids=[f"{row[0]}-{row[1]}" for row in TIMES])
def test_times(number: int, says: str, made: Callable[[], Any], then: dict[str, Any]) -> None:
    row = made()
    assert {name: getattr(row, name) for name in then} == then


def test_119_a_deadline_that_has_passed_comes_before_everything() -> None:
    made = flow(agent("a", timeout_seconds=60), switch("s"))
    decision = decided(made, "R", a=at(60), after=60)
    assert isinstance(decision, Moves)
    assert told(decision) == {"a": "timed_out:timeout"}


def test_120_a_backoff_that_has_passed_begins() -> None:
    assert told(decided(flow(agent("a")), "Y", a=at(5), after=5)) == {"a": "begin"}
