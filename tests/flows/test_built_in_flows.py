"""The built-in flows, run with a model that follows a script: that finds something, that finds nothing, that
fails; and with people who approve or deny."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast.flows
from holdfast.core.flow_runs import FlowDetails
from tests.flows.stage import FlowStage, by_id, states
from tests.flows.test_guide import approving
from tests.providers.answering import Asked
from tests.providers.replies import Reply, Status, call

pytestmark = pytest.mark.heavy

CATALOGUE = Path(holdfast.flows.__file__).parent / "catalogue"
FINDING = {"file": "a.py", "line": 3, "severity": "low", "problem": "leaks", "fix": "close it"}
WORSE = {**FINDING, "line": 9, "severity": "critical", "problem": "breaks"}
ISSUES = [{"id": "1", "title": "crash"}, {"id": "2", "title": "idea"}]


def flow(name: str) -> str:
    # Worktrees need a repository; which directory an agent works in changes nothing else.
    return (CATALOGUE / f"{name}.yaml").read_text().replace("    isolation: worktree\n", "")


def answering(structured: dict[str, Any], failing: str | None = None) -> Callable[[str, Asked], Reply | None]:
    """Answers of a shape by the beginning of what was asked; an agent that fails, by a part of it."""

    def answer(prompt: str, asked: Asked) -> Reply | None:
        if failing is not None and failing in prompt:
            return Reply(fault=Status(400))
        for beginning, value in structured.items():
            if prompt.startswith(beginning):
                return call("structured_output", value)
        return None

    return answer


async def ran(stage: FlowStage, name: str, args: Any, *, deny: str | None = None) -> FlowDetails:
    stage.work()
    run = await stage.start_flow(flow(name), args=args)
    if deny is not None:
        await stage.step_is(run.id, deny, "waiting")
        await stage.approve(run.id, deny, "deny")
    person = asyncio.create_task(approving(stage, run.id))
    try:
        return await stage.flow_over(run.id)
    finally:
        person.cancel()


REVIEWS = {
    "Review . for bugs": {"findings": [FINDING]},
    "Review . for security": {"findings": [WORSE, FINDING]},
}


async def test_a_review_whose_findings_are_fixed(stage: FlowStage) -> None:
    stage.answers = answering(REVIEWS)
    done = await ran(stage, "review-and-fix", {"path": ".", "size": "large"})
    assert done.run.status == "succeeded", done.run.error
    report = str(done.run.result)
    assert report.index("breaks") < report.index("leaks"), "the worst comes first"
    assert report.partition("##")[0].count("leaks") == 1, "two found the same"
    assert "## What was done" in report
    assert "## What the check says" in report


async def test_a_review_whose_findings_are_left(stage: FlowStage) -> None:
    stage.answers = answering(REVIEWS)
    done = await ran(stage, "review-and-fix", {"path": "."}, deny="ok")
    assert done.run.status == "succeeded", done.run.error
    assert states(done)["security"] == "skipped", "a small change"
    assert str(done.run.result).endswith("Nothing was changed.")


async def test_a_review_that_finds_nothing_asks_nobody(stage: FlowStage) -> None:
    stage.answers = answering({"Review . for bugs": {"findings": []}})
    done = await ran(stage, "review-and-fix", {"path": "."})
    assert (done.run.status, states(done)["ok"]) == ("succeeded", "skipped")
    assert "Nothing was found." in str(done.run.result)


async def test_research_goes_on_without_one_answer(stage: FlowStage) -> None:
    plan = {"Plan how": {"first": "one?", "second": "two?", "third": "three?"}}
    text = "Answer this question with sources: two?"
    stage.answers = answering(plan, failing=text)
    stage.work()
    source = flow("research-report").replace("retries: 1", "retries: 0")
    done = await stage.ran_flow(source, args={"question": "why?"})
    assert done.run.status == "succeeded", done.run.error
    assert states(done)["second"] == "failed"
    assert str(done.run.result).startswith("<Write a report for an engineer")
    asked = next(prompt for prompt in stage.prompts if prompt.startswith("Check these"))
    assert "The second part has no answer." in asked


SORTED = {"id": "1", "kind": "bug", "urgent": True, "reason": "loses data"}
QUIET = {"id": "2", "kind": "request", "urgent": False, "reason": "nice"}


async def test_urgent_issues_are_looked_into(stage: FlowStage) -> None:
    stage.answers = answering({"Sort these": {"issues": [SORTED, QUIET]}})
    done = await ran(stage, "triage-issues", {"issues": ISSUES})
    assert done.run.status == "succeeded", done.run.error
    assert "## What the urgent ones need" in str(done.run.result)
    assert by_id(done)["urgent"].output == [{"id": "1", "title": "crash", "reason": "loses data"}]


async def test_where_nothing_is_urgent_nobody_looks(stage: FlowStage) -> None:
    stage.answers = answering({"Sort these": {"issues": [QUIET]}})
    done = await ran(stage, "triage-issues", {"issues": ISSUES})
    assert (done.run.status, states(done)["investigate"]) == ("succeeded", "skipped")
    assert "## request (1)" in str(done.run.result)


STUDY = {"from": "1.0", "to": "2.0", "risk": "low", "places": ["a.py"], "notes": "renames"}


@pytest.mark.parametrize(
    "study, deny, result",
    [
        ({}, None, "<The upgrade of left was tried"),
        ({}, "take_over", "Not taken over. <Upgrade left from 1.0 to 2.0"),
        ({"risk": "high"}, None, "<The upgrade of left was tried"),
        ({"risk": "high"}, "ask_first", "The upgrade was not tried."),
        ({"to": "1.0"}, None, "The project has left 1.0 already."),
    ],
)
async def test_an_upgrade(stage: FlowStage, study: dict[str, Any], deny: str | None, result: str) -> None:
    stage.answers = answering({"The project depends": {**STUDY, **study}})
    done = await ran(stage, "upgrade-dependency", {"package": "left"}, deny=deny)
    assert done.run.status == "succeeded", done.run.error
    assert str(done.run.result).startswith(result)
