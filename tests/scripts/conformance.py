# ruff: noqa: E501 - a script on one line is easier to compare than one that is broken up
"""What the words of a workflow script mean, as numbered rules. Each is one test, and each holds in JavaScript
and in Python alike: the rule, a script in both languages, and what must come of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from holdfast.core.runs import Language
from holdfast.core.shapes import Json
from holdfast.scripts.engines.messages import AgentCall, Call, CallError, PhaseBegun, ScriptLog
from holdfast.scripts.engines.options import MAX_TEXT
from tests.scripts.host import QUICK, Ran, echo, last


@dataclass(frozen=True)
class Rule:
    number: int
    text: str
    javascript: str
    python: str
    holds: Callable[[Ran], object]
    # Further arguments of `run_script`.
    how: dict[str, Any]

    def body(self, language: Language) -> str:
        return self.javascript if language == "javascript" else self.python


RULES: list[Rule] = []


def rule(text: str, javascript: str, python: str, holds: Callable[[Ran], object], /, **how: Any) -> None:
    RULES.append(Rule(len(RULES) + 1, text, javascript, python, holds, how))


def gives(value: Json) -> Callable[[Ran], object]:
    return lambda ran: _same(ran.value, value)


def fails(*words: str, line: int | None = None, kind: str | None = None) -> Callable[[Ran], object]:
    def holds(ran: Ran) -> None:
        for word in words:
            assert word in ran.failure.message
        if line is not None:
            assert ran.failure.line == line
        if kind is not None:
            assert ran.failure.kind == kind

    return holds


def _same(found: Json, wanted: Json) -> None:
    assert found == wanted


def every(*checks: Callable[[Ran], object]) -> Callable[[Ran], object]:
    def holds(ran: Ran) -> None:
        for check in checks:
            check(ran)

    return holds


def check(test: Callable[[Ran], bool]) -> Callable[[Ran], object]:
    def holds(ran: Ran) -> None:
        assert test(ran), ran

    return holds


def warns(*words: str) -> Callable[[Ran], object]:
    return check(lambda ran: all(any(word in text for text in ran.warnings) for word in words))


def failing(*prompts: str, kind: Any = "failed") -> Callable[[Call], Json | CallError]:
    """Agents with these prompts throw, others echo."""

    def answers(call: Call) -> Json | CallError:
        if isinstance(call, AgentCall) and call.prompt in prompts:
            return CallError(kind=kind, message="no valid answer")
        return echo(call)

    return answers


def nothing(*prompts: str) -> Callable[[Call], Json | CallError]:
    """Agents with these prompts end in a model error: null."""

    def answers(call: Call) -> Json | CallError:
        return None if isinstance(call, AgentCall) and call.prompt in prompts else echo(call)

    return answers


def seven(_: Call) -> Json | CallError:
    return {"n": 7}


# ---------------------------------------------------------------------------------------------- the script

rule("What the script returns is the result", "return 1 + 1", "return 1 + 1", gives(2))
rule("A script that returns nothing has the result null", "log('x')", "log('x')", gives(None))
rule(
    "Any JSON can be returned",
    "return {a: [1, 2.5, true, null, 'é'], b: {}}",
    "return {'a': [1, 2.5, True, None, 'é'], 'b': {}}",
    gives({"a": [1, 2.5, True, None, "é"], "b": {}}),
)
rule(
    "await stands at the top",
    "const a = await agent('one'); return a",
    "a = await agent('one')\nreturn a",
    gives("<one>"),
)
rule(
    "A throw at the top fails the run with the script's line",
    "\nconst x = 1\nthrow new Error('broken on purpose')",
    "\nx = 1\nraise ValueError('broken on purpose')",
    fails("broken on purpose", line=4, kind="thrown"),
)
rule(
    "A throw inside a function names the line inside it",
    "function f() {\n  throw new Error('deep')\n}\nf()",
    "def f():\n    raise ValueError('deep')\n\nf()",
    fails("deep", line=3),
)
rule(
    "A throw after an await names its line",
    "await agent('x')\n\nthrow new Error('later')",
    "await agent('x')\n\nraise ValueError('later')",
    fails("later", line=4),
)
rule(
    "meta is a value in the script",
    "return meta.name",
    "return meta['name']",
    gives("test"),
)
rule(
    "A call of something unknown fails with its name and line",
    "\nnonsense(1)",
    "\nnonsense(1)",
    fails("nonsense", line=3),
)

# ---------------------------------------------------------------------------------------------- args

rule("args are what was given", "return args", "return args", gives({"a": [1]}), args={"a": [1]})
rule(
    "args are verbatim, not an object made of them", "return args", "return args", gives("text"), args="text"
)
rule(
    "args are undefined or None when not given",
    "return args === undefined",
    "return args is None",
    gives(True),
)

rule(
    "A word may be given another meaning that is made of its own",
    "args = args ?? {n: 1}; log(args.n); return args",
    "args = args or {'n': 1}\nlog(args['n'])\nfor log in [2]:\n    pass\nreturn args",
    every(gives({"n": 1}), check(lambda ran: ran.log == ["1"])),
)
rule(
    "A function may give args another meaning for all of the script",
    "const before = args; const more = () => { args = args + 1 }; more(); return [before, args]",
    "before = args\ndef more():\n    global args\n    args = args + 1\nmore()\nreturn [before, args]",
    gives([4, 5]),
    args=4,
)

# ---------------------------------------------------------------------------------------------- agent

rule(
    "agent() resolves to the final text",
    "return await agent('hi')",
    "return await agent('hi')",
    gives("<hi>"),
)
rule(
    "agent() resolves to null after a model error",
    "return [await agent('gone'), await agent('there')]",
    "return [await agent('gone'), await agent('there')]",
    gives([None, "<there>"]),
    answers=nothing("gone"),
)
rule(
    "agent() with a schema resolves to the object",
    "const a = await agent('x', {schema: {type: 'object'}}); return a.n + 1",
    "a = await agent('x', schema={'type': 'object'})\nreturn a['n'] + 1",
    every(gives(8), check(lambda ran: ran.agents[0].options.schema == {"type": "object"})),
    answers=seven,
)
rule(
    "agent() throws when the answer never fits the schema, and the line is the call's",
    "\nawait agent('bad', {schema: {type: 'object'}})",
    "\nawait agent('bad', schema={'type': 'object'})",
    fails("no valid answer", line=3),
    answers=failing("bad"),
)
rule(
    "What agent() throws can be caught",
    "try { await agent('bad') } catch (e) { return `caught ${e.message}` }",
    "try:\n    await agent('bad')\nexcept Exception as e:\n    return f'caught {e}'",
    gives("caught no valid answer"),
    answers=failing("bad"),
)
rule(
    "Calls are numbered in the order the script makes them",
    "await Promise.all([agent('a'), agent('b')]); await agent('c')",
    "a = agent('a')\nb = agent('b')\nawait b\nawait a\nawait agent('c')",
    check(lambda ran: [(call.number, call.prompt) for call in ran.agents] == [(1, "a"), (2, "b"), (3, "c")]),
    choose=last,
)
rule(
    "An agent starts when it is called, not when it is awaited",
    "const a = agent('a'); const b = await agent('b'); return [await a, b]",
    "a = agent('a')\nb = await agent('b')\nreturn [await a, b]",
    every(gives(["<a>", "<b>"]), check(lambda ran: len(ran.turns[0].said) == 2)),
)
rule(
    "All options arrive by our names",
    "await agent('x', {label: 'l', phase: 'p', model: 'm', effort: 'high', agent: 'a', tools: ['read_file'], "
    "max_steps: 3, max_tool_calls: 4, timeout: 60, budget: 500, isolation: 'worktree'})",
    "await agent('x', label='l', phase='p', model='m', effort='high', agent='a', tools=['read_file'], "
    "max_steps=3, max_tool_calls=4, timeout=60, budget=500, isolation='worktree')",
    check(
        lambda ran: (
            (
                (o := ran.agents[0].options).label,
                o.phase,
                o.model,
                o.effort,
                o.agent,
                o.tools,
                o.max_steps,
                o.max_tool_calls,
                o.timeout,
                o.budget,
                o.isolation,
            )
            == ("l", "p", "m", "high", "a", ("read_file",), 3, 4, 60.0, 500, "worktree")
        )
    ),
)
rule(
    "agentType, capabilities and max_tool_iters are other names of agent, tools and max_steps",
    "await agent('x', {agentType: 'a', capabilities: ['t'], max_tool_iters: 2})",
    "await agent('x', agentType='a', capabilities=['t'], max_tool_iters=2)",
    check(
        lambda ran: (
            (ran.agents[0].options.agent, ran.agents[0].options.tools, ran.agents[0].options.max_steps)
            == ("a", ("t",), 2)
        )
    ),
)
rule(
    "An option that is null was not given",
    "await agent('x', {label: null, model: undefined})",
    "await agent('x', label=None)",
    check(lambda ran: ran.agents[0].options.label is None),
)
rule(
    "Options can be given as one object",
    "return await agent('x', {label: 'l'})",
    "return await agent('x', {'label': 'l'})",
    check(lambda ran: ran.agents[0].options.label == "l"),
)
rule(
    "A label or phase is cut when it is too long, and none when it is empty: neither refuses a call",
    "await agent('x', {label: 'l'.repeat(9000), phase: ''})",
    "await agent('x', label='l' * 9000, phase='')",
    check(lambda ran: (ran.agents[0].options.label, ran.agents[0].options.phase) == ("l" * MAX_TEXT, None)),
)
rule(
    "An option that cannot be meant is refused with the option's name",
    "await agent('x', {max_steps: 'many'})",
    "await agent('x', max_steps='many')",
    fails("max_steps", line=2),
)
rule(
    "isolation can only be a worktree",
    "await agent('x', {isolation: 'docker'})",
    "await agent('x', isolation='docker')",
    fails("worktree"),
)
rule(
    "A prompt is turned into text",
    "return [await agent(42), await agent(['a', 'b']), await agent({a: 1})]",
    "return [await agent(42), await agent(True), await agent({'a': 1})]",
    check(
        lambda ran: len(ran.agents) == 3 and ran.agents[0].prompt == "42" and '"a"' in ran.agents[2].prompt
    ),
)
rule("A prompt must not be empty", "await agent('  ')", "await agent('  ')", fails("prompt"))
rule(
    "A refused call takes no number",
    "try { await agent('') } catch {} await agent('x')",
    "try:\n    await agent('')\nexcept Exception:\n    pass\nawait agent('x')",
    check(lambda ran: [call.number for call in ran.agents] == [1]),
)
rule(
    "Agents that nobody awaits are still open at the end",
    "agent('lonely', {label: 'l'}); return 1",
    "agent('lonely', label='l')\nreturn 1",
    every(gives(1), check(lambda ran: [call.number for call in ran.unanswered] == [1])),
)
rule(
    "A run may start only so many agents",
    "for (let i = 0; i < 10; i++) await agent(`${i}`)",
    "for i in range(10):\n    await agent(str(i))",
    every(fails("at most 3 agents"), check(lambda ran: len(ran.agents) == 3)),
    limits=structs.replace(QUICK, agents=3),
)

# ---------------------------------------------------------------------------------------------- parallel

rule(
    "parallel() waits for all and keeps the order",
    "return await parallel(['a', 'b', 'c'].map(x => () => agent(x)))",
    "return await parallel([lambda x=x: agent(x) for x in ['a', 'b', 'c']])",
    gives(["<a>", "<b>", "<c>"]),
    choose=last,
)
rule(
    "parallel() starts all before it waits for one",
    "await parallel(['a', 'b', 'c'].map(x => () => agent(x)))",
    "await parallel([lambda x=x: agent(x) for x in ['a', 'b', 'c']])",
    check(lambda ran: len(ran.turns[0].said) == 3),
)
rule(
    "One that throws becomes null, with a line in the log",
    "return await parallel([() => agent('a'), () => agent('bad'), () => { throw new Error('own') }])",
    "def own():\n    raise ValueError('own')\n"
    "return await parallel([lambda: agent('a'), lambda: agent('bad'), own])",
    every(
        gives(["<a>", None, None]),
        check(
            lambda ran: (
                len(ran.log) == 2 and "no valid answer" in "".join(ran.log) and "own" in "".join(ran.log)
            )
        ),
    ),
    answers=failing("bad"),
)
rule(
    "parallel() takes functions that return plain values",
    "return await parallel([() => 1, () => 'x', async () => 2])",
    "async def two():\n    return 2\nreturn await parallel([lambda: 1, lambda: 'x', two])",
    gives([1, "x", 2]),
)
rule(
    "parallel() refuses calls that already run",
    "await parallel([agent('a')])",
    "await parallel([agent('a')])",
    fails("functions", line=2),
)
rule(
    "parallel() refuses what is not a function",
    "await parallel(['a'])",
    "await parallel(['a'])",
    fails("functions"),
)
rule(
    "parallel() refuses what is not a list",
    "await parallel(() => agent('a'))",
    "await parallel(lambda: agent('a'))",
    fails("list"),
)
rule(
    "parallel() of nothing is an empty list",
    "return await parallel([])",
    "return await parallel([])",
    gives([]),
)
rule(
    "parallel() takes at most 4096 functions",
    "await parallel(Array.from({length: 4097}, () => () => 1))",
    "await parallel([lambda: 1 for _ in range(4097)])",
    fails("4096"),
)
rule(
    "parallel() takes 4096 functions",
    "return (await parallel(Array.from({length: 4096}, (_, i) => () => i))).length",
    "return len(await parallel([lambda i=i: i for i in range(4096)]))",
    gives(4096),
)
rule(
    "parallel() inside parallel() works, and a call knows its branch",
    "return await parallel([0, 1].map(i => () => parallel([0, 1].map(j => () => agent(`${i}${j}`)))))",
    "return await parallel([lambda i=i: parallel([lambda j=j: agent(f'{i}{j}') for j in [0, 1]]) for i in [0, 1]])",
    every(
        gives([["<00>", "<01>"], ["<10>", "<11>"]]),
        check(lambda ran: len({call.branch for call in ran.agents}) == 4),
    ),
)

# ---------------------------------------------------------------------------------------------- pipeline

rule(
    "pipeline() hands each item from stage to stage and keeps the order",
    "return await pipeline(['a', 'b'], x => agent(x), x => agent(x + '!'))",
    "return await pipeline(['a', 'b'], lambda x, i, n: agent(x), lambda x, i, n: agent(x + '!'))",
    gives(["<<a>!>", "<<b>!>"]),
    choose=last,
)
rule(
    "A stage gets the previous value, the item and its index",
    "return await pipeline(['a', 'b'], (p, item, i) => p + item + i, (p, item, i) => [p, item, i])",
    "return await pipeline(['a', 'b'], lambda p, item, i: p + item + str(i), lambda p, item, i: [p, item, i])",
    gives([["aa0", "a", 0], ["bb1", "b", 1]]),
)
rule(
    "pipeline() has no barrier: an item goes on while another waits",
    "await pipeline(['a', 'b'], x => agent(x), x => agent(x + '!'))",
    "await pipeline(['a', 'b'], lambda x, i, n: agent(x), lambda x, i, n: agent(x + '!'))",
    check(lambda ran: ran.prompts == ["a", "b", "<a>!", "<b>!"] and len(ran.turns[1].said) == 1),
)
rule(
    "A stage that throws drops its item to null and skips the rest of it",
    "return await pipeline(['a', 'bad'], x => agent(x), x => agent(x + '!'))",
    "return await pipeline(['a', 'bad'], lambda x, i, n: agent(x), lambda x, i, n: agent(x + '!'))",
    every(gives(["<<a>!>", None]), check(lambda ran: len(ran.agents) == 3 and len(ran.log) == 1)),
    answers=failing("bad"),
)
rule(
    "null drops an item to null and skips the rest of it",
    "return await pipeline(['a', 'gone'], x => agent(x), x => agent(x + '!'))",
    "return await pipeline(['a', 'gone'], lambda x, i, n: agent(x), lambda x, i, n: agent(x + '!'))",
    every(gives(["<<a>!>", None]), check(lambda ran: len(ran.agents) == 3)),
    answers=nothing("gone"),
)
rule(
    "Stages may be asynchronous functions",
    "return await pipeline([1], async x => { const a = await agent('q'); return a + x })",
    "async def stage(x, item, index):\n    a = await agent('q')\n    return a + str(x)\nreturn await pipeline([1], stage)",
    gives(["<q>1"]),
)
rule(
    "pipeline() without stages gives the items",
    "return await pipeline([1, 2])",
    "return await pipeline([1, 2])",
    gives([1, 2]),
)
rule(
    "pipeline() takes at most 4096 items",
    "await pipeline(Array.from({length: 4097}, () => 1), x => x)",
    "await pipeline([1] * 4097, lambda x, i, n: x)",
    fails("4096"),
)
rule(
    "pipeline() refuses a stage that is not a function",
    "await pipeline([1], 'stage')",
    "await pipeline([1], 'stage')",
    fails("functions"),
)

# ---------------------------------------------------------------------------------------------- phase, log

rule(
    "phase() is said, and calls made then belong to it",
    "await agent('a'); phase('Two'); await agent('b')",
    "await agent('a')\nphase('Two')\nawait agent('b')",
    check(lambda ran: ran.phases == ["Two"] and [call.phase for call in ran.agents] == [None, "Two"]),
)
rule("phase() needs a title", "phase('')", "phase('')", fails("title"))
rule(
    "log() writes to the log",
    "log('one'); log('two')",
    "log('one')\nlog('two')",
    check(lambda ran: ran.log == ["one", "two"]),
)
rule(
    "console and print write to the log",
    "console.log('a', 1); console.error('b')",
    "print('a', 1)\nprint('b')",
    check(lambda ran: ran.log == ["a 1", "b"]),
)
rule(
    "What is said keeps its order",
    "log('1'); phase('P'); await agent('a'); log('2')",
    "log('1')\nphase('P')\nawait agent('a')\nlog('2')",
    check(lambda ran: [type(said) for said in ran.said] == [ScriptLog, PhaseBegun, AgentCall, ScriptLog]),
)
rule(
    "The log has a bound, and says so once",
    "for (let i = 0; i < 5000; i++) log('x')",
    "for i in range(5000):\n    log('x')",
    check(lambda ran: len(ran.log) == 50 and len(ran.warnings) == 1),
    limits=structs.replace(QUICK, log_lines=50),
)
rule(
    "Phases have a bound, and it is said once",
    "for (let i = 0; i < 5000; i++) phase(`p${i}`)",
    "for i in range(5000):\n    phase(f'p{i}')",
    check(lambda ran: len(ran.said) == 51 and len(ran.warnings) == 1),
    limits=structs.replace(QUICK, phases=50),
)

# ---------------------------------------------------------------------------------------------- budget

rule(
    "budget.total is the budget, or nothing",
    "return [budget.total, budget.remaining() === Infinity]",
    "return [budget.total, budget.remaining() == math.inf]",
    gives([None, True]),
)
rule(
    "budget.spent() and remaining() move with the answers",
    "const before = budget.spent(); await agent('a'); return [before, budget.spent(), budget.remaining(), budget.total]",
    "before = budget.spent()\nawait agent('a')\nreturn [before, budget.spent(), budget.remaining(), budget.total]",
    gives([0, 10, 90, 100]),
    budget=100,
)
rule(
    "Once the budget is spent, agent() throws a budget error",
    "await agent('a'); await agent('b'); await agent('c')",
    "await agent('a')\nawait agent('b')\nawait agent('c')",
    every(fails("budget", kind="budget"), check(lambda ran: len(ran.agents) == 2)),
    budget=20,
)
rule(
    "parallel() does not swallow a budget error",
    "await agent('a'); await parallel([() => agent('b'), () => agent('c')])",
    "await agent('a')\nawait parallel([lambda: agent('b'), lambda: agent('c')])",
    fails("budget", kind="budget"),
    budget=10,
)
rule(
    "pipeline() does not swallow a budget error",
    "await pipeline(['a'], x => agent(x), x => agent(x))",
    "await pipeline(['a'], lambda x, i, n: agent(x), lambda x, i, n: agent(x))",
    fails("budget", kind="budget"),
    budget=10,
)
rule(
    "A script that catches a budget error is refused every later call",
    "let n = 0; for (let i = 0; i < 5; i++) { try { await agent(`${i}`) } catch { n++ } } return n",
    "n = 0\nfor i in range(5):\n    try:\n        await agent(str(i))\n    except Exception:\n        n += 1\nreturn n",
    every(gives(4), check(lambda ran: len(ran.agents) == 1)),
    budget=10,
)
rule(
    "A budget error from the server counts as one, too",
    "let n = 0; for (let i = 0; i < 3; i++) { try { await agent('a') } catch { n++ } } return n",
    "n = 0\nfor i in range(3):\n    try:\n        await agent('a')\n    except Exception:\n        n += 1\nreturn n",
    every(gives(3), check(lambda ran: len(ran.agents) == 1)),
    answers=failing("a", kind="budget"),
)
rule(
    "A loop over the budget ends by itself",
    "let n = 0; while (budget.remaining() > 0) { await agent(`${n++}`) } return n",
    "n = 0\nwhile budget.remaining() > 0:\n    await agent(str(n))\n    n += 1\nreturn n",
    gives(5),
    budget=50,
)

# ---------------------------------------------------------------------------------------------- workflow

rule(
    "workflow() runs another by name, with arguments",
    "return await workflow('other', {a: 1})",
    "return await workflow('other', {'a': 1})",
    gives({"ran": "other", "args": {"a": 1}}),
)
rule(
    "workflow() runs another by path",
    "return await workflow({scriptPath: 'x/y.js'})",
    "return await workflow({'scriptPath': 'x/y.js'})",
    gives({"ran": "x/y.js", "args": None}),
)
rule("workflow() needs a name", "await workflow(3)", "await workflow(3)", fails("name"))
rule(
    "workflow() goes one level deep",
    "await workflow('other')",
    "await workflow('other')",
    fails("one level"),
    nested=True,
)

# ---------------------------------------------------------------------------------------------- results

rule(
    "Numbers of any size that JSON has are a result",
    "return [1e300, -1e21, 5e-324, args]",
    "return [1e300, -1e21, 5e-324, args]",
    gives([1e300, -1e21, 5e-324, 1e300]),
    args=1e300,
)
rule(
    "NaN in a result is null, and a warning says where it was",
    "return {a: [NaN, 1]}",
    "return {'a': [float('nan'), 1]}",
    every(gives({"a": [None, 1]}), warns("the result.a[0]")),
)
rule(
    "What contains itself is null in a result",
    "const a = {}; a.b = [a]; return a",
    "a = {}\na['b'] = [a]\nreturn a",
    every(gives({"b": [None]}), warns("contains itself")),
)
rule(
    "What is too deep is null in a result",
    "let a = []; for (let i = 0; i < 500; i++) a = [a]; return a",
    "a = []\nfor i in range(500):\n    a = [a]\nreturn a",
    warns("nested deeper"),
)
rule(
    "A result that is too large is refused",
    "return 'x'.repeat(5 * 1024 * 1024)",
    "return 'x' * (5 * 1024 * 1024)",
    fails("larger than", kind="result"),
)
rule(
    "A function in a result is null",
    "return [() => 1]",
    "return [lambda: 1]",
    every(gives([None]), warns("the result[0]")),
)
rule(
    "A call that was not awaited is told when it is in a result",
    "return [agent('a')]",
    "return [agent('a')]",
    warns("await"),
)
rule(
    "Options are made JSON",
    "await agent('x', {schema: {a: NaN}})",
    "await agent('x', schema={'a': float('nan')})",
    every(warns("options.schema.a"), check(lambda ran: ran.agents[0].options.schema == {"a": None})),
)
rule(
    "A date in a result is its text",
    "return new Date(0)",
    "from datetime import datetime\nreturn datetime(1970, 1, 1)",
    every(check(lambda ran: str(ran.value).startswith("1970-01-01T00:00:00")), warns("its text")),
)
rule(
    "Sets: {} as JSON has it, a list in Python",
    "return {s: new Set([1])}",
    "return {'s': {2, 1}, 'r': range(2), 'k': {'a': 1}.keys()}",
    check(lambda ran: ran.value in ({"s": {}}, {"s": [1, 2], "r": [0, 1], "k": ["a"]})),
)
rule(
    "A label, phase, isolation or schema that means nothing is ignored with a warning",
    "return await agent('x', {label: 5, phase: 3, isolation: 'none', schema: false})",
    "return await agent('x', label=5, phase=3, isolation='none', schema=False)",
    every(gives("<x>"), check(lambda ran: len(ran.warnings) == 4)),
)
rule(
    "A stage that gives nothing: undefined goes on, None drops the item",
    "return await pipeline([1], x => undefined, (x, item) => [x === undefined, item])",
    "return await pipeline([1], lambda x: None, lambda x, item: [True, item])",
    check(lambda ran: ran.value in ([[True, 1]], [None])),
)
rule(
    "A stage takes one, two or three arguments",
    "return await pipeline(['a'], x => x + 1, (x, item) => x + item, (x, item, index) => x + index)",
    "return await pipeline(['a'], lambda x: x + '1', lambda x, item: x + item, lambda x, item, index: f'{x}{index}')",
    gives(["a1a0"]),
)
rule(
    "Thrown things have their line, also of classes of their own or with odd values",
    "class Mine extends Error { constructor(m) { super(m) } }\n\nthrow new Mine('x')",
    "def deep(x):\n    return x\nraise ValueError(deep(3))",
    fails(line=4),
)
rule(
    "Deep recursion",
    "const f = n => n === 0 ? 0 : 1 + f(n - 1); return f(10000) > 0",
    "def f(n):\n    return 0 if n == 0 else 1 + f(n - 1)\nreturn f(900) > 0",
    gives(True),
)

# ---------------------------------------------------------------------------------------------- one way

rule(
    "A pause is a call like any other",
    "await new Promise(resolve => setTimeout(resolve, 1500)); return 'after'",
    "await asyncio.sleep(1.5)\nreturn 'after'",
    every(gives("after"), check(lambda ran: [pause.seconds for pause in ran.pauses] == [1.5])),
)
rule(
    "Answers are delivered one at a time, in the order they are given",
    "const order = []; await Promise.all(['a', 'b', 'c'].map(async x => { await agent(x); order.push(x) })); return order",
    "order = []\nasync def one(x):\n    await agent(x)\n    order.append(x)\n"
    "await asyncio.gather(*[one(x) for x in ['a', 'b', 'c']])\nreturn order",
    gives(["c", "b", "a"]),
    choose=last,
)
