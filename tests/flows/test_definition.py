# ruff: noqa: E501 - tables
"""Definitions: what is read, and what is refused, with line and column."""

import json

import pytest

from holdfast.core.errors import BadFlow
from holdfast.flows.definition import AgentStep, ApprovalStep, CodeStep, SwitchStep, WaitStep, decode, encode
from holdfast.flows.durations import moment_of, seconds_of, shown
from holdfast.flows.reading import read_flow

EXAMPLE = """\
name: review-and-fix
description: Review a change, let a person decide, fix what was found
args: {type: object, properties: {path: {type: string}, size: {enum: [small, large]}}}
batches: {reviewers: {max: 2, timeout: 20m, join: none_failed}}
steps:
  - {id: bugs,     kind: agent, batch: reviewers, prompt: "Look for bugs in {{ args.path }}", schema: {type: object}}
  - {id: security, kind: agent, batch: reviewers, agent: security-reviewer, when: "args.size == 'large'", prompt: "..."}
  - {id: merge,    kind: code, deps: [bugs, security], trigger_rule: none_failed_min_one_success, python: "return sorted([])"}
  - {id: any,      kind: switch, deps: [merge], cases: [{label: found, when: "results.merge | length > 0", steps: [ok]}], default: [report]}
  - {id: ok,       kind: approval, deps: [any], text: "Fix {{ results.merge | length }} findings?", timeout: 2d, on_timeout: deny}
  - {id: fix,      kind: agent, deps: [ok], retries: 2, timeout: 30m, isolation: worktree, prompt: "..."}
  - {id: report,   kind: code, deps: [fix, any], trigger_rule: all_done, python: "return 1"}
report: "{{ results.report }}"
output: review.md
"""


def test_the_example_of_the_guide() -> None:
    flow = read_flow(EXAMPLE)
    bugs, security, merge, choice, ok, fix, report = flow.steps
    assert isinstance(bugs, AgentStep)
    assert (bugs.timeout_seconds, bugs.batch, bugs.line) == (300, "reviewers", 6)
    assert (security.when, merge.trigger_rule) == ("args.size == 'large'", "none_failed_min_one_success")
    assert isinstance(choice, SwitchStep)
    assert choice.targets == {"ok", "report"}
    assert isinstance(ok, ApprovalStep)
    assert (ok.timeout_seconds, ok.on_timeout) == (172_800, "deny")
    assert isinstance(fix, AgentStep)
    assert (fix.retries, fix.timeout_seconds, fix.isolation) == (2, 1800, "worktree")
    assert isinstance(report, CodeStep)
    assert flow.batches["reviewers"].timeout_seconds == 1200
    assert decode(encode(flow)) == flow


def test_json_is_read_too() -> None:
    wanted = {"name": "n", "description": "d", "steps": [{"id": "a", "kind": "wait", "for": "1h30m"}]}
    (step,) = read_flow(json.dumps(wanted)).steps
    assert isinstance(step, WaitStep)
    assert step.duration == "1h30m"


def test_texts_that_other_yaml_reads_as_something_else_stay_texts() -> None:
    flow = read_flow("name: 'on'\ndescription: yes\nsteps: [{id: a, kind: wait, for: 90, title: 12:30}]")
    assert (flow.name, flow.description, flow.steps[0].title) == ("on", "yes", "12:30")


def steps(text: str) -> str:
    return f"name: n\ndescription: d\nsteps:\n{text}"


MANY = "".join(f"  - {{id: s{place}, kind: wait, for: 1s}}\n" for place in range(10_000))
BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nname: n\n"
BAD = [
    ("bomb", BOMB, 1, 4, "anchors and aliases"),
    ("alias", steps("  - {id: a, kind: wait, for: 1s}\n  - *a"), 5, 5, "anchors and aliases"),
    ("merge key", steps("  - {<<: {id: a}, kind: wait}"), 4, 6, "merge keys"),
    ("tag", "name: !!python/object/apply:os.system [id]", 1, 7, "the tag"),
    ("key twice", "name: a\ndescription: d\nname: b", 3, 1, "there twice"),
    ("two documents", "name: a\n---\nname: b", 2, 1, "one flow"),
    ("10 000 steps", steps(MANY), 1004, 5, "at most 1000 steps; this one has 10000"),
    ("deep", "[" * 100, 1, 42, "nested deeper"),
    ("not yaml", "name: [", 2, 1, "not YAML"),
    ("control character", "name: a\x07b", 1, 1, "not YAML"),
    ("empty", "", 1, 1, "empty"),
    ("a list", "- a", 1, 1, "a mapping"),
    ("no steps", "name: n\ndescription: d", 1, 1, "needs steps"),
    ("empty steps", "name: n\ndescription: d\nsteps: []", 3, 8, "at least one"),
    ("name with a path", "name: ../../etc\ndescription: d\nsteps: [{id: a, kind: wait, for: 1s}]", 1, 7, "a name has"),
    ("output with a path", steps("  - {id: a, kind: wait, for: 1s}\nreport: r\noutput: ../x"), 6, 9, "without a path"),
    ("output alone", steps("  - {id: a, kind: wait, for: 1s}\noutput: x.md"), 5, 9, "write a report"),
    ("id with a path", steps("  - {id: ../a, kind: wait, for: 1s}"), 4, 10, "an id has"),
    ("unknown field", steps("  - {id: a, kind: wait, for: 1s, promt: x}"), 4, 41, "is not a field"),
    ("field of another kind", steps("  - {id: a, kind: wait, for: 1s, prompt: x}"), 4, 42, "of kind wait"),
    ("unknown kind", steps("  - {id: a, kind: agnet, prompt: p}"), 4, 19, "Do you mean 'agent'"),
    ("unknown dep", steps("  - {id: abc, kind: wait, for: 1s}\n  - {id: b, kind: wait, for: 1s, deps: [abd]}"), 5, 41, "Do you mean 'abc'"),
    ("own dep", steps("  - {id: a, kind: wait, for: 1s, deps: [a]}"), 4, 41, "depends on itself"),
    ("circle", steps("  - {id: a, kind: wait, for: 1s, deps: [b]}\n  - {id: b, kind: wait, for: 1s, deps: [a]}"), 4, 40, "a -> b -> a"),
    ("id twice", steps("  - {id: a, kind: wait, for: 1s}\n  - {id: a, kind: wait, for: 1s}"), 5, 10, "already, on line 4"),
    ("unknown batch", steps("  - {id: a, kind: wait, for: 1s, batch: b}"), 4, 41, "no batch 'b'"),
    ("switch target unknown", steps("  - {id: a, kind: switch, default: [b]}"), 4, 37, "no step 'b'"),
    ("switch target does not follow", steps("  - {id: a, kind: switch, default: [b]}\n  - {id: b, kind: wait, for: 1s}"), 4, 37, "in its deps"),
    ("case twice", steps("  - {id: a, kind: switch, cases: [{label: x, when: 'true', steps: []}, {label: x, when: 'true', steps: []}]}"), 4, 72, "already"),
    ("rule", steps("  - {id: a, kind: wait, for: 1s, trigger_rule: all_sucess}"), 4, 48, "Do you mean 'all_success'"),
    ("duration", steps("  - {id: a, kind: wait, for: soon}"), 4, 30, "written like"),
    ("time without zone", steps("  - {id: a, kind: wait, until: '2030-01-01T00:00:00'}"), 4, 32, "needs its zone"),
    ("wait for and until", steps("  - {id: a, kind: wait, for: 1s, until: '2030-01-01T00:00:00Z'}"), 4, 5, "one of both"),
    ("retries", steps("  - {id: a, kind: wait, for: 1s, retries: 1000}"), 4, 43, "from 0 to 20"),
    ("schema", steps("  - {id: a, kind: agent, prompt: p, schema: {type: nonsense}}"), 4, 45, "JSON Schema"),
    ("code twice", steps("  - {id: a, kind: code, python: return 1, javascript: return 1}"), 4, 5, "one of both"),
    ("expression does not parse", steps("  - {id: a, kind: wait, for: 1s, when: 'args.x =='}"), 4, 40, "does not parse"),
    ("expression with a statement", steps("  - {id: a, kind: wait, for: 1s, when: '1) }}{% for x in args %}{% endfor %}{{ (1'}"), 4, 40, "one expression"),
    ("expression that loops", steps("  - {id: a, kind: agent, prompt: '{% for x in range(9) %}x{% endfor %}'}"), 4, 34, "statements"),
    ("range", steps("  - {id: a, kind: agent, prompt: '{{ range(9) }}'}"), 4, 34, "no 'range' here"),
    ("attribute", steps("  - {id: a, kind: agent, prompt: '{{ args.__class__ }}'}"), 4, 34, "cannot be used"),
    ("the line of a block", steps("  - id: a\n    kind: agent\n    prompt: |\n      one\n      {{ two\n"), 8, 1, "does not parse"),
    ("power", steps("  - {id: a, kind: wait, for: 1s, when: '9 ** 9 ** 9'}"), 4, 40, "powers"),
    ("import", steps("  - {id: a, kind: agent, prompt: '{% import \"x\" as y %}'}"), 4, 34, "statements"),
    ("join circle", "name: n\ndescription: d\nbatches: {b: {join: all_done}}\nsteps:\n  - {id: a, kind: wait, for: 1s, batch: b}\n  - {id: o, kind: wait, for: 1s, deps: [a]}\n  - {id: c, kind: wait, for: 1s, batch: b, deps: [o]}", 7, 5, "which has a join"),
]  # fmt: skip


@pytest.mark.parametrize("text, line, column, says", [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_bad_flows_are_refused_with_line_and_column(text: str, line: int, column: int, says: str) -> None:
    with pytest.raises(BadFlow) as refused:
        read_flow(text)
    error = refused.value
    assert says in error.text
    assert (error.line, error.column) == (line, column), error.text


@pytest.mark.parametrize(
    "text, seconds",
    [("30s", 30), ("20m", 1200), ("1h30m", 5400), ("2d", 172_800), (90, 90), ("0.5s", 0.5)],
)
def test_durations(text: object, seconds: float) -> None:
    assert seconds_of(text) == seconds
    assert seconds_of(shown(seconds)) == seconds


@pytest.mark.parametrize("text", ["", "m", "1w", "-5s", "1e9s", None, True, "999999d"])
def test_what_is_no_duration(text: object) -> None:
    with pytest.raises(ValueError, match="duration"):
        seconds_of(text)


def test_moments_have_a_zone() -> None:
    assert moment_of("2030-01-01T02:00:00+02:00").isoformat() == "2030-01-01T00:00:00+00:00"
