"""The plain sentences that the demo model knows."""

import json
import re

import pytest

from holdfast.providers.demo_plays import OFFERED, play_of
from holdfast.providers.demo_script import Calls, Mistake, Say, find_place, parse_script
from tests.providers.calling import user


@pytest.mark.parametrize("sentence", OFFERED)
def test_what_is_offered_is_played_without_scripts_or_json_in_the_answer(sentence: str) -> None:
    steps = parse_script(play_of(sentence) or "")
    assert any(isinstance(step, Calls) for step in steps)
    assert not any(isinstance(step, Mistake) for step in steps)
    said = " ".join(step.text for step in steps if isinstance(step, Say))
    assert re.search(r"[{}]|\bsay:|\bcall:", said) is None
    assert find_place((user(sentence),)).script


@pytest.mark.parametrize(
    "said", ["please show me a tool call", "Show me a  tool call!", "Start two sub-agents."]
)
def test_small_differences_do_not_matter(said: str) -> None:
    assert play_of(said) is not None


@pytest.mark.parametrize("said", ["Show me a tool call and then another", "say: Run a workflow", "", "hello"])
def test_everything_else_is_no_play(said: str) -> None:
    assert play_of(said) is None


def test_agents_of_a_play_are_asked_in_sentences_that_are_known_too() -> None:
    [prompts] = [
        [json.loads(call.input)["prompt"] for call in step.calls]
        for step in parse_script(play_of("Start two sub-agents") or "")
        if isinstance(step, Calls) and step.calls[0].name == "spawn_agent"
    ]
    assert len(prompts) == 2
    assert all(play_of(prompt) for prompt in prompts)
    assert "As a developer" in (play_of("Give your view as a developer.") or "")
