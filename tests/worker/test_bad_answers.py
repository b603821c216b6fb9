"""Whatever a model answers, the chat continues or ends with a clear failure, and the worker survives."""

import pytest
from msgspec.structs import replace

from holdfast.chats.commands import RetryTurn
from holdfast.core.ids import is_call_id
from holdfast.core.parts import Notice
from holdfast.worker.actions import TurnLimits
from tests.providers.replies import (
    BadUtf8,
    Call,
    Fault,
    Raw,
    Redacted,
    Reply,
    Say,
    Think,
    call,
    calls,
    many_calls,
    same_id_twice,
    say,
)
from tests.worker.engine import SETTINGS, Engine, calls_of, text_of
from tests.worker.toolbox import Toolbox

FORMATS = pytest.mark.parametrize("name", ["default", "claude"])


@pytest.fixture(autouse=True)
async def afterwards(engine: Engine, tools: Toolbox):
    """The worker lives, and no request was refused."""
    engine.start()
    yield
    other = await engine.create("say: Here.")
    await engine.idle(other)
    assert engine.server.refusals == []
    assert tools.ledger == []


CALLS: list[tuple[str, Reply, str]] = [
    ("unknown tool", call("ad", {"a": 1, "b": 2}), "There is no tool 'ad'"),
    ("long name", call("x" * 30_000), "There is no tool"),
    ("no name", call(""), "There is no tool"),
    ("strange name", call("no such tool!\n\0"), "There is no tool"),
    ("not JSON", call("write", "certainly!"), "could not be read"),
    ("half JSON", call("write", '{"name": "x'), "could not be read"),
    ("a list", call("write", "[1]"), "could not be read"),
    ("extra fields", call("write", {"name": "x", "chat_id": "another"}), "unknown field `chat_id`"),
    ("wrong type", call("add", {"a": "one", "b": []}), "is not valid"),
    ("deeply nested", call("write", '{"a":' * 500 + "1" + "}" * 500), "nested"),
    ("huge number", call("add", '{"a": 1' + "0" * 400 + ', "b": 1}'), "64 bits"),
]


@FORMATS
@pytest.mark.parametrize("reply, complaint", [case[1:] for case in CALLS], ids=[case[0] for case in CALLS])
async def test_a_call_that_makes_no_sense_is_answered(
    engine: Engine, name: str, reply: Reply, complaint: str
) -> None:
    engine.server.queue(reply, say("I see."))
    chat = await engine.create("Hello", model=name)
    await engine.idle(chat)
    (result,) = await engine.results(chat)
    assert result.outcome == "failed"
    assert complaint in str(result.output)
    assert len(str(result.output)) < 2000
    assert (await engine.texts(chat))[-1] == ("assistant", "I see.")


@FORMATS
async def test_500_calls_at_once(engine: Engine, name: str) -> None:
    engine.server.queue(many_calls(500, "write"), say("I see."))
    chat = await engine.create("Hello", model=name)
    await engine.idle(chat)
    results = await engine.results(chat)
    assert len(results) == 500
    assert {result.outcome for result in results} == {"failed"}
    assert "too many" in str(results[0].output)


@FORMATS
async def test_more_calls_than_an_answer_can_hold(engine: Engine, name: str) -> None:
    engine.server.queue(many_calls(600, "nope"), say("I see."))
    chat = await engine.create("Hello", model=name)
    await engine.idle(chat)
    assert len(await engine.results(chat)) == 512


@FORMATS
async def test_the_same_id_twice(engine: Engine, name: str) -> None:
    engine.server.queue(same_id_twice("refuse"), say("I see."))
    chat = await engine.create("Hello", model=name)
    await engine.idle(chat)
    made = calls_of(await engine.history(chat))
    assert len({one.call_id for one in made}) == 2
    assert all(is_call_id(one.call_id) for one in made)
    assert [result.call_id for result in await engine.results(chat)] == [one.call_id for one in made]


async def test_the_same_id_in_every_step(engine: Engine) -> None:
    engine.server.queue(*(calls(Call("add", {"a": n, "b": 1}, "same")) for n in range(3)), say("Done."))
    chat = await engine.create("Hello")
    await engine.idle(chat)
    assert [result.output for result in await engine.results(chat)] == [1, 2, 3]


@FORMATS
@pytest.mark.parametrize(
    "content",
    [(), (Say(""),), (Say("  \n"),), (Think("Only thoughts."),)],
    ids=["nothing", "empty", "blank", "thoughts"],
)
async def test_an_answer_that_says_nothing_is_an_answer(
    engine: Engine, name: str, content: tuple[Say, ...]
) -> None:
    engine.server.queue(Reply(content=content), say("I see."))
    chat = await engine.create("Hello", model=name)
    view = await engine.idle(chat)
    assert view.chat.turn_steps == 1
    await engine.send(chat, "And?")
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", "I see.")


async def test_thoughts_nobody_can_read(engine: Engine) -> None:
    engine.server.queue(Reply(content=(Redacted(), Say("Yes."))), say("I see."))
    chat = await engine.create("Hello", model="claude")
    await engine.idle(chat)
    await engine.send(chat, "And?")
    await engine.idle(chat)


@FORMATS
@pytest.mark.parametrize(
    "usage",
    [
        {"input": -5, "output": -1},
        {"input": 10**18, "output": 10**18},
        {"input": None, "output": "many"},
        {"input": 5, "output": 2, "cache_read": 10**9, "reasoning": 99},
        {"input": 1.5, "output": float("1e300")},
    ],
    ids=["negative", "huge", "not numbers", "parts larger than the whole", "fractions"],
)
async def test_absurd_usage(engine: Engine, name: str, usage: dict[str, object]) -> None:
    engine.server.queue(say("Yes.", usage=usage))
    chat = await engine.create("Hello", model=name)
    view = await engine.idle(chat)
    counted = view.chat.usage
    assert 0 <= counted.cache_read + counted.cache_write <= counted.input <= 10**8
    assert 0 <= counted.reasoning <= counted.output <= 10**8
    assert counted.total == counted.input + counted.output


@FORMATS
async def test_text_that_is_no_utf_8(engine: Engine, name: str) -> None:
    engine.server.queue(Reply(content=(Say("Hello there"),), fault=BadUtf8()))
    chat = await engine.create("Hello", model=name)
    await engine.idle(chat)
    message = (await engine.history(chat))[-1]
    assert "\ufffd" in text_of(message)
    assert "ello there" in text_of(message).replace("\ufffd", "")


@FORMATS
async def test_nul_and_lone_surrogates(engine: Engine, name: str) -> None:
    engine.server.queue(
        Reply(content=(Say("a\0b"), Call("nope", '{"text": "\\ud800 \\u0000"}'))), say("I see.")
    )
    chat = await engine.create("Hello", model=name)
    await engine.idle(chat)
    assert any(text_of(message) == "a\ufffdb" for message in await engine.history(chat))


async def test_an_answer_of_many_megabytes_is_cut(engine: Engine) -> None:
    engine.server.queue(say("x" * (9 * 1024 * 1024), piece=500_000))
    chat = await engine.create("Hello")
    await engine.idle(chat)
    history = await engine.history(chat)
    assert 7_000_000 < len(text_of(history[1])) <= 8 * 1024 * 1024
    assert [part.code for part in history[2].parts if isinstance(part, Notice)] == ["length"]


@pytest.mark.parametrize(
    "name, stop, code",
    [
        ("default", "length", "length"),
        ("claude", "max_tokens", "length"),
        ("default", "content_filter", "content_filter"),
        ("claude", "refusal", "content_filter"),
    ],
)
async def test_an_answer_that_was_cut_short_says_why(engine: Engine, name: str, stop: str, code: str) -> None:
    engine.server.queue(say("And then", stop=stop), say("I see."))
    chat = await engine.create("Hello", model=name)
    await engine.idle(chat)
    history = await engine.history(chat)
    assert text_of(history[1]) == "And then"
    assert [part.code for part in history[2].parts if isinstance(part, Notice)] == [code]
    await engine.send(chat, "Go on")
    await engine.idle(chat)


@pytest.mark.parametrize("name, stop", [("default", "content_filter"), ("claude", "refusal")])
async def test_a_refusal_without_a_word_says_what_to_do(engine: Engine, name: str, stop: str) -> None:
    engine.server.queue(Reply(stop=stop), say("I see."))
    chat = await engine.create("Hello", model=name)
    await engine.idle(chat)
    (notice,) = (await engine.history(chat))[-1].parts
    assert isinstance(notice, Notice)
    assert "Change the message or the model" in notice.text
    await engine.send(chat, "Hello again")
    await engine.idle(chat)


async def test_an_answer_that_its_provider_paused_goes_on_by_itself(engine: Engine) -> None:
    engine.server.queue(say("First", stop="pause_turn"), say("Then"))
    chat = await engine.create("Hello", model="claude")
    await engine.idle(chat)
    assert await engine.texts(chat) == [("user", "Hello"), ("assistant", "First"), ("assistant", "Then")]
    assert len(await engine.steps(chat)) == 2


async def test_a_pause_with_calls_waits_for_their_results(engine: Engine) -> None:
    engine.server.queue(call("add", {"a": 1, "b": 2}, stop="pause_turn"), say("Three"))
    chat = await engine.create("Hello", model="claude")
    await engine.idle(chat)
    assert [result.output for result in await engine.results(chat)] == [3]


async def test_a_provider_that_pauses_for_ever_reaches_the_step_limit(engine: Engine) -> None:
    await engine.stop()
    engine.start(replace(SETTINGS, limits=TurnLimits(steps=4)))
    engine.server.answer = lambda asked: None if "Here" in str(asked.body) else Reply(stop="pause_turn")
    chat = await engine.create("Hello", model="claude")
    await engine.idle(chat)
    # The last of them is the closing one.
    assert len(await engine.steps(chat)) == 5
    (notice,) = (await engine.history(chat))[-1].parts
    assert isinstance(notice, Notice)
    assert notice.code == "step_limit"


async def test_a_call_that_was_cut_short_is_not_run(engine: Engine) -> None:
    engine.server.queue(call("write", '{"name": "half a fi', stop="length"), say("I see."))
    chat = await engine.create("Hello")
    await engine.idle(chat)
    (result,) = await engine.results(chat)
    assert "reached its limit" in str(result.output)


@pytest.mark.parametrize("fault", [Raw(""), Raw("data: 42\n\ndata: [DONE]\n\n"), Raw("nonsense\n\n")])
async def test_a_stream_of_nonsense_fails_the_turn_clearly(engine: Engine, fault: Fault) -> None:
    engine.server.answer = lambda asked: None if "Here" in str(asked.body) else Reply(fault=fault)
    chat = await engine.create("Hello")
    error = (await engine.failed(chat)).chat.last_error
    assert error is not None
    assert error.kind in ("server", "transport")
    assert error.retryable
    engine.server.answer = None
    await engine.do(chat, RetryTurn())
    await engine.idle(chat)
