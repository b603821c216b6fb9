"""The workflows that come with Holdfast: each runs, does what its description says, and copes with failing
agents."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.shapes import Json
from holdfast.scripts.discovery import Workflow, discover, places
from holdfast.scripts.engines.messages import AgentCall, Call, CallError
from holdfast.scripts.source import Script, read_script
from holdfast.tools.schema import Shape, check_answer_schema
from tests.scripts.answers import absent, fitting, obliging
from tests.scripts.host import Answers, Ran, run_script

NAMES = ["bounty-hunt", "deep-research", "find-issues", "multi-review", "plan-verify", "review-code"]
CATALOGUE: dict[str, Workflow] = {
    workflow.name: workflow
    for workflow in discover(places(None, None), read_script)
    if workflow.origin == "catalogue"
}
ARGS: dict[str, dict[str, Json]] = {
    "bounty-hunt": {"path": "src", "hunters": 2},
    "deep-research": {"question": "Why is the sky blue?", "angles": 2, "sources": 3},
    "find-issues": {"path": "src"},
    "multi-review": {"subject": "the plan"},
    "plan-verify": {"task": "Make it faster"},
    "review-code": {"change": "the last commit"},
}


def script_of(name: str) -> Script:
    script = CATALOGUE[name].script
    assert script is not None
    return script


async def run_builtin(name: str, answers: Answers = obliging, budget: int | None = None) -> Ran:
    script = script_of(name)
    return await run_script(
        script.language, script.text, meta=False, args=ARGS[name], answers=answers, budget=budget
    )


def test_the_catalogue_has_its_six_workflows() -> None:
    assert sorted(CATALOGUE) == NAMES
    assert {workflow.language for workflow in CATALOGUE.values()} == {"javascript", "python"}


@pytest.mark.parametrize("name", NAMES)
def test_each_says_what_it_is_for(name: str) -> None:
    script = script_of(name)
    assert script.warnings == ()
    assert script.meta.when_to_use
    assert len(script.meta.phases) >= 2
    assert Path(CATALOGUE[name].path).stem == name
    assert script.meta.args is not None
    assert Shape(script.meta.args).complaints(ARGS[name]) == ()


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
async def test_each_runs_to_its_end_and_keeps_to_its_phases(name: str) -> None:
    ran = await run_builtin(name)
    assert ran.members
    planned = [phase.title for phase in script_of(name).meta.phases]
    assert set(ran.phases) <= set(planned)
    assert {call.options.phase or call.phase for call in ran.agents} == set(planned)
    assert all(call.options.label for call in ran.agents)
    for call in ran.agents:
        if call.options.schema is not None:
            check_answer_schema(call.options.schema)
    assert ran.warnings == []
    assert ran.unanswered == []


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
async def test_each_bears_agents_that_all_fail(name: str) -> None:
    """It gives what it has, or says itself what is missing; it does not stumble."""
    ran = await run_builtin(name, absent)
    if hasattr(ran.stop, "message"):
        assert "cannot read property" not in ran.failure.message
        assert "NoneType" not in ran.failure.message
        assert ran.failure.line is not None


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
async def test_each_stops_when_its_budget_is_spent(name: str) -> None:
    ran = await run_builtin(name, budget=20)
    assert len(ran.agents) <= 4


def findings(*severities: str) -> Json:
    return {"findings": [{"title": s, "severity": s, "file": "f", "explanation": "e"} for s in severities]}


@pytest.mark.heavy
async def test_review_code_merges_by_severity_and_bears_a_reviewer_that_fails() -> None:
    def answers(call: Call) -> Json | CallError:
        assert isinstance(call, AgentCall)
        match call.options.label:
            case "bugs":
                return findings("low", "critical")
            case "security":
                return None
            case "design":
                return findings("medium")
            case _:
                return {"findings": json.loads(call.prompt[call.prompt.index("[") :])}

    ran = await run_builtin("review-code", answers)
    assert [finding["severity"] for finding in ran.members["findings"]] == ["critical", "medium", "low"]
    assert ran.members["reviewers"] == ["bugs", "design"]
    assert [len(turn.said) for turn in ran.turns[:1]] == [4]  # the phase, then all three at once


@pytest.mark.heavy
async def test_find_issues_stops_after_two_rounds_without_news() -> None:
    news = iter([1, 1, 0, 0, 1])

    def answers(call: Call) -> Json | CallError:
        assert isinstance(call, AgentCall)
        if call.options.label == "rank":
            return {"issues": [{"title": "t", "file": "f", "why": "w"}]}
        if not (call.options.label or "").endswith("follow the data"):
            return {"issues": []}
        return {"issues": [{"title": f"issue {call.number}", "file": "f", "why": "w"}] * next(news)}

    ran = await run_builtin("find-issues", answers)
    assert ran.members["rounds"] == 4
    # What is known is told to the next round.
    assert "issue 1" in ran.agents[3].prompt


@pytest.mark.heavy
async def test_find_issues_ends_after_five_rounds() -> None:
    def answers(call: Call) -> Json | CallError:
        assert isinstance(call, AgentCall)
        return {"issues": [{"title": f"issue {call.number}", "file": f"f{call.number}", "why": "w"}]}

    ran = await run_builtin("find-issues", answers)
    assert ran.members["rounds"] == 5
    assert len(ran.agents) == 16


@pytest.mark.heavy
async def test_deep_research_reads_a_page_once_and_keeps_only_claims_that_hold() -> None:
    def answers(call: Call) -> Json | CallError:
        assert isinstance(call, AgentCall)
        schema = call.options.schema
        if "sources" in str(schema):
            urls = ["https://www.a.org/x/", "http://a.org/x#top", "https://b.org"]
            return {"sources": [{"url": url, "title": "t"} for url in urls]}
        if "verdict" in str(schema):
            return {"verdict": "holds" if "b.org" in call.prompt else "refuted", "reason": "r"}
        return fitting(schema, call.prompt) if schema else "the report"

    ran = await run_builtin("deep-research", answers)
    assert ran.members["sources"] == ["https://www.a.org/x/", "https://b.org"]
    assert {claim["source"] for claim in ran.members["claims"]} == {"https://b.org"}
    assert ran.members["report"] == "the report"


@pytest.mark.heavy
async def test_bounty_hunt_proves_in_worktrees_and_keeps_a_reserve() -> None:
    ran = await run_builtin("bounty-hunt", budget=200)
    proofs = [call for call in ran.agents if call.phase == "Prove"]
    assert proofs
    assert {call.options.isolation for call in proofs} == {"worktree"}
    assert ran.members["bugs"]


# --- answers that are good, bad and missing ---


def bug(number: int) -> dict[str, Json]:
    return {"title": f"bug {number}", "file": "f", "how": "h"}


@pytest.mark.heavy
async def test_bounty_hunt_keeps_what_was_proved_when_the_budget_ends() -> None:
    proofs = iter([{"proved": True, "test": "t"}, {"proved": False}])
    spent = CallError(kind="budget", message="the budget is spent")

    def answers(call: Call) -> Json | CallError:
        assert isinstance(call, AgentCall)
        if call.options.label == "map":
            return {"parts": ["a"]}
        if call.phase == "Hunt":
            return {"bugs": [bug(1), bug(2), bug(3)]}
        return next(proofs, spent)

    ran = await run_builtin("bounty-hunt", answers)
    assert [one["title"] for one in ran.members["bugs"]] == ["bug 1"]
    assert [one["why"] for one in ran.members["unproved"]] == ["its test passes", "the budget is spent"]
    assert ran.members["why"] is None


@pytest.mark.heavy
async def test_bounty_hunt_says_why_it_found_nothing_outside_git() -> None:
    def answers(call: Call) -> Json | CallError:
        assert isinstance(call, AgentCall)
        if call.phase == "Prove":
            return CallError(kind="failed", message="agent(): the workspace is not a git repository")
        return {"parts": ["a"]} if call.options.label == "map" else {"bugs": [bug(1)]}

    ran = await run_builtin("bounty-hunt", answers)
    assert ran.members["bugs"] == []
    assert "not a git repository" in ran.members["why"]
    assert any("not a git repository" in line for line in ran.log)


@pytest.mark.heavy
async def test_bounty_hunt_says_when_nobody_claimed_anything() -> None:
    ran = await run_builtin("bounty-hunt", lambda call: {"parts": ["a"]} if call.number == 1 else None)
    assert ran.members["why"] == "no hunter claimed a bug"


@pytest.mark.heavy
@pytest.mark.parametrize("what", ["sources", "claims", "verdict"])
async def test_deep_research_writes_no_report_from_no_claims(what: str) -> None:
    def answers(call: Call) -> Json | CallError:
        assert isinstance(call, AgentCall)
        schema = call.options.schema
        assert schema is not None, "a report was asked for"
        if what in str(schema.get("properties")):
            return {"verdict": "refuted", "reason": "r"} if what == "verdict" else {what: []}
        return fitting(schema, call.prompt)

    ran = await run_builtin("deep-research", answers)
    assert "there is no report" in ran.failure.message


@pytest.mark.heavy
async def test_plan_verify_survives_a_failed_step_and_repairs() -> None:
    met = iter([False, True])

    def answers(call: Call) -> Json | CallError:
        assert isinstance(call, AgentCall)
        match call.options.label:
            case "plan" | "revise":
                return {"steps": ["one", "two", "three"], "criteria": ["it works"]}
            case "2. two":
                return None
            case "it works":
                return {"met": next(met), "evidence": "seen"}
            case _:
                return "done"

    ran = await run_builtin("plan-verify", answers)
    assert ran.members["done"] is True
    assert ran.members["failed_steps"] == ["two"]
    labels = [call.options.label for call in ran.agents]
    assert labels.count("2. two") == 2
    assert labels.count("it works") == 2
    assert labels.count("repair") == 1


@pytest.mark.heavy
async def test_plan_verify_gives_up_when_two_steps_fail() -> None:
    def answers(call: Call) -> Json | CallError:
        assert isinstance(call, AgentCall)
        if call.options.label in ("plan", "revise"):
            return {"steps": ["one", "two", "three"], "criteria": ["c"]}
        return None

    ran = await run_builtin("plan-verify", answers)
    assert ran.failure.message.endswith("two steps did not end well: one; two")


@pytest.mark.heavy
async def test_multi_review_merges_equal_findings_and_counts_a_majority_of_three() -> None:
    claims = {
        "a sceptic": ["It leaks!", "Slow"],
        "a pragmatist": ["it leaks", "Takes long"],
        "a newcomer": ["Odd"],
    }

    def answers(call: Call) -> Json | CallError:
        assert isinstance(call, AgentCall)
        label = call.options.label or ""
        if label in claims:
            return {"findings": [{"claim": claim, "reason": "r"} for claim in claims[label]]}
        if label == "merge":
            return {"groups": [[1, 2], [7]]}
        if label == "conclusion":
            return "the end"
        return {"agree": "Odd" not in label, "reason": "r"}

    ran = await run_builtin("multi-review", answers)
    found = [(one["claim"], one["agree"], one["of"]) for one in ran.members["findings"]]
    assert found == [("Slow", 3, 3), ("It leaks!", 3, 3)]
    assert ran.members["dropped"] == 1
    votes = [call.options.label for call in ran.agents if ": " in (call.options.label or "")]
    assert len(votes) == 1 + 1 + 2


@pytest.mark.heavy
async def test_multi_review_without_reviewers_reviews_nothing() -> None:
    ran = await run_builtin("multi-review", absent)
    assert "no reviewer answered" in ran.failure.message


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
async def test_each_bears_answers_that_say_nothing(name: str) -> None:
    """Empty lists, empty texts, no to everything: it ends, or says itself what is missing."""

    def answers(call: Call) -> Json | CallError:
        assert isinstance(call, AgentCall)
        return _least(call.options.schema) if call.options.schema else ""

    ran = await run_builtin(name, answers)
    if hasattr(ran.stop, "message"):
        assert "undefined" not in ran.failure.message
        assert "NoneType" not in ran.failure.message


def _least(schema: Any) -> Any:
    """The least that fits: what a model answers that found nothing."""
    if "enum" in schema:
        return schema["enum"][-1]
    if "properties" in schema:
        return {key: _least(value) for key, value in schema["properties"].items()}
    if "items" in schema:
        return [_least(schema["items"])] if schema.get("minItems") else []
    return {"boolean": False, "integer": 0, "number": 0}.get(schema.get("type"), "")
