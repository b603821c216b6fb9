"""Counters for operators."""

import re

from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from holdfast.chats.commands import BeginAttempt, CommitStep, FinishCall, FinishTurn, StartCalls
from holdfast.core.ids import CallId, StepId
from holdfast.core.steps import Step, StepKind
from holdfast.core.usage import Usage
from holdfast.telemetry.metrics import Metrics
from tests.chats.making import NOW, after, assistant, changed, new_call, step, view


def values(metrics: Metrics) -> dict[str, float]:
    """Every sample, by its name and its labels, which come in the order of their names."""
    return {
        sample.name + "".join(f" {value}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(metrics.exposition().decode())
        for sample in family.samples
    }


async def test_everything_is_there_from_the_start() -> None:
    shown = Metrics().exposition().decode()
    names = set(re.findall(r"^# TYPE (\S+)", shown, re.MULTILINE))
    assert names >= {
        "holdfast_steps_total",
        "holdfast_failed_attempts_total",
        "holdfast_calls_total",
        "holdfast_turns_total",
        "holdfast_tokens_total",
        "holdfast_cost_usd_micros_total",
        "holdfast_step_seconds",
        "holdfast_chats_running",
        "holdfast_tasks",
        "holdfast_stale_commits_total",
        "holdfast_leases_lost_total",
        "holdfast_steps_by_kind_total",
        "holdfast_tool_calls_total",
        "holdfast_tool_seconds",
        "holdfast_compactions_total",
        "holdfast_retries_total",
    }


async def test_two_processes_in_one_do_not_share_them() -> None:
    first, second = Metrics(), Metrics()
    first.leases_lost.inc()
    assert values(second)["holdfast_leases_lost_total"] == 0


async def test_a_call_is_counted_once_whenever_its_result_enters_history() -> None:
    metrics = Metrics()
    one, two = CallId("call-1"), CallId("call-2")
    asked = after(view(), step(new_call(one), new_call(two)), StartCalls(call_ids=(one, two)))
    first = changed(asked, FinishCall(call_id=one, run=1, outcome="succeeded", output=""))
    metrics.committed(first)
    assert first.after is not None
    last = FinishCall(call_id=two, run=1, outcome="failed", output="")
    metrics.committed(changed(first.after, last, BeginAttempt()))
    counted = values(metrics)
    assert counted["holdfast_calls_total succeeded"] == 1
    assert counted["holdfast_calls_total failed"] == 1


async def test_steps_turns_tokens_and_failed_attempts() -> None:
    metrics = Metrics()
    metrics.failed_attempt("overloaded")
    answered = CommitStep(step=step().step, messages=(assistant(),))
    metrics.committed(changed(view(), answered, FinishTurn()))
    counted = values(metrics)
    assert counted["holdfast_steps_total unknown finished"] == 1
    assert counted["holdfast_turns_total finished"] == 1
    assert counted["holdfast_failed_attempts_total overloaded"] == 1
    assert counted["holdfast_step_seconds_count"] == 1
    assert counted["holdfast_tokens_total input unknown"] == 0


async def test_tools_are_counted_by_name_with_how_long_they_took() -> None:
    metrics = Metrics()
    one, two = CallId("call-1"), CallId("call-2")
    asked = after(view(), step(new_call(one), new_call(two)), StartCalls(call_ids=(one, two)))
    ends = (
        FinishCall(call_id=one, run=1, outcome="succeeded", output="", seconds=0.2),
        FinishCall(call_id=two, run=1, outcome="failed", output="", seconds=20),
    )
    metrics.committed(changed(asked, *ends, BeginAttempt()))
    tool = asked.calls[0].name
    counted = values(metrics)
    assert counted[f"holdfast_tool_calls_total succeeded {tool}"] == 1
    assert counted[f"holdfast_tool_calls_total failed {tool}"] == 1
    assert counted[f"holdfast_tool_seconds_count {tool}"] == 2


async def test_steps_by_kind_compactions_and_retries() -> None:
    metrics = Metrics()
    metrics.committed(changed(view(), CommitStep(step=step().step, messages=(assistant(),)), FinishTurn()))
    compaction = replace(made_step("compaction"), outcome="failed")
    for one in (made_step("title"), made_step("compaction"), compaction):
        metrics.noted(one)
    metrics.retried("overloaded")
    counted = values(metrics)
    assert counted["holdfast_steps_by_kind_total model finished"] == 1
    assert counted["holdfast_steps_by_kind_total title finished"] == 1
    assert counted["holdfast_steps_by_kind_total compaction failed"] == 1
    assert counted["holdfast_compactions_total finished"] == 1
    assert counted["holdfast_compactions_total failed"] == 1
    assert counted["holdfast_retries_total overloaded"] == 1


def made_step(kind: StepKind) -> Step:
    return Step(
        id=StepId(kind),
        turn=1,
        number=1,
        kind=kind,
        usage=Usage(),
        started_at=NOW,
        finished_at=NOW,
    )
