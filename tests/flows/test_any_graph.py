"""Random graphs, fates, orders and crashes: every step ends in the one state that an independent, slow
reading of the rules gives, nothing runs twice, no batch is too full, and the run ends."""

import random
from collections import Counter
from datetime import timedelta
from functools import cache
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.core.flow_runs import FlowStep, StepState, SwitchChoice
from holdfast.flows.definition import Flow, FlowBatch, Step, SwitchStep
from holdfast.flows.graph_checks import check_batches
from holdfast.flows.schedule import FlowFinished, Graph, Moves, Rest, Rows, chosen, decide, ended, failed
from tests.flows.graphs import NOW, agent, approval, code, flow, rows_of, switch, wait, workflow

RULES = (
    "all_success", "one_success", "all_done", "all_failed", "one_failed", "none_failed",
    "none_failed_min_one_success", "always",
)  # fmt: skip
SLOTS = 3


class Fate(msgspec.Struct, frozen=True):
    """What will happen to a step, if it is begun."""

    ends: tuple[StepState, ...]  # of its attempts
    when: bool = True
    case: int | None = None


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Flow, dict[str, Fate]]:
    many = draw(st.integers(1, 14))
    batches = {
        "b1": FlowBatch(max=draw(st.integers(1, 3)), join=draw(st.sampled_from([None, *RULES[:-1]]))),
        "b2": FlowBatch(max=1),
    }
    names = [f"s{place}" for place in range(many)]
    deps = {
        name: tuple(draw(st.lists(st.sampled_from(names[:place]), unique=True, max_size=4)) if place else ())
        for place, name in enumerate(names)
    }
    steps: list[Step] = []
    fates: dict[str, Fate] = {}
    for name in names:
        rule = draw(st.sampled_from(RULES))
        kind = draw(st.sampled_from(["agent", "agent", "code", "switch", "wait", "approval", "workflow"]))
        followers = [other for other in names if name in deps[other]]
        if kind == "switch" and followers:
            cases = {
                f"c{n}": tuple(draw(st.lists(st.sampled_from(followers), unique=True)))
                for n in range(draw(st.integers(0, 3)))
            }
            default = tuple(draw(st.lists(st.sampled_from(followers), unique=True)))
            steps.append(switch(name, *deps[name], cases=cases, default=default, trigger_rule=rule))
            case = draw(st.sampled_from([None, *range(len(cases))]))
            fates[name] = Fate((draw(st.sampled_from(["succeeded", "succeeded", "failed"])),), case=case)
            continue
        make: Any = {
            "agent": agent,
            "code": code,
            "wait": wait,
            "approval": approval,
            "workflow": workflow,
        }.get(kind, agent)
        retries = draw(st.integers(0, 2)) if make in (agent, workflow) else 0
        has_when = draw(st.booleans())
        steps.append(
            make(name, *deps[name], trigger_rule=rule, retries=retries, when="w" if has_when else None,
                 batch=draw(st.sampled_from([None, None, "b1", "b2"])),
                 on_failure=draw(st.sampled_from(["fail_run", "continue"])))
        )  # fmt: skip
        ends: Any = tuple(
            draw(st.sampled_from(["succeeded", "failed", "timed_out"])) for _ in range(retries + 1)
        )
        fates[name] = Fate(ends, when=not has_when or draw(st.booleans()))
    return flow(*steps, **batches), fates


def allowed(made: Flow) -> bool:
    """As the reader checks it: nobody of a batch with a join waits for who waits for the batch."""
    try:
        check_batches(made, {step.id: _NoPlace() for step in made.steps})  # pyright: ignore[reportArgumentType]
    except AssertionError:
        return False
    return True


class _NoPlace:
    def bad(self, sentence: str) -> AssertionError:
        return AssertionError(sentence)


# --- the oracle: final states alone, by counting ---


def oracle(made: Flow, fates: dict[str, Fate]) -> dict[str, str]:
    steps = {step.id: step for step in made.steps}

    def lost(dep: str, to: str) -> bool:
        if excluded(dep):
            return True
        one = steps[dep]
        if not isinstance(one, SwitchStep) or final(dep) != "succeeded" or to not in one.targets:
            return False
        return to not in chosen(one, fates[dep].case)[1]

    @cache
    def excluded(name: str) -> bool:
        deps = steps[name].deps
        return bool(deps) and all(lost(dep, name) for dep in deps)

    def rule_says(rule: str, s: int, f: int, k: int) -> str:
        n = s + f + k
        runs = {
            "all_success": s == n,
            "one_success": s >= 1,
            "all_done": True,
            "all_failed": f == n,
            "one_failed": f >= 1,
            "none_failed": f == 0,
            "none_failed_min_one_success": f == 0 and s >= 1,
            "always": True,
        }[rule]
        if runs or n == 0:
            return "run"
        return "skipped" if f == 0 or rule in ("all_failed", "one_failed") else "upstream_failed"

    def kind_of(name: str) -> str:
        state = final(name)
        return "s" if state == "succeeded" else "k" if state == "skipped" else "f"

    @cache
    def final(name: str) -> str:
        step = steps[name]
        if excluded(name):
            return "skipped"
        seen: list[str] = []
        for dep in step.deps:
            batch = steps[dep].batch
            join = made.batches[batch].join if batch is not None and batch != step.batch else None
            if join is not None:
                of_batch = Counter(kind_of(other.id) for other in made.steps if other.batch == batch)
                says = rule_says(join, of_batch["s"], of_batch["f"], of_batch["k"])
                if says != "run":
                    seen.append("f" if says == "upstream_failed" else "k")
                    continue
            seen.append("k" if lost(dep, name) else kind_of(dep))
        count = Counter(seen)
        says = (
            "run"
            if step.trigger_rule == "always"
            else rule_says(step.trigger_rule, count["s"], count["f"], count["k"])
        )
        if says != "run":
            return says
        if not fates[name].when:
            return "skipped"
        ends = fates[name].ends
        return "succeeded" if "succeeded" in ends else ends[-1]

    return {step.id: final(step.id) for step in made.steps}


# --- a run without a server ---


class Play:
    def __init__(self, made: Flow, fates: dict[str, Fate], seed: int) -> None:
        self.graph, self.fates, self.random = Graph(made), fates, random.Random(seed)
        self.rows: Rows = rows_of(made)
        self.begun: Counter[tuple[str, int]] = Counter()
        self.now = NOW

    def put(self, *rows: FlowStep) -> None:
        self.rows = {**self.rows, **{row.id: row for row in rows}}

    def go(self) -> FlowFinished:
        for _ in range(1000):
            if self.random.random() < 0.3:
                # A worker that takes over knows the rows and nothing else.
                encoded = msgspec.json.encode(list(self.rows.values()))
                self.rows = {row.id: row for row in msgspec.json.decode(encoded, type=list[FlowStep])}
                self.graph = Graph(self.graph.flow)
            match decide(self.graph, self.rows, self.now, slots=SLOTS):
                case Moves() as moves:
                    self.perform(moves)
                case Rest(until=until):
                    self.something_ends(until)
                case FlowFinished() as finished:
                    return finished
                case stuck:
                    raise AssertionError(stuck)
            self.check_slots()
        raise AssertionError("the run does not end")

    def perform(self, moves: Moves) -> None:
        assert moves.changed or moves.ask or moves.choose or moves.compute or moves.begin
        self.put(*moves.changed)
        for name in moves.ask:
            row = self.rows[name]
            keeps = self.fates[name].when
            self.put(
                replace(row, state="ready") if keeps else ended(row, "skipped", self.now, reason="condition")
            )
        for name in moves.choose:
            step = self.graph.steps[name]
            assert isinstance(step, SwitchStep)
            assert self.rows[name].choice is None
            self.count(name)
            label, steps = chosen(step, self.fates[name].case)
            end = self.fates[name].ends[0]
            choice = SwitchChoice(label=label, steps=steps) if end == "succeeded" else None
            self.put(ended(replace(self.rows[name], choice=choice), end, self.now))
        for name in moves.compute:
            self.count(name)
            self.put(ended(self.rows[name], self.fates[name].ends[0], self.now))
        for name in moves.begin:
            self.count(name)
            waits = self.rows[name].kind in ("approval", "wait")
            row = replace(
                self.rows[name],
                state="waiting" if waits else "running",
                started_at=self.now,
                deadline_at=None,
            )
            self.put(replace(row, begun_at=row.begun_at or self.now))

    def count(self, name: str) -> None:
        row = self.rows[name]
        assert row.state in ("pending", "ready")
        self.begun[name, row.attempt] += 1
        assert self.begun[name, row.attempt] == 1, f"{name} is begun twice"

    def something_ends(self, until: Any) -> None:
        active = [row for row in self.rows.values() if row.state in ("running", "waiting")]
        if not active:
            assert until is not None
            self.now = until
            return
        row = self.random.choice(active)
        end = self.fates[row.id].ends[row.retried]
        if end == "succeeded":
            self.put(ended(row, end, self.now))
        else:
            reason: Any = "timeout" if end == "timed_out" else "error"
            self.put(failed(self.graph.steps[row.id], row, self.now, reason=reason, detail=None))
            after = self.rows[row.id]
            if after.previous_chat_id is not None:
                self.put(replace(after, previous_chat_id=None))
        self.now += timedelta(seconds=1)

    def check_slots(self) -> None:
        active = [row for row in self.rows.values() if row.state in ("running", "waiting")]
        assert sum(row.kind in ("agent", "workflow") for row in active) <= SLOTS
        full = Counter(row.batch for row in active)
        for name, batch in self.graph.flow.batches.items():
            assert full[name] <= batch.max


@settings(max_examples=100, deadline=None)
@given(graphs(), st.integers(0, 2**32))
def test_any_graph_in_any_order(made_and_fates: tuple[Flow, dict[str, Fate]], seed: int) -> None:
    made, fates = made_and_fates
    if not allowed(made):
        return
    play = Play(made, fates, seed)
    finished = play.go()
    expected = oracle(made, fates)
    assert {name: row.state for name, row in play.rows.items()} == expected
    assert set(finished.failed) == failing_by_hand(made, expected)


def failing_by_hand(made: Flow, states: dict[str, str]) -> set[str]:
    def reaches(top: str, name: str) -> bool:
        return any(
            dep == top or reaches(top, dep) for dep in next(s for s in made.steps if s.id == name).deps
        )

    return {
        step.id
        for step in made.steps
        if states[step.id] in ("failed", "timed_out")
        and step.on_failure == "fail_run"
        and not any(states[other.id] == "succeeded" and reaches(step.id, other.id) for other in made.steps)
    }
