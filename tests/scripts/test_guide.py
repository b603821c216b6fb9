"""Every script in the guide for authors is run."""

import re
from pathlib import Path

import pytest

from holdfast.core.runs import Language
from holdfast.scripts.engines.options import ALIASES, NAMES
from holdfast.scripts.names import WORDS
from tests.scripts.answers import obliging
from tests.scripts.host import run_script

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "workflows.md").read_text()
SCRIPTS: list[tuple[Language, str]] = [
    ("javascript" if language == "js" else "python", text)
    for language, text in re.findall(r"^```(js|python)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
]


@pytest.mark.heavy
@pytest.mark.parametrize("language, text", SCRIPTS, ids=[text.split("\n")[0][:40] for _, text in SCRIPTS])
async def test_a_script_of_the_guide_runs(language: Language, text: str) -> None:
    ran = await run_script(language, text, meta=False, answers=obliging, budget=5000, cost=100)
    assert ran.value
    assert ran.agents
    assert ran.warnings == []


def test_the_guide_has_scripts_in_both_languages() -> None:
    assert {language for language, _ in SCRIPTS} == {"javascript", "python"}


@pytest.mark.parametrize("word", sorted(WORDS | set(NAMES)))
def test_the_guide_names_every_word_and_option(word: str) -> None:
    assert re.search(rf"`[^`]*\b{word}\b", GUIDE)


@pytest.mark.parametrize("alias", ["agentType", "capabilities", "max_tool_iters"])
def test_the_guide_names_the_other_names(alias: str) -> None:
    assert ALIASES[alias] in NAMES
    assert alias in GUIDE
