"""Scripts as people write them, of 50 lines to hundreds, in both languages: each runs to its end with agents
that answer, none breaks the sandbox with agents that do not, and one that dies half way comes to the same
result."""

from pathlib import Path

import pytest

from holdfast.core.runs import Language
from holdfast.core.shapes import Json
from holdfast.scripts.engines.messages import AgentCall, ScriptDone, ScriptFailed
from holdfast.scripts.source import SUFFIXES, read_script
from tests.scripts.answers import absent, obliging
from tests.scripts.durable import Crash, Ledger, run
from tests.scripts.host import agents_first, first, last, run_script

pytestmark = pytest.mark.heavy

SCRIPTS: dict[str, tuple[Language, str]] = {
    path.name: (SUFFIXES[path.suffix], path.read_text())
    for path in sorted((Path(__file__).parent / "corpus").iterdir())
    if path.suffix in SUFFIXES
}


@pytest.mark.parametrize("name", SCRIPTS)
async def test_a_script_runs_to_its_end(name: str) -> None:
    language, text = SCRIPTS[name]
    ran = await run_script(language, text, meta=False, answers=obliging, choose=agents_first)
    assert isinstance(ran.stop, ScriptDone), ran.stop
    assert ran.agents
    assert ran.phases or all(call.options.phase for call in ran.agents)
    assert ran.warnings == []
    # Whoever answers first, it ends; and the same order gives the same words.
    again = await run_script(language, text, meta=False, answers=obliging, choose=agents_first)
    assert (again.stop, again.prompts, again.log) == (ran.stop, ran.prompts, ran.log)


@pytest.mark.parametrize("name", SCRIPTS)
async def test_agents_that_answer_nothing_break_no_sandbox(name: str) -> None:
    language, text = SCRIPTS[name]
    ran = await run_script(language, text, meta=False, answers=absent, choose=last)
    if isinstance(ran.stop, ScriptFailed):
        assert ran.stop.kind in ("thrown", "budget")
        assert ran.stop.line is not None


@pytest.mark.parametrize("name", SCRIPTS)
async def test_a_script_that_dies_half_way_comes_to_the_same_result(name: str) -> None:
    language, text = SCRIPTS[name]
    script = read_script(text, language)

    def answer(call: AgentCall) -> Json:
        found = obliging(call)
        return f"{call.prompt[:20]}!" if isinstance(found, str) else found  # the same, whoever is asked first

    whole = Ledger()
    wanted = await run(script, whole, answer=answer, choose=first)
    broken = Ledger(crash_at=whole.writes // 2 + 1)
    with pytest.raises(Crash):
        await run(script, broken, answer=answer, choose=first)
    broken.crash_at = None
    assert await run(script, broken, answer=answer, choose=first) == wanted
    assert broken.paid == whole.paid


def test_there_are_enough_and_long_ones() -> None:
    assert len(SCRIPTS) >= 30
    lines = [len(text.splitlines()) for _, text in SCRIPTS.values()]
    assert min(lines) >= 50
    assert max(lines) >= 300
    assert {language for language, _ in SCRIPTS.values()} == {"javascript", "python"}
