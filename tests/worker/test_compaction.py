"""Summaries: when they are made, what they keep, and what happens when they do not help."""

from collections.abc import Callable

import msgspec
import pytest

from holdfast.chats.commands import Compact, Edit, Fork, Interrupt, RetryTurn
from holdfast.chats.view import View
from holdfast.core.chats import Settings
from holdfast.core.ids import ChatId
from holdfast.core.parts import Notice, Text, ToolCall, ToolResult
from holdfast.core.shapes import Json
from holdfast.prompt.summaries import ASK_COMPACTION, BOUNDARY
from holdfast.providers.interface import PromptMessage
from holdfast.worker.actions import TurnLimits
from holdfast.worker.compact import TOOL, without_oldest
from holdfast.worker.settings import WorkerSettings
from tests.providers.answering import Asked
from tests.providers.calling import assistant, results, user
from tests.providers.replies import Hang, Reply, Status, call, fails, say
from tests.worker.engine import OWNER, QUICK_RETRIES, Engine, eventually, model, said_to_model, text_of
from tests.worker.toolbox import Toolbox

FREE = {"input": 20_000, "output": 10}
FULL = {"input": 80_000, "output": 10}
OVER = {"input": 120_000, "output": 10}


@pytest.fixture(autouse=True)
def small_models(request: pytest.FixtureRequest) -> None:
    """Models whose context is 100 000 tokens."""
    for name in ("engine", "engine_everywhere"):
        if name in request.fixturenames:
            engine: Engine = request.getfixturevalue(name)
            engine.configure(
                model(context_limit=100_000), model("claude", context_limit=100_000), model("large")
            )


def is_summary(asked: Asked) -> bool:
    return ASK_COMPACTION[:40] in said_to_model(asked)


def summaries(engine: Engine) -> list[Asked]:
    return [asked for asked in engine.asked if is_summary(asked)]


async def kinds(engine: Engine, chat: ChatId) -> list[tuple[str, str]]:
    return [(step.kind, step.outcome) for step in await engine.steps(chat)]


async def summary_result(engine: Engine, chat: ChatId) -> dict[str, Json]:
    (result,) = [result for result in await engine.results(chat) if result.name == TOOL]
    return msgspec.convert(result.output, dict[str, Json])


# When


@pytest.mark.parametrize("name", ["default", "claude"])
async def test_a_full_context_is_summarised_in_the_middle_of_a_turn(
    engine_everywhere: Engine, name: str
) -> None:
    engine = engine_everywhere
    engine.server.queue(
        call("add", {"a": 1, "b": 2}, usage=FULL), say("They added.", usage=FULL), say("Three.", usage=FREE)
    )
    engine.start()
    chat = await engine.create("What is 1 + 2, exactly?", model=name)
    view = await engine.idle(chat)
    assert await kinds(engine, chat) == [
        ("model", "finished"),
        ("compaction", "finished"),
        ("model", "finished"),
    ]
    assert (await engine.texts(chat))[-1] == ("assistant", "Three.")
    # Tools are off, all of the history is there, the results included.
    (asked,) = summaries(engine)
    assert "tools" not in asked.body
    assert "What is 1 + 2, exactly?" in said_to_model(asked)
    assert "3" in said_to_model(asked)
    # From then on the summary stands for it, and what was not answered yet follows word for word.
    after = engine.asked[-1]
    assert "They added." in said_to_model(after)
    roles = [message["role"] for message in after.body["messages"]]
    assert roles[-1] == "user"
    assert said_to_model(after).endswith("What is 1 + 2, exactly?")
    assert after.body["tools"]
    assert view.chat.usage.context_used == 20_000
    assert engine.server.refusals == []


async def test_what_is_shown_and_what_is_hidden(engine: Engine) -> None:
    engine.server.queue(
        call("add", {"a": 1, "b": 2}, usage=FULL), say("They added."), say("Three.", usage=FREE)
    )
    chat = await engine.create("What is 1 + 2?")
    async with engine.watch(chat) as live:
        engine.start()
        await engine.idle(chat)
        # Watchers see a call, and never the summary as if it were an answer.
        (announced,) = [part for part in live.parts if isinstance(part, ToolCall)]
        assert (announced.name, announced.input) == (TOOL, {"source": "threshold"})
        assert "They added." not in live.text
    assert await summary_result(engine, chat) == {
        "summary": "They added.",
        "source": "threshold",
        "threshold_percent": 70,
        "usage_percent": 80,
        "context_tokens": 80_000,
        "context_limit_tokens": 100_000,
    }
    everything = await engine.history(chat, for_model=True)
    hidden = [message for message in everything if message.visibility == "model"]
    assert [(message.role, message.compaction, text_of(message)) for message in hidden] == [
        ("user", True, BOUNDARY + "They added."),
        ("user", False, "What is 1 + 2?"),
    ]
    shown = [message for message in everything if message.visibility == "user"]
    assert [(message.role, message.compaction) for message in shown] == [("assistant", True), ("tool", True)]
    # Nothing is deleted.
    assert text_of(everything[0]) == "What is 1 + 2?"
    assert not any(message.removed for message in everything)


async def test_a_full_context_at_the_end_of_a_turn(engine: Engine) -> None:
    engine.server.queue(say("A long answer.", usage=FULL), say("In short."), say("Yes.", usage=FREE))
    engine.start()
    chat = await engine.create("Hello")
    view = await engine.idle(chat)
    assert await kinds(engine, chat) == [("model", "finished"), ("compaction", "finished")]
    assert view.chat.turn == 1
    await engine.send(chat, "And now?")
    await engine.idle(chat)
    assert said_to_model(engine.asked[-1]).endswith(f"{BOUNDARY}In short.\n\nAnd now?")


@pytest.mark.parametrize("threshold, summarised", [(100, False), (81, False), (80, True), (0, True)])
async def test_the_threshold_is_the_models(engine: Engine, threshold: int, summarised: bool) -> None:
    engine.configure(model(context_limit=100_000, compaction_threshold=threshold))
    engine.server.queue(say("An answer.", usage=FULL), say("In short."))
    engine.start()
    chat = await engine.create("Hello")
    await engine.idle(chat)
    assert bool(summaries(engine)) is summarised


async def test_a_limit_nobody_knows_is_never_reached(engine: Engine) -> None:
    engine.configure(model())
    engine.server.queue(say("An answer.", usage={"input": 10_000_000, "output": 1}))
    engine.start()
    chat = await engine.create("Hello")
    await engine.idle(chat)
    assert len(engine.asked) == 1


async def test_somebody_asks_for_it(engine_everywhere: Engine) -> None:
    engine = engine_everywhere
    engine.server.queue(say("Hello."), say("They greeted."), say("Yes."))
    engine.start()
    chat = await engine.create("Hello")
    await engine.idle(chat)
    await engine.do(chat, Compact())
    view = await engine.idle(chat)
    assert (await summary_result(engine, chat))["source"] == "manual"
    assert (view.chat.turn, view.chat.turn_kind) == (2, "compaction")
    await engine.send(chat, "And now?")
    await engine.idle(chat)
    assert said_to_model(engine.asked[-1]).endswith(f"{BOUNDARY}They greeted.\n\nAnd now?")


async def test_the_provider_says_it_is_too_long(engine_everywhere: Engine) -> None:
    engine = engine_everywhere
    engine.server.queue(fails(Status(413)), say("In short."), say("Fits now."))
    engine.start()
    chat = await engine.create("A very long message")
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", "Fits now.")
    assert (await summary_result(engine, chat))["source"] == "overflow"
    assert said_to_model(engine.asked[-1]).endswith("In short.\n\nA very long message")


async def test_a_cheaper_model_may_do_it(engine: Engine) -> None:
    engine.server.queue(say("Hello."), say("They greeted."))
    engine.start(WorkerSettings(compaction_model="claude", retry=QUICK_RETRIES))
    chat = await engine.create("Hello")
    await engine.idle(chat)
    await engine.do(chat, Compact())
    await engine.idle(chat)
    assert [asked.format for asked in engine.asked] == ["openai", "anthropic"]
    assert [step.model for step in await engine.steps(chat)] == ["default", "claude"]


async def test_another_model_has_another_limit(engine: Engine) -> None:
    """What is full for one model is not for a larger one; and the other way round."""
    engine.server.queue(say("Hello.", usage={"input": 60_000, "output": 1}), say("Hi.", usage=FREE))
    engine.configure(model(context_limit=100_000), model("small", context_limit=80_000), model("large"))
    engine.start()
    chat = await engine.create("Hello")
    await engine.idle(chat)
    await engine.send(chat, "Again", model="large")
    await engine.idle(chat)
    assert summaries(engine) == []
    engine.server.queue(
        say("Hello.", usage={"input": 60_000, "output": 1}), say("In short."), say("Hi.", usage=FREE)
    )
    await engine.send(chat, "Again")
    await engine.idle(chat)
    await engine.send(chat, "Again", model="small")
    await engine.idle(chat)
    assert len(summaries(engine)) == 1


# What is kept


async def test_everything_not_answered_is_carried_over(engine: Engine, tools: Toolbox) -> None:
    engine.server.queue(call("patient", usage=FULL), say("In short."), say("Done.", usage=FREE))
    engine.start()
    chat = await engine.create("Exactly  this:\n\n\tdo it")
    await eventually(lambda: bool(tools.ledger))
    await engine.send(chat, "And ~this~ too", "steer")
    tools.go().set()
    await engine.idle(chat)
    # The steer was not there yet when the summary was made: it enters after it, once.
    assert "And ~this~ too" not in said_to_model(summaries(engine)[0])
    said = said_to_model(engine.asked[-1])
    assert said.endswith("Exactly  this:\n\n\tdo it\n\nAnd ~this~ too")
    assert said.count("And ~this~ too") == 1


async def test_what_was_answered_is_not_carried_over(engine: Engine) -> None:
    engine.server.queue(say("One."), say("Two.", usage=FULL), say("In short."), say("Three.", usage=FREE))
    engine.start()
    chat = await engine.create("First")
    await engine.idle(chat)
    await engine.send(chat, "Second")
    await engine.idle(chat)
    await engine.send(chat, "Third")
    await engine.idle(chat)
    said = said_to_model(engine.asked[-1])
    assert "First" not in said
    assert "Second" not in said
    assert said.endswith("Third")


async def test_a_message_sent_meanwhile_follows(engine: Engine) -> None:
    engine.server.queue(
        say("Long.", usage=FULL), say("In short, of course.", delay_seconds=0.02), say("Yes.", usage=FREE)
    )
    engine.start()
    chat = await engine.create("Hello")
    await eventually(lambda: len(summaries(engine)) == 1)
    await engine.send(chat, "And  exactly\tthis")
    await engine.idle(chat)
    assert said_to_model(engine.asked[-1]).endswith("In short, of course.\n\nAnd  exactly\tthis")


# Interrupted


async def test_an_interrupt_keeps_nothing_of_it(engine_everywhere: Engine) -> None:
    engine = engine_everywhere
    engine.server.queue(
        call("add", {"a": 1, "b": 2}, usage=FULL),
        say("Half a summary, and more.", delay_seconds=0.1),
        say("Yes.", usage=FREE),
    )
    engine.start()
    chat = await engine.create("Add")
    await eventually(lambda: len(summaries(engine)) == 1)
    await engine.do(chat, Interrupt())
    await engine.idle(chat)
    everything = await engine.history(chat, for_model=True)
    assert not any(message.compaction for message in everything)
    assert [message.role for message in everything] == ["user", "assistant", "tool"]
    await eventually(lambda: summaries(engine)[0].outcome == "gone")
    assert engine.server.refusals == []


async def test_an_edit_while_it_is_made(engine: Engine) -> None:
    engine.server.queue(say("Long.", usage=FULL), say("Half a summary.", delay_seconds=0.1))
    engine.start()
    chat = await engine.create("Hello")
    await eventually(lambda: len(summaries(engine)) == 1)
    first = (await engine.history(chat))[0].id
    await engine.do(chat, Edit(message_id=first, parts=(Text(text="say: Anew."),), created_by=OWNER))
    await engine.idle(chat)
    assert await engine.texts(chat) == [("user", "say: Anew."), ("assistant", "Anew.")]
    assert not any(message.compaction for message in await engine.history(chat, for_model=True))


# What people do with it


async def test_a_fork_at_what_people_see_of_a_summary_takes_the_summary_along(
    engine_everywhere: Engine,
) -> None:
    engine = engine_everywhere
    engine.server.queue(say("Long.", usage=FULL), say("It was long."))
    engine.start()
    chat = await engine.create("Hello")
    await engine.idle(chat)
    await engine.send(chat, "say: On.")
    await engine.idle(chat)
    _, _, called, told, *_ = await engine.history(chat)
    for up_to in (called, told):
        fork = ChatId(chat[:-4] + up_to.id[-4:])
        await engine.do(
            fork, Fork(owner_id=OWNER, source_id=chat, settings=Settings(model="default"), up_to=up_to.id)
        )
        assert [message.role for message in await engine.history(fork)] == [
            *("user", "assistant", "assistant", "tool")
        ]
        assert (await summary_result(engine, fork))["summary"] == "It was long."
        await engine.send(fork, "say: Anew.")
        await engine.idle(fork)
        assert "It was long." in said_to_model(engine.asked[-1])
        assert "Hello" not in said_to_model(engine.asked[-1])


async def test_a_summary_is_no_message_of_a_user_and_cannot_be_edited(engine_everywhere: Engine) -> None:
    engine = engine_everywhere
    engine.server.queue(say("Long.", usage=FULL), say("It was long."))
    engine.start()
    chat = await engine.create("Hello")
    await engine.idle(chat)
    hidden = (await engine.history(chat, for_model=True))[-1]
    assert (hidden.role, hidden.visibility) == ("user", "model")
    edit = Edit(message_id=hidden.id, parts=(Text(text="say: Anew."),), created_by=OWNER)
    assert (await engine.refused(chat, edit)).code == "invalid_input"


# When it does not help


def error_of(view: View) -> tuple[str, str]:
    error = view.chat.last_error
    assert error is not None
    return error.kind, error.message


def stays(usage: dict[str, int]) -> Callable[[Asked], Reply]:
    """A provider that counts the same whatever it is sent."""

    def answer(asked: Asked) -> Reply:
        if is_summary(asked):
            return say("A summary as long as all of it.")
        return call("add", {"a": 1, "b": 2}, usage=usage)

    return answer


async def test_a_context_that_does_not_shrink(engine_everywhere: Engine) -> None:
    """Two tries, then a clear error instead of a third."""
    engine = engine_everywhere
    engine.server.answer = stays(OVER)
    engine.start()
    chat = await engine.create("Add for ever")
    kind, message = error_of(await engine.failed(chat))
    assert kind == "context_overflow"
    assert "larger context" in message
    assert [is_summary(asked) for asked in engine.asked] == [False, True, False, True, False]
    assert engine.server.refusals == []


async def test_the_chat_stays_usable(engine: Engine) -> None:
    engine.server.answer = stays(OVER)
    engine.start()
    chat = await engine.create("Add for ever")
    await engine.failed(chat)
    asked = len(engine.asked)
    # A new turn begins afresh: it tries to summarise again before it fails.
    await engine.do(chat, RetryTurn())
    await engine.failed(chat)
    asked = len(engine.asked)
    # A model with a larger context.
    engine.server.answer = None
    await engine.send(chat, "say: More room.", model="large")
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", "More room.")
    # Or an earlier message, edited.
    first = (await engine.history(chat))[0].id
    await engine.do(chat, Edit(message_id=first, parts=(Text(text="say: Short."),), created_by=OWNER))
    await engine.idle(chat)
    assert await engine.texts(chat) == [("user", "say: Short."), ("assistant", "Short.")]
    assert len(engine.asked) == asked + 2


async def test_below_the_limit_the_turn_goes_on_without_further_tries(engine: Engine) -> None:
    engine.server.answer = stays(FULL)
    engine.start(WorkerSettings(limits=TurnLimits(steps=12)))
    chat = await engine.create("Add for ever")
    await engine.idle(chat)
    assert [step.kind for step in await engine.steps(chat)].count("compaction") == 2
    # With the closing step. That it did not help is said once.
    assert len(engine.asked) == 13
    told = [part for message in await engine.history(chat) for part in message.parts]
    assert [part.code for part in told if isinstance(part, Notice)].count("compaction_in_vain") == 1


async def test_answers_that_stay_too_long_are_summarised_once_a_turn(engine: Engine) -> None:
    engine.server.answer = lambda _: say("Long.", usage=FULL)
    engine.start()
    chat = await engine.create("Hello")
    for _ in range(4):
        await engine.idle(chat)
        await engine.send(chat, "Again")
    await engine.idle(chat)
    assert len(summaries(engine)) == 5


async def test_it_overflows_for_ever(engine: Engine) -> None:
    engine.server.answer = lambda asked: say("In short.") if is_summary(asked) else fails(Status(413))
    engine.start()
    chat = await engine.create("A very long message")
    kind, _ = error_of(await engine.failed(chat))
    assert kind == "context_overflow"
    assert [is_summary(asked) for asked in engine.asked] == [False, True, False, True, False]
    engine.server.answer = None
    await engine.send(chat, "say: Better.", model="claude")
    await engine.idle(chat)


async def test_not_even_the_summary_fits(engine: Engine) -> None:
    """The oldest half is left out, and half of what is left, until it fits."""
    sizes: list[int] = []

    def answer(asked: Asked) -> Reply | None:
        if not is_summary(asked):
            return None
        sizes.append(len(asked.body["messages"]))
        return fails(Status(413)) if len(sizes) < 3 else say("In short.")

    engine.server.answer = answer
    engine.start()
    chat = await engine.create('repeat 8: call: add {"a": 1, "b": 2}\nsay: Done.')
    await engine.idle(chat)
    await engine.do(chat, Compact())
    await engine.idle(chat)
    assert len(sizes) == 3
    assert sizes[0] > sizes[1] > sizes[2]
    assert engine.server.refusals == []


async def test_a_summary_that_fails_ten_times(engine_everywhere: Engine) -> None:
    engine = engine_everywhere
    engine.server.answer = lambda asked: fails(Status(529)) if is_summary(asked) else say("Long.", usage=FULL)
    engine.start()
    chat = await engine.create("Hello")
    kind, message = error_of(await engine.failed(chat))
    assert kind == "overloaded"
    assert message.startswith("The conversation could not be summarised: ")
    assert len(summaries(engine)) == 5
    assert (await kinds(engine, chat))[-1] == ("compaction", "failed")
    # What was said is there, and the chat goes on when the provider does.
    assert (await engine.texts(chat))[-1] == ("assistant", "Long.")
    engine.server.answer = lambda asked: say("In short.") if is_summary(asked) else say("Yes.", usage=FREE)
    await engine.send(chat, "And now?")
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", "Yes.")


async def test_a_summary_that_fails_once_is_tried_again(engine: Engine) -> None:
    engine.server.queue(say("Long.", usage=FULL), fails(Status(500)), Reply(), say("In short."))
    engine.start()
    chat = await engine.create("Hello")
    await engine.idle(chat)
    step = (await engine.steps(chat))[-1]
    assert (step.kind, step.attempts) == ("compaction", 3)
    assert [failure.message for failure in step.failures][1] == "The model gave an empty summary."


async def test_it_may_be_asked_for_in_other_words(engine: Engine) -> None:
    engine.server.queue(say("Long.", usage=FULL), say("In short."))
    engine.start(WorkerSettings(compaction_prompt="Sum up as a poem."))
    chat = await engine.create("Hello")
    await engine.idle(chat)
    assert b"Sum up as a poem." in engine.server.log[-1].raw


async def test_a_summary_that_takes_too_long(engine: Engine) -> None:
    engine.server.queue(say("Long.", usage=FULL), fails(Hang(True)), say("In short."))
    engine.start(WorkerSettings(compaction_seconds=0.2, retry=QUICK_RETRIES))
    chat = await engine.create("Hello")
    await engine.idle(chat)
    step = (await engine.steps(chat))[-1]
    assert [failure.kind for failure in step.failures] == ["timeout"]


async def test_a_key_that_is_wrong_fails_it_at_once(engine: Engine) -> None:
    engine.server.queue(say("Long.", usage=FULL), fails(Status(401)))
    engine.start()
    chat = await engine.create("Hello")
    kind, message = error_of(await engine.failed(chat))
    assert kind == "auth"
    assert "api_key" in message
    assert len(engine.asked) == 2


# Leaving out what is oldest. Pure: no engine.


def step(n: int) -> list[PromptMessage]:
    asked = ToolCall(call_id=f"c{n}", name="t", input={})  # pyright: ignore[reportArgumentType]
    told = ToolResult(call_id=f"c{n}", name="t", output="", outcome="succeeded")  # pyright: ignore[reportArgumentType]
    return [assistant(asked), results(told)]


def test_the_newest_part_is_kept_from_a_legal_place_on() -> None:
    shown = [user("Begin"), *(message for n in range(8) for message in step(n))]
    assert without_oldest(shown, 0) == tuple(shown)
    for halvings in (1, 2, 3, 4, 5):
        kept = without_oldest(shown, halvings)
        assert kept[-1] == shown[-1]
        assert len(kept) <= (len(shown) >> halvings) + 3
        assert [message.role for message in kept[:2]] == ["user", "assistant"]
    assert without_oldest([user("Alone")], 2) == (user("Alone"),)
