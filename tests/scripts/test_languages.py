# ruff: noqa: E501 - a script on one line is easier to compare than one that is broken up
"""What only one of the languages has: modules and races in Python, names and lines of errors in JavaScript."""

import pytest

from holdfast.core.errors import BadScript
from holdfast.core.runs import Language
from holdfast.core.shapes import Json
from holdfast.scripts.engines.limits import ScriptLimits
from holdfast.scripts.engines.messages import AgentCall, Call, CallError, PauseCall
from holdfast.scripts.source import read_script
from tests.scripts.host import META, echo, last, run_script

pytestmark = pytest.mark.heavy


def broken(call: Call) -> Json | CallError:
    if isinstance(call, AgentCall) and call.prompt == "bad":
        return CallError(kind="failed", message="it broke")
    return echo(call)


@pytest.mark.parametrize(
    "body, value",
    [
        ("import asyncio\nreturn await asyncio.wait_for(agent('x'), 5)", "<x>"),
        ("from asyncio import wait_for as soon\nreturn await soon(agent('x'), None)", "<x>"),
        (
            (
                "found = await asyncio.gather(agent('a'), agent('bad'), return_exceptions=True)\n"
                "return [found[0], str(found[1])]"
            ),
            ["<a>", "it broke"],
        ),
        (
            (
                "from collections import Counter\nimport itertools, functools\n"
                "return [Counter('aab').most_common(1), list(itertools.chain([1], [2])), "
                "functools.reduce(lambda a, b: a + b, [1, 2])]"
            ),
            [[["a", 2]], [1, 2], 3],
        ),
        ("import re\nreturn re.sub('a', lambda m: m.group(0).upper(), 'banana', count=2)", "bAnAna"),
        ("import re as r\nreturn r.compile('a').sub('x', 'banana')", "bxnxnx"),
        (
            "d = {'a': 2, 'b': 1}\nreturn [min(d, key=d.get), sorted(['B', 'a'], key=str.lower)]",
            ["b", ["a", "B"]],
        ),
        ("return list(map(str.strip, [' a ', 'b ']))", ["a", "b"]),
        (
            "from textwrap import dedent, shorten\nreturn [dedent('  a\\n   b'), shorten('a b c d', 7, placeholder='.')]",
            ["a\n b", "a b c d"],
        ),
        (
            "import statistics, string\nreturn [statistics.mean([1, 2]), statistics.median([3, 1, 2]), string.digits[:3]]",
            [1.5, 2, "012"],
        ),
        ("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int = 1\nreturn P(2).x", 2),
        ("from __future__ import annotations\nfrom typing import Any\nx: Any = 1\nreturn x", 1),
        (
            (
                "class Own(ValueError):\n    def __init__(self, a, b):\n        super().__init__(a, b)\n        self.b = b\n"
                "try:\n    raise Own(1, 2)\nexcept ValueError as e:\n    return [type(e).__name__, e.args, e.b]"
            ),
            ["Own", [1, 2], 2],
        ),
        (
            "from enum import Enum\nclass Colour(Enum):\n    RED = 'red'\nreturn {'colour': Colour.RED, 'name': Colour('red').name}",
            {"colour": "red", "name": "RED"},
        ),
        ("def evens():\n    yield from (n for n in range(5) if n % 2 == 0)\nreturn list(evens())", [0, 2, 4]),
        ("d = {'a': 1, 'b': 2}\ndel d['a']\nreturn d", {"b": 2}),
        (
            "import random\nreturn random.Random(5).randint(0, 10**6) == random.Random(5).randint(0, 10**6)",
            True,
        ),
        (
            "from datetime import date, timedelta\nreturn str(date(2026, 1, 1) + timedelta(days=31))",
            "2026-02-01",
        ),
        (
            "async with asyncio.TaskGroup() as g:\n    one = g.create_task(agent('x'))\nreturn one.result()",
            "<x>",
        ),
        ("def f(n):\n    return 0 if n == 0 else 1 + f(n - 1)\nreturn f(10_000)", 10_000),
        (
            "found = {}\nfor n in [1, 2]:\n    found[n] = lambda: n\nreturn [f() for f in found.values()]",
            [2, 2],
        ),
    ],
)
async def test_python_has_modules_and_races(body: str, value: Json) -> None:
    assert (await run_script("python", body, answers=broken)).value == value


async def test_python_can_time_out() -> None:
    body = (
        "import asyncio\ntry:\n    await asyncio.wait_for(agent('slow'), 5)\n"
        "except asyncio.TimeoutError:\n    return 'late'"
    )
    ran = await run_script("python", body, choose=lambda calls: max(calls, key=lambda call: call.number))
    assert ran.value == "late"
    assert [pause.seconds for pause in ran.pauses] == [5]


async def test_python_takes_what_is_ready_first() -> None:
    body = (
        "found = []\nfor one in asyncio.as_completed([agent('a'), agent('b'), agent('c')]):\n"
        "    found.append(await one)\nreturn found"
    )
    assert (await run_script("python", body, choose=last)).value == ["<c>", "<b>", "<a>"]


def test_a_docstring_may_stand_before_meta() -> None:
    assert read_script('"""What it does."""\n' + META["python"] + "return 1", "python").meta.name == "test"


@pytest.mark.parametrize(
    "body, told",
    [
        ("import sqlite3", "Line 2: sqlite3 cannot be imported: a script can import abc, asyncio"),
        ("import logging", "Line 2: logging cannot be imported: use log"),
        ("import random\nx = random.choice([1])", "Line 3: random numbers are not available"),
        ("import os", "a script has no files"),
        ("from . import x", "cannot be imported"),
        ("from re import *", "import \\* is not available"),
        ("import os.path", "cannot be imported"),
        ("def f():\n    await agent('x')", "Line 3: this is not Python: 'await' outside async function"),
        ("x = 1\nbreak", "Line 3: this is not Python: 'break' outside loop"),
        ("def f(a, a): pass", "Line 2: this is not Python: duplicate argument"),
    ],
)
def test_what_python_lacks_is_told_before_a_run(body: str, told: str) -> None:
    with pytest.raises(BadScript, match=told):
        read_script(META["python"] + body, "python")


@pytest.mark.parametrize(
    "language, body, told",
    [
        ("python", "return await pipeline([1], lambda: 1)", "stage 1 of pipeline.. takes 0"),
        ("python", "def f(a, b, c, d): pass\nreturn await pipeline([1], f)", "takes 4"),
        ("javascript", "const q = {}\nq.foo(1)", "q.foo is not a function"),
        ("javascript", "let x = 3\nx()", "x is not a function"),
        ("javascript", "throw null", "null was thrown"),
        ("javascript", "const a = 1\na = 2", "'a' is read-only"),
        ("javascript", "let b\nb.x", "cannot read property 'x' of undefined"),
    ],
)
async def test_errors_name_what_is_wrong_and_the_line(language: Language, body: str, told: str) -> None:
    failure = (await run_script(language, body)).failure
    assert failure.line == body.count("\n") + 2
    with pytest.raises(AssertionError, match=told):
        raise AssertionError(failure.message)


@pytest.mark.parametrize(
    "language, body",
    [
        ("javascript", "let n = 0\n\nwhile (true) {\n  n++\n}"),
        ("javascript", "\n\nfor (;;) ;"),
        ("javascript", "\n\ndo ; while (true)"),
        ("python", "n = 0\n\nwhile True:\n    n += 1"),
        ("python", "for one in range(3):\n    await agent('x')\n    while True:\n        pass"),
        ("python", "def f():\n    n = 0\n    while n >= 0:\n        n += 1\nf()"),
    ],
)
async def test_a_loop_without_an_end_is_named(language: Language, body: str) -> None:
    failure = (await run_script(language, body, limits=ScriptLimits(cpu_seconds=0.5))).failure
    assert (failure.kind, failure.line) == ("time", 4)


async def test_names_of_other_module_systems_are_the_scripts_own() -> None:
    body = "const require = x => x, module = {exports: 1}; let exports = {}; exports.x = 2; return [require(1), module.exports, exports.x]"
    assert (await run_script("javascript", body)).value == [1, 1, 2]


async def test_a_list_of_prompts_can_be_mapped_to_agents() -> None:
    ran = await run_script("javascript", "return await Promise.all(['a', 'b'].map(agent))")
    assert ran.value == ["<a>", "<b>"]
    assert len(ran.warnings) == 2


async def test_intervals_fire_until_they_are_cleared() -> None:
    body = (
        "const out = []\nconst t = setInterval(() => { out.push(1); if (out.length === 3) clearInterval(t) }, 10)\n"
        "await new Promise(r => setTimeout(r, 1000))\nreturn out"
    )
    ran = await run_script("javascript", body, choose=lambda calls: min(calls, key=_seconds))
    assert ran.value == [1, 1, 1]


def _seconds(call: Call) -> float:
    return call.seconds if isinstance(call, PauseCall) else 0


async def test_the_console_groups_and_counts() -> None:
    body = "console.group('g'); console.log('in'); console.groupEnd(); console.count(); console.assert(false, 'no'); console.time()"
    assert (await run_script("javascript", body)).log == ["g", "  in", "default: 1", "Assertion failed: no"]
