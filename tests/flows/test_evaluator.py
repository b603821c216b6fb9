"""The evaluator process: what it evaluates, and what happens to texts that try more than that."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import uvloop

from holdfast.core.errors import BadFlow, NotFound
from holdfast.core.ids import UserId
from holdfast.flows.discovery import FlowLibrary
from holdfast.flows.evaluator import FlowEvaluator
from holdfast.flows.evaluator_messages import Asked, Evaluate, Value
from holdfast.scripts.reader import ScriptReader

pytestmark = pytest.mark.heavy

ME = UserId("u")


async def values(evaluator: FlowEvaluator, kind: str, *texts: str, **names: object) -> tuple[Value, ...]:
    asked = tuple(Asked(kind=kind, texts=(text,)) for text in texts)  # pyright: ignore[reportArgumentType]
    return await evaluator.evaluate(Evaluate(asked=asked, **names))  # pyright: ignore[reportArgumentType]


async def test_conditions_templates_choices_and_values(evaluator: FlowEvaluator) -> None:
    names: dict[str, Any] = {
        "args": {"size": "large"},
        "results": {"items": [1, 2], "plan": {"a": "x"}},
        "states": {"b": "skipped"},
    }
    found = await values(
        evaluator,
        "condition",
        "args.size == 'large'",
        "results.items | length > 2",
        "states.b == 'skipped'",
        **names,
    )
    assert [value.value for value in found] == [True, False, True]
    texts = ("{{ results.plan.a }}!", "{{ results.none | default('-') }}", "{{ results.items | tojson }}")
    assert [value.value for value in await values(evaluator, "template", *texts, **names)] == [
        "x!",
        "-",
        "[1, 2]",
    ]
    choice = Asked(kind="choice", texts=("false", "args.size", "results.never"))
    inner = Asked(kind="values", value={"all": "{{ results.items }}", "some": ["{{ args.size }}s", 7]})
    first, second = await evaluator.evaluate(
        Evaluate(asked=(choice, inner), args=names["args"], results=names["results"])
    )
    assert (first.value, second.value) == (1, {"all": [1, 2], "some": ["larges", 7]})


HOSTILE = [
    "''.__class__.__mro__",
    "args['__cla' ~ 'ss__']",
    "results.x",
    "args.pop('size')",
    "'{0.__class__}'.format(1)",
    "'%s' % args.update",
    "'a' * 99999999 * 99999999",
    "lipsum.__globals__",
    "cycler",
    "self",
    "1 / 0",
    "'x' | center(9999999999) | length > 0",
    "(args.many | join(',') | replace('1', args.many | join(','))) | length > 0",
]


async def test_hostile_expressions_have_no_value_and_hurt_nobody(evaluator: FlowEvaluator) -> None:
    args = {"size": "large", "many": [1] * 20_000}
    found = await values(evaluator, "condition", *HOSTILE, args=args)
    assert [text for text, value in zip(HOSTILE, found, strict=True) if value.error is None] == []
    (good,) = await values(evaluator, "condition", "args.size == 'large'", args=args)
    assert good.value is True


async def test_what_breaks_its_process_fails_alone(evaluator: FlowEvaluator) -> None:
    heavy = "args.many | sum(start='') | length"
    slow = (
        "args.many | map(attribute='x') | list | unique | length"
        + " + (args.many | unique | list | length)" * 500
    )
    many = [{"x": [place]} for place in range(3000)]
    good, bad, other = await values(
        evaluator, "condition", "true", slow, "args.many | length == 3000", args={"many": many}
    )
    assert (good.value, other.value) == (True, True)
    assert bad.error is not None
    (also_bad,) = await values(evaluator, "condition", heavy, args={"many": many})
    assert also_bad.error is not None


async def test_flows_are_found_and_the_nearest_wins(
    tmp_path: Path, evaluator: FlowEvaluator, reader: ScriptReader
) -> None:
    home = tmp_path / ".holdfast" / "flows"
    home.mkdir(parents=True)
    flow = "name: {}\ndescription: mine\nsteps: [{{id: a, kind: code, python: '{}'}}]"
    (home / "a.yaml").write_text(flow.format("review-and-fix", "return 1"))
    (home / "bad.yaml").write_text("name: [")
    (home / "code.yaml").write_text(flow.format("code", "import os"))
    (home / "link.yaml").symlink_to("/etc/passwd")
    (home / "latin.yaml").write_bytes(b"name: \xff")
    library = FlowLibrary(None, tmp_path, evaluator, reader)
    found = {file.path: file for file in await library.listed(None, ME)}
    assert found["~/.holdfast/flows/a.yaml"].hides_builtin
    assert found["review-and-fix.yaml"].hidden_by == "~/.holdfast/flows/a.yaml"
    assert (found["~/.holdfast/flows/bad.yaml"].line, found["~/.holdfast/flows/bad.yaml"].column) == (2, 1)
    assert "os cannot be imported" in (found["~/.holdfast/flows/code.yaml"].error or "")
    assert found["~/.holdfast/flows/code.yaml"].line == 3
    assert "symbolic link" in (found["~/.holdfast/flows/link.yaml"].error or "")
    assert "UTF-8" in (found["~/.holdfast/flows/latin.yaml"].error or "")
    assert (await library.find("review-and-fix", None, ME)).flow is not None
    with pytest.raises(BadFlow, match="not YAML"):
        await library.find("bad", None, ME)
    with pytest.raises(NotFound, match="triage-issues"):
        await library.find("triage-issue", None, ME)


async def test_the_catalogue_can_be_run(library: FlowLibrary) -> None:
    found = await library.listed(None, ME)
    assert [file.name for file in found] == [
        "research-report",
        "review-and-fix",
        "triage-issues",
        "upgrade-dependency",
    ]
    assert [file.error for file in found] == [None] * 4


def children() -> set[str]:
    """The processes that this one has started."""
    tasks = Path("/proc/self/task").iterdir()
    return {pid for task in tasks for pid in (task / "children").read_text().split()}


def test_a_process_that_ended_while_it_was_idle_is_replaced() -> None:
    """Under the event loop of the server: it raises another error than asyncio's own."""

    async def ask_kill_and_ask_again() -> None:
        before = children()
        evaluator = FlowEvaluator()
        try:
            await values(evaluator, "condition", "true")
            [idle] = children() - before
            os.kill(int(idle), signal.SIGKILL)
            while idle in children():  # noqa: ASYNC110 (the kernel says when it is gone, and only if asked)
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            [value] = await values(evaluator, "condition", "true")
            assert value.value is True
        finally:
            await evaluator.close()

    uvloop.run(ask_kill_and_ask_again())
