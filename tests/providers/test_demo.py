"""The demo model: its language, its position in a conversation, and that it is deterministic."""

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest

from holdfast.core.errors import AttemptFailed
from holdfast.core.parts import LivePart, Reasoning, Source, Text, ToolCall
from holdfast.providers.assemble import ModelAnswer
from holdfast.providers.configs import ModelConfig
from holdfast.providers.demo import DemoAdapter
from holdfast.providers.demo_script import (
    VERBS,
    Calls,
    Mistake,
    Say,
    ScriptedFailure,
    ScriptedWait,
    answers,
    parse_script,
)
from holdfast.providers.error_bodies import FailureKind
from holdfast.providers.input_repair import invalid_input
from holdfast.providers.interface import ModelRequest, PromptMessage, Purpose, StopReason
from tests.providers.calling import ask, assistant, results, text_of, user
from tests.providers.histories import answered

MODEL = ModelConfig(name="demo", provider="demo", model="demo")


class Sleeper:
    """A clock that only notes how long it was asked to wait."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


async def demo(
    *messages: PromptMessage,
    attempt: int = 1,
    purpose: Purpose = "turn",
    sleeper: Sleeper | None = None,
    live: list[LivePart] | None = None,
) -> ModelAnswer:
    adapter = DemoAdapter(sleep=(sleeper or Sleeper()).sleep)
    asked = ModelRequest(model=MODEL, messages=messages, attempt=attempt, purpose=purpose)
    return await ask(adapter, asked, live=live)


async def play(script: str, outputs: Sequence[str] = ()) -> list[ModelAnswer]:
    """The whole conversation, with these outputs for its calls."""
    history = [user(script)]
    given = list(outputs)
    played: list[ModelAnswer] = []
    while True:
        answer = await demo(*history)
        played.append(answer)
        history.append(assistant(*answer.parts))
        calls = [part for part in answer.parts if isinstance(part, ToolCall)]
        if not calls:
            return played
        history.append(results(*(answered(call.call_id, call.name, given.pop(0)) for call in calls)))


async def test_it_says_what_it_is_told() -> None:
    (answer,) = await play("say: Hello, world!")
    assert answer.parts == (Text(text="Hello, world!"),)
    assert answer.stop_reason == "stop"


async def test_text_over_several_lines() -> None:
    (answer,) = await play("A remark.\nsay: one\n  two:\n    three\nAnother remark.")
    assert text_of(answer) == "one\ntwo:\n  three"


async def test_slow_words_come_one_by_one() -> None:
    sleeper = Sleeper()
    live: list[LivePart] = []
    await demo(user("pace: 0.5\nsay slowly: one two  three"), sleeper=sleeper, live=live)
    assert live == [Text(text="one"), Text(text=" two"), Text(text="  three")]
    assert sleeper.slept == [0.5, 0.5]


async def test_it_thinks_and_waits_and_cites() -> None:
    sleeper = Sleeper()
    answer = await demo(
        user("think: hm hm\nwait: 3\nsource: https://a.example/ A page\nsay: so"), sleeper=sleeper
    )
    assert answer.parts == (
        Reasoning(text="hm hm", title="hm hm", provider_data={"kind": "demo"}),
        Source(url="https://a.example/", title="A page"),
        Text(text="so"),
    )
    assert sleeper.slept == [3]


async def test_a_script_goes_on_after_each_result() -> None:
    script = (
        'say: first\ncall: read_file {"path": "a"}\ncalls: one {"n": 1}; two {"n": 2}; three\nsay: {result}!'
    )
    first, second, third = await play(script, ["alpha", "x", "y", "z"])
    assert text_of(first) == "first"
    assert [part.name for part in first.parts if isinstance(part, ToolCall)] == ["read_file"]
    assert [(part.name, part.input) for part in second.parts if isinstance(part, ToolCall)] == [
        ("one", {"n": 1}),
        ("two", {"n": 2}),
        ("three", {}),
    ]
    assert text_of(third) == "z!"


async def test_its_place_comes_from_the_history_alone() -> None:
    """Each answer by a model that was started for it."""
    assert [text_of(answer) for answer in await play("call: a\ncall: b\nsay: {results}", ["1", "2"])] == [
        "",
        "",
        "2",
    ]
    assert await play("say: x") == await play("say: x")


async def test_the_newest_user_message_decides() -> None:
    history = (user("call: a\nsay: never"), assistant(), user("say: steered"))
    assert text_of(await demo(*history)) == "steered"


async def test_a_script_that_is_over() -> None:
    history = (user("say: once"), assistant("once"))
    assert text_of(await demo(*history)) == "The script is done."


async def test_it_fails_as_often_as_it_is_told() -> None:
    script = user("fail: overloaded 2 times\nsay: at last")
    for attempt in (1, 2):
        with pytest.raises(AttemptFailed) as raised:
            await demo(script, attempt=attempt)
        assert raised.value.failure.kind == "overloaded"
        assert raised.value.failure.retryable
    assert text_of(await demo(script, attempt=3)) == "at last"
    with pytest.raises(AttemptFailed) as raised:
        await demo(user("fail: auth"), attempt=9)
    assert not raised.value.failure.retryable


async def test_repeated_steps() -> None:
    (answer,) = await play("repeat 3: say: ha ")
    assert text_of(answer) == "hahaha"
    played = await play('repeat 3: call: note {"n": 1}\nsay: done', ["a", "b", "c"])
    assert len(played) == 4


async def test_input_that_is_no_json_is_sent_like_that() -> None:
    (call,) = (await demo(user('call: note {"n": '))).parts
    assert isinstance(call, ToolCall)
    assert invalid_input(call)


async def test_usage_can_be_claimed() -> None:
    usage = (await demo(user("usage: input=150000 output=20 cache_read=9\nsay: x"))).usage
    assert (usage.input, usage.output, usage.cache_read, usage.context_used) == (150_000, 20, 9, 150_000)
    estimated = (await demo(user("say: x"))).usage
    assert estimated.input > 0
    assert estimated.output > 0


async def test_it_can_stop_at_its_length() -> None:
    assert (await demo(user("say: half of\nstop: length"))).stop_reason == "length"


async def test_without_a_script_it_explains_itself() -> None:
    answer = await demo(user("What can you do?"))
    assert "demo model" in text_of(answer)
    assert "What can you do?" in text_of(answer)
    assert "say slowly:" in text_of(answer)
    assert "ANTHROPIC_API_KEY" in text_of(answer)
    again = await demo(user("{result} {0} {said}"))
    assert "{result} {0} {said}" in text_of(again)


async def test_other_calls_get_short_answers() -> None:
    assert "summary" in text_of(await demo(user("say: x"), purpose="compaction"))
    title = text_of(await demo(user("say: x"), purpose="title"))
    assert "\n" not in title


@pytest.mark.parametrize(
    "line",
    [
        "wait: soon",
        "wait: -1",
        "wait: 1e9",
        "fail: somehow",
        "repeat: say: x",
        "repeat 3: nonsense",
        "calls: ",
        "calls: a {broken",
        "usage: lots",
        "stop: whenever",
        "say 3: x",
        "call:",
    ],
)
async def test_a_mistake_is_told_not_guessed_at(line: str) -> None:
    (step,) = parse_script(line)
    assert isinstance(step, Mistake)
    assert "I do not understand" in text_of(await demo(user(line)))


def test_steps_and_answers() -> None:
    steps = parse_script('say: a\ncall: t {"x": 1}\nwait: 2\nfail: server 3 times\nsay: b')
    assert [type(step) for step in steps] == [Say, Calls, ScriptedWait, ScriptedFailure, Say]
    assert [len(answer) for answer in answers(steps)] == [2, 3]


@pytest.mark.parametrize(
    "text", ["", "Please say: hello", "I said\n say: x", "SAY: x", "saying: x", "To call: 555-1234"]
)
def test_ordinary_messages_are_no_scripts(text: str) -> None:
    assert parse_script(text) == ()


def test_a_script_has_an_end() -> None:
    started = time.monotonic()
    steps = parse_script("repeat 999999999: repeat 999999999: say: x\n" * 20)
    assert len(steps) <= 10_001
    assert time.monotonic() - started < 1


# The page that documents it

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "demo-model.md").read_text()
EXAMPLES = re.findall(r"```demo\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_are_scripts(example: str) -> None:
    steps = parse_script(example)
    assert steps
    assert [step for step in steps if isinstance(step, Mistake)] == []


def test_every_word_of_the_language_is_documented() -> None:
    assert len(EXAMPLES) >= 5
    for verb in VERBS:
        assert re.search(rf"`{verb}[ :]", PAGE), verb
    for word in (*get_args(FailureKind), *get_args(StopReason), "reasoning", "cache_read", "cache_write"):
        assert f"`{word}`" in PAGE, word
