"""Where a turn ends although the model would continue: budgets, the number of steps, the same failure again
and again."""

from collections.abc import Callable

import pytest

from holdfast.chats.commands import Compact, Create, RetryTurn
from holdfast.core.chats import Settings
from holdfast.core.ids import ChatId
from holdfast.core.origins import FromChat
from holdfast.core.parts import Notice, Text
from holdfast.core.usage import Budget
from holdfast.tools.approval import ApprovalRules
from holdfast.worker.actions import TurnLimits
from holdfast.worker.settings import WorkerSettings
from tests.providers.answering import Asked
from tests.providers.replies import Reply, Status, call, fails, say
from tests.worker.engine import OWNER, QUICK_RETRIES, Engine, eventually, model, said_to_model
from tests.worker.toolbox import Toolbox

FOREVER = 'repeat 100: call: add {"a": 1, "b": 2}\nsay: Done.'


async def notices(engine: Engine, chat: ChatId) -> list[str]:
    return [
        part.code
        for message in await engine.history(chat)
        for part in message.parts
        if isinstance(part, Notice)
    ]


# Budgets


@pytest.mark.parametrize(
    "budget, name",
    [(Budget(tokens=2500), "default"), (Budget(cost_usd_micros=5000), "claude")],
    ids=["tokens", "money"],
)
async def test_a_budget_stops_before_the_next_call(
    engine_everywhere: Engine, budget: Budget, name: str
) -> None:
    engine = engine_everywhere
    engine.server.answer = lambda _: call("add", {"a": 1, "b": 2}, usage={"input": 1000, "output": 0})
    engine.start()
    chat = await engine.create("Add for ever", budget=budget, model=name)
    view = await engine.idle(chat)
    spent = (await engine.chat(chat)).budget
    assert spent is not None
    assert spent.spent_tokens == 1000 * len(engine.asked)
    price = spent.spent_usd_micros // len(engine.asked)
    one_step, cap = (1000, budget.tokens) if budget.tokens else (price, budget.cost_usd_micros)
    assert cap is not None
    assert len(engine.asked) == -(-cap // one_step) > 1
    assert await notices(engine, chat) == ["budget_exhausted"]
    # The results of the last step are there, and the next message does not even begin.
    assert len(await engine.results(chat)) == len(engine.asked)
    asked = len(engine.asked)
    await engine.send(chat, "Go on")
    await engine.idle(chat)
    assert len(engine.asked) == asked
    assert view.chat.last_error is None
    # More money: it goes on.
    engine.server.answer = None
    await engine.store.update_settings(chat, budget=Budget(tokens=10**9, cost_usd_micros=10**9))
    await engine.send(chat, "say: Thank you.")
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", "Thank you.")
    assert engine.server.refusals == []


async def test_with_a_queue_it_is_an_error_and_the_queue_is_kept(engine: Engine, tools: Toolbox) -> None:
    engine.start()
    chat = await engine.create("call: patient\nsay: Never.", budget=Budget(tokens=1))
    await eventually(lambda: bool(tools.ledger))
    await engine.send(chat, "say: Next.")
    tools.go().set()
    view = await engine.failed(chat)
    error = view.chat.last_error
    assert error is not None
    assert error.kind == "budget_exhausted"
    assert len(view.queue) == 1
    # Retrying without more of it comes to the same.
    await engine.do(chat, RetryTurn())
    view = await engine.failed(chat)
    assert len(view.queue) == 1
    assert len(engine.asked) == 1
    await engine.store.update_settings(chat, budget=None)
    await engine.do(chat, RetryTurn())
    await engine.idle(chat)
    assert [text for role, text in await engine.texts(chat) if role == "assistant"] == ["Never.", "Next."]


async def test_a_budget_is_the_familys(engine: Engine) -> None:
    engine.server.answer = lambda _: call("add", {"a": 1, "b": 2}, usage={"input": 1000, "output": 0})
    parent = await engine.create("say: I am the parent.", budget=Budget(tokens=2500))
    child = ChatId(parent[:-4] + "ffff")
    engine.start()
    await engine.idle(parent)
    await engine.do(
        child,
        Create(
            owner_id=OWNER,
            settings=Settings(),
            parts=(Text(text="Add for ever"),),
            origin=FromChat(chat_id=parent),
            root_id=parent,
        ),
    )
    await engine.idle(child)
    assert await notices(engine, child) == ["budget_exhausted"]
    assert (await engine.chat(parent)).usage.total == 3000


async def test_a_budget_given_in_the_middle_of_a_turn_counts(engine: Engine, tools: Toolbox) -> None:
    engine.start()
    chat = await engine.create("call: patient\nsay: Never.")
    await eventually(lambda: bool(tools.ledger))
    await engine.store.update_settings(chat, budget=Budget(tokens=1))
    tools.go().set()
    await engine.idle(chat)
    assert await notices(engine, chat) == ["budget_exhausted"]


async def test_no_summary_is_made_on_a_spent_budget(engine: Engine) -> None:
    engine.configure(model(context_limit=1000))
    engine.server.queue(say("Long.", usage={"input": 900, "output": 1}))
    engine.start()
    chat = await engine.create("Hello", budget=Budget(tokens=500))
    await engine.idle(chat)
    assert len(engine.asked) == 1
    await engine.do(chat, Compact())
    await engine.idle(chat)
    assert len(engine.asked) == 1
    assert await notices(engine, chat) == ["budget_exhausted"]


# Steps


async def test_the_number_of_steps(engine: Engine) -> None:
    engine.start(WorkerSettings(limits=TurnLimits(steps=4, closing=False), retry=QUICK_RETRIES))
    chat = await engine.create(FOREVER)
    view = await engine.idle(chat)
    assert len(engine.asked) == 4
    assert view.chat.turn_steps == 4
    assert await notices(engine, chat) == ["step_limit"]
    # A new turn counts anew, and goes on where the last one ended.
    await engine.send(chat, "say: On.")
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", "On.")


async def test_the_last_words_before_the_end(engine_everywhere: Engine) -> None:
    """The same tools, none of which may be called: a provider's cache still knows the prefix."""
    engine = engine_everywhere
    engine.server.answer = lambda asked: (
        say("Half of it is done.") if is_closing(asked) else call("add", {"a": 1, "b": 2})
    )
    engine.start(WorkerSettings(limits=TurnLimits(steps=3), retry=QUICK_RETRIES))
    chat = await engine.create("Add for ever")
    await engine.idle(chat)
    assert [is_closing(asked) for asked in engine.asked] == [False, False, False, True]
    closing = engine.asked[-1].body
    assert closing["tools"] == engine.asked[0].body["tools"]
    assert closing["tool_choice"] == "none"
    assert (await engine.texts(chat))[-1] == ("assistant", "Half of it is done.")
    assert await notices(engine, chat) == ["step_limit"]
    assert engine.server.refusals == []
    # The next turn has all its steps again.
    engine.server.answer = None
    await engine.send(chat, "say: On.")
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", "On.")


async def test_last_words_that_are_calls_are_not_run(engine: Engine, tools: Toolbox) -> None:
    engine.start(WorkerSettings(limits=TurnLimits(steps=2), retry=QUICK_RETRIES))
    engine.server.answer = lambda _: call("write", {"name": "x"})
    chat = await engine.create("Write for ever")
    await engine.idle(chat)
    assert [result.outcome for result in await engine.results(chat)] == [
        "succeeded",
        "succeeded",
        "cancelled",
    ]
    assert len(tools.ledger) == 2
    assert len(engine.asked) == 3


async def test_without_last_words_when_the_provider_refuses_them(engine: Engine) -> None:
    engine.server.answer = lambda asked: (
        fails(Status(400)) if is_closing(asked) else call("add", {"a": 1, "b": 2})
    )
    engine.start(WorkerSettings(limits=TurnLimits(steps=2), retry=QUICK_RETRIES))
    chat = await engine.create("Add for ever")
    await engine.idle(chat)
    assert await notices(engine, chat) == ["step_limit"]


def is_closing(asked: Asked) -> bool:
    return "This turn ends now" in said_to_model(asked)


async def test_the_number_of_steps_with_a_queue(engine: Engine) -> None:
    chat = await engine.create(FOREVER)
    await engine.send(chat, "say: Next.")
    engine.start(WorkerSettings(limits=TurnLimits(steps=2), retry=QUICK_RETRIES))
    view = await engine.failed(chat)
    assert view.chat.last_error is not None
    assert view.chat.last_error.kind == "step_limit"
    assert len(view.queue) == 1


def test_1200_steps_unless_told_otherwise() -> None:
    assert WorkerSettings().limits == TurnLimits(steps=1200, compaction_threshold=70)


# The same failure again and again


def failing(count: int, then: str = "Done.") -> Callable[[Asked], Reply]:
    """A model that makes the same call so often and then says something."""

    def answer(asked: Asked) -> Reply:
        return call("broken", {"name": "x"}) if asked.number < count else say(then)

    return answer


async def test_a_nudge_at_three_and_the_end_at_six(engine_everywhere: Engine) -> None:
    engine = engine_everywhere
    engine.server.answer = failing(50)
    engine.start()
    chat = await engine.create("Break it")
    await engine.idle(chat)
    assert len(engine.asked) == 7
    nudged = ["failed several times in a row" in said_to_model(asked) for asked in engine.asked]
    assert nudged == [False, False, False, True, True, True, True]
    assert [is_closing(asked) for asked in engine.asked] == [False] * 6 + [True]
    assert said_to_model(engine.asked[-1]).count("failed several times in a row") == 1
    assert await notices(engine, chat) == ["loop_guard", "loop_guard"]
    assert engine.server.refusals == []


async def test_the_user_may_let_it_try_again(engine: Engine) -> None:
    engine.server.answer = failing(8, "I give up.")
    engine.start()
    chat = await engine.create("Break it")
    await engine.idle(chat)
    await engine.send(chat, "Once more")
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", "I give up.")
    assert len(engine.asked) == 9


async def test_and_so_may_a_retry(engine: Engine) -> None:
    engine.server.answer = failing(8, "At last.")
    chat = await engine.create("Break it")
    await engine.send(chat, "Next")
    engine.start()
    view = await engine.failed(chat)
    assert view.chat.last_error is not None
    assert view.chat.last_error.kind == "loop_guard"
    await engine.do(chat, RetryTurn())
    await engine.idle(chat)
    assert [text for role, text in await engine.texts(chat) if role == "assistant"] == ["At last."] * 2


async def test_a_denied_tool_is_not_called_for_ever(engine: Engine) -> None:
    engine.server.answer = failing(50)
    engine.start(WorkerSettings(rules=ApprovalRules(per_tool={"broken": "deny"}), retry=QUICK_RETRIES))
    chat = await engine.create("Break it")
    await engine.idle(chat)
    assert len(engine.asked) == 7
