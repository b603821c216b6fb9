# ruff: noqa: E501 - a script on one line is easier to compare than one that is broken up
"""The sandbox as the server sees it: the same answers give the same turns, nothing outlives it, and what goes
wrong in it is a failure of the script alone."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec import structs

from holdfast.core.runs import Language
from holdfast.scripts.engines.limits import ScriptLimits
from holdfast.scripts.engines.messages import Call, CallAnswer, ScriptDone, ScriptFailed, ScriptWaiting
from holdfast.scripts.engines.sandbox import Sandbox, command_line
from holdfast.scripts.engines.wall import wall
from holdfast.scripts.source import read_script
from tests.scripts.host import META, QUICK, drive, run_script, start_of
from tests.scripts.test_hostile import gone

pytestmark = pytest.mark.heavy
LANGUAGES: tuple[Language, ...] = ("javascript", "python")

# Races, a pipeline, a budget loop and a pause: the order of answers decides what is asked next.
BUSY = {
    "javascript": """
const winner = await Promise.race(['a', 'b', 'c'].map(x => agent(`race ${x}`)))
const order = []
await parallel([1, 2, 3].map(n => async () => { order.push(await agent(`after ${winner}, ${n}`)) }))
await new Promise(resolve => setTimeout(resolve, 5))
const piped = await pipeline(order, x => agent(`one ${x}`), (x, item, i) => agent(`two ${i} ${x}`))
let rounds = 0
while (budget.remaining() > 30) { await agent(`round ${rounds++} ${budget.spent()}`); log(`spent ${budget.spent()}`) }
return {winner, order, piped, rounds}
""",
    "python": """
order = []
async def one(n):
    order.append(await agent(f'first {n}'))
    if len(order) == 1:
        order.append(await agent(f'winner {n}'))
await parallel([lambda n=n: one(n) for n in range(4)])
await asyncio.sleep(0.005)
piped = await pipeline(order, lambda x, i, n: agent(f'one {x}'), lambda x, i, n: agent(f'two {n} {x}'))
rounds = 0
while budget.remaining() > 30:
    await agent(f'round {rounds} {budget.spent()}')
    log(f'spent {budget.spent()}')
    rounds += 1
return {'order': order, 'piped': piped, 'rounds': rounds}
""",
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_the_same_answers_in_the_same_order_give_the_same_turns(language: Language, seed: int) -> None:
    dice = random.Random(seed)

    def choose(calls: Sequence[Call]) -> Call:
        return dice.choice(calls)

    start = start_of(read_script(META[language] + BUSY[language], language), budget=400)
    async with await Sandbox.open(language) as sandbox:
        ran = await drive(sandbox, start, choose=choose)
    assert isinstance(ran.stop, ScriptDone), ran.stop
    async with await Sandbox.open(language) as again:
        turns = [await again.start(start), *await again.answer_all(ran.answers)]
    assert turns == ran.turns


@pytest.mark.parametrize("language", LANGUAGES)
async def test_answers_known_in_advance_stop_where_the_script_ends(language: Language) -> None:
    start = start_of(read_script(META[language] + "await agent('a')\nreturn 1", language))
    async with await Sandbox.open(language) as sandbox:
        await sandbox.start(start)
        answers = [CallAnswer(call=number, spent=0) for number in (1, 2, 3)]
        (turn,) = await sandbox.answer_all(answers)
    assert turn.stop == ScriptDone(value=1)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_an_answer_to_a_call_that_was_not_made_is_a_contradiction(language: Language) -> None:
    start = start_of(read_script(META[language] + "await agent('a')", language))
    async with await Sandbox.open(language) as sandbox:
        await sandbox.start(start)
        turn = await sandbox.answer(CallAnswer(call=7, spent=0))
    assert isinstance(turn.stop, ScriptFailed)
    assert turn.stop.kind == "contradiction"


@pytest.mark.parametrize("language", LANGUAGES)
async def test_large_prompts_and_answers_pass(language: Language) -> None:
    large = "é" * 300_000
    body = {
        "javascript": "const a = await agent('é'.repeat(300000)); return a.length",
        "python": "a = await agent('é' * 300000)\nreturn len(a)",
    }[language]
    ran = await run_script(language, body, answers=lambda _: large)
    assert ran.prompts == [large]
    assert ran.value == 300_000


async def test_text_that_is_half_a_character_becomes_whole() -> None:
    ran = await run_script(
        "javascript", r"log('a\ud800b'); await agent('x\udfff'); return '\ud83d\ude00\ud800'"
    )
    assert ran.log == ["a\ufffdb"]
    assert ran.prompts == ["x\ufffd"]
    assert ran.value == "😀\ufffd"


# What a sandbox is


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_sandbox_has_no_environment_and_can_open_nothing(
    language: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_CANARY", "secret")
    start = start_of(read_script(META[language] + "await agent('a')", language))
    async with await Sandbox.open(language) as sandbox:
        turn = await sandbox.start(start)
        assert isinstance(turn.stop, ScriptWaiting), turn.stop
        for pid in family(sandbox.pid):
            assert b"HOLDFAST_CANARY" not in proc(pid, "environ")
            limits = proc(pid, "limits").decode()
            assert bounded(limits, "Max open files") == bounded(limits, "Max file size") == "0"
            assert bounded(limits, "Max data size") != "unlimited"
            assert bounded(limits, "Max core file size") == "0"


def family(group: int) -> list[int]:
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in pids if os.getpgid(pid) == group] if group else []


def proc(pid: int, name: str) -> bytes:
    return Path(f"/proc/{pid}/{name}").read_bytes()


def bounded(limits: str, name: str) -> str:
    line = next(line for line in limits.splitlines() if line.startswith(name))
    return line.removeprefix(name).split()[0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sandbox_loads_nothing_of_the_server(language: Language) -> None:
    """It starts quickly, and what is not there cannot be reached."""
    *interpreter, _, roots, _, _ = command_line(language)
    listing = (
        f"import sys; sys.path[:0] = {roots.split(':')!r}; import holdfast.scripts.engines.inside, "
        f"holdfast.scripts.engines.{language}; print(*sys.modules)"
    )
    done = subprocess.run([*interpreter, listing], env={}, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    ours = {name for name in loaded if name.startswith("holdfast")}
    assert {name for name in ours if not name.startswith("holdfast.scripts.engines")} == {
        "holdfast",
        "holdfast.scripts",
    }
    assert not loaded & {"msgspec", "tree_sitter", "litestar", "apsw", "asyncpg", "aiohttp"}


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_script_runs_behind_the_wall(language: Language) -> None:
    walled = wall(language)
    if not walled:
        pytest.skip("there is no bubblewrap here that may make namespaces")
    ran = await run_script(language, "return await agent('x')", wall=walled)
    assert ran.value == "<x>"
    ran = await run_script(
        language,
        {"javascript": "for (;;) {}", "python": "while True:\n    pass"}[language],
        wall=walled,
        limits=ScriptLimits(cpu_seconds=1),
    )
    assert ran.failure.kind == "time"


# How it ends


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_sandbox_that_was_never_started_ends(language: Language) -> None:
    async with await Sandbox.open(language) as sandbox:
        pass
    await gone(sandbox.pid)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_cancelling_kills_a_script_that_computes(language: Language) -> None:
    body = {"javascript": "for (;;) {}", "python": "while True:\n    pass"}[language]
    started = asyncio.Event()
    pids: list[int] = []

    async def run() -> None:
        async with await Sandbox.open(language) as sandbox:
            pids.append(sandbox.pid)
            started.set()
            await sandbox.start(start_of(read_script(META[language] + body, language), limits=QUICK))

    task = asyncio.create_task(run())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await gone(pids[0])


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_script_that_catches_everything_is_ended_all_the_same(language: Language) -> None:
    body = {
        "javascript": "for (;;) { try { await agent('x') } catch {} finally { await agent('y') } }",
        "python": "while True:\n    try:\n        await agent('x')\n    except BaseException:\n        await agent('y')",
    }[language]
    async with await Sandbox.open(language) as sandbox:
        turn = await sandbox.start(start_of(read_script(META[language] + body, language)))
        assert isinstance(turn.stop, ScriptWaiting)
    await gone(sandbox.pid)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_sandbox_that_dies_is_a_failure_of_its_script(language: Language) -> None:
    start = start_of(read_script(META[language] + "await agent('a')", language))
    async with await Sandbox.open(language) as sandbox:
        await sandbox.start(start)
        os.killpg(sandbox.pid, signal.SIGABRT)
        turn = await sandbox.answer(CallAnswer(call=1, spent=0))
    assert isinstance(turn.stop, ScriptFailed)
    assert turn.stop.kind == "crashed"


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_sandbox_ends_with_its_server(language: Language, tmp_path: Path) -> None:
    """Killed without a chance to say goodbye, while a script waits."""
    told = tmp_path / "pid"
    program = (
        "import asyncio\n"
        "from pathlib import Path\n"
        "from holdfast.scripts.engines.sandbox import Sandbox\n"
        "from holdfast.scripts.source import read_script\n"
        "from tests.scripts.host import META, start_of\n"
        "async def main():\n"
        f"    async with await Sandbox.open({language!r}) as sandbox:\n"
        f"        await sandbox.start(start_of(read_script(META[{language!r}] + \"await agent('a')\", {language!r})))\n"
        f"        Path({str(told)!r} + '.new').write_text(str(sandbox.pid))\n"
        f"        Path({str(told)!r} + '.new').rename({str(told)!r})\n"
        "        await asyncio.sleep(3600)\n"
        "asyncio.run(main())\n"
    )
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, cwd=Path(__file__).parents[2]
    )
    async with asyncio.timeout(100):
        while not told.exists():
            assert server.returncode is None
            await asyncio.sleep(0.02)
    server.kill()
    await server.wait()
    await gone(int(told.read_text()))


async def test_a_script_that_waits_for_nothing_is_ended_and_says_so() -> None:
    ran = await run_script("javascript", "await agent('a'); await new Promise(() => {})")
    assert ran.failure.kind == "stuck"


async def test_a_script_that_asks_for_too_much_at_once_is_ended() -> None:
    ran = await run_script(
        "javascript",
        "const p = 'x'.repeat(1000000); await Promise.all(Array.from({length: 80}, (_, i) => agent(p + i)))",
        limits=structs.replace(QUICK, memory_mib=500),
    )
    assert ran.failure.kind == "output"


# What only one of the languages has


async def test_a_default_export_is_run_with_the_arguments() -> None:
    source = (
        "export const meta = {name: 'n', description: 'd'}\n"
        "const twice = x => x * 2\n"
        "export default async function main(args) {\n"
        "  const answer = await agent('x')\n"
        "  return [answer, twice(args.n)]\n"
        "}\n"
    )
    ran = await run_script("javascript", source, meta=False, args={"n": 21})
    assert ran.value == ["<x>", 42]
    failing = source.replace("twice(args.n)", "twice(args.n.m.o)")
    assert (await run_script("javascript", failing, meta=False, args={"n": 1})).failure.line == 5


async def test_an_unknown_option_is_a_warning_in_javascript_and_an_error_in_python() -> None:
    ran = await run_script("javascript", "return await agent('x', {colour: 'red'})")
    assert ran.value == "<x>"
    assert "colour" in ran.warnings[0]
    ran = await run_script("python", "return await agent('x', colour='red')")
    assert "colour" in ran.failure.message


async def test_dates_that_are_given_work_in_javascript() -> None:
    body = (
        "class Day extends Date {} const d = new Date('2026-01-02T03:04:05Z')\n"
        "return [d.toISOString(), d.getHours(), new Date(0) instanceof Date, new Day(0).getTime(), Date.UTC(1970, 0)]"
    )
    assert (await run_script("javascript", body)).value == ["2026-01-02T03:04:05.000Z", 3, True, 0, 0]


@pytest.mark.parametrize("word", ["Math.random()", "crypto.randomUUID()", "crypto.getRandomValues(a)"])
async def test_every_source_of_chance_says_why_it_is_not_there_in_javascript(word: str) -> None:
    failure = (await run_script("javascript", f"const a = new Uint8Array(1)\nreturn {word}")).failure
    assert "must take the same way" in failure.message
    assert failure.line == 3


@pytest.mark.parametrize("thrown", ["'text'", "{a: 1}", "undefined", "1, 'last'", "/* why */ `a\n${'b'}`"])
async def test_what_is_thrown_in_javascript_has_a_line_also_when_it_is_no_error(thrown: str) -> None:
    body = f"const f = async () => {{\n  await agent('x')\n  throw {thrown}\n}}\nawait f()"
    assert (await run_script("javascript", body)).failure.line == 4


async def test_a_line_is_that_of_what_was_thrown_and_not_of_something_caught_before() -> None:
    body = "try { throw 'a' } catch {}\nawait Promise.reject('b')"
    assert (await run_script("javascript", body)).failure.line is None


@pytest.mark.parametrize("method", ["log", "info", "debug", "warn", "error", "trace", "dir", "table"])
async def test_the_methods_of_console_write_to_the_log(method: str) -> None:
    assert (await run_script("javascript", f"console.{method}([1])")).log == ["[1]"]


async def test_numbers_that_json_does_not_have_are_logged_as_they_are_in_javascript() -> None:
    ran = await run_script("javascript", "log(budget.remaining(), NaN, 5n, undefined, null, true, {a: [1]})")
    assert ran.log == ['Infinity NaN 5 undefined null true {"a":[1]}']


async def test_a_timer_that_is_cleared_does_not_fire() -> None:
    body = (
        "const order = []; const t = setTimeout(() => order.push('cleared'), 1); clearTimeout(t)\n"
        "setTimeout(x => order.push(x), 1, 'fired'); await agent('a'); return order"
    )
    assert (await run_script("javascript", body)).value == ["fired"]


async def test_global_names_work_in_python() -> None:
    body = (
        "count = 0\n"
        "def bump():\n"
        "    global count, made\n"
        "    count += 1\n"
        "    made = 'here'\n"
        "bump(); bump()\n"
        "text = '''two\n lines'''\n"
        "return [count, made, text]"
    )
    assert (await run_script("python", body)).value == [2, "here", "two\n lines"]


async def test_json_math_and_re_are_there_in_python() -> None:
    body = "return [json.loads('[1]'), math.floor(2.5), re.findall('[a-z]', 'a1b')]"
    assert (await run_script("python", body)).value == [[1], 2, ["a", "b"]]


async def test_words_take_their_parameters_by_name_in_python() -> None:
    body = "return [await agent(prompt='p', opts={'label': 'l'}), await workflow(name='w', args=[1])]"
    ran = await run_script("python", body)
    assert ran.value == ["<p>", {"ran": "w", "args": [1]}]
    assert ran.agents[0].options.label == "l"
