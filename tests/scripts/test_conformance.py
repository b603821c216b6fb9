"""The numbered rules of `conformance.py`, each for both languages."""

import pytest

from holdfast.core.runs import Language
from tests.scripts.conformance import RULES, Rule
from tests.scripts.host import run_script

LANGUAGES: tuple[Language, ...] = ("javascript", "python")


@pytest.mark.heavy
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "rule", RULES, ids=lambda rule: f"{rule.number:02}-{rule.text[:60].replace(' ', '-')}"
)
async def test_rule(rule: Rule, language: Language) -> None:
    rule.holds(await run_script(language, rule.body(language), **rule.how))


def test_there_are_enough_rules_and_each_says_something_else() -> None:
    assert len(RULES) >= 60
    assert len({rule.text for rule in RULES}) == len(RULES)
