"""Commit messages that are proposed: by the model for titles, else the chat's; counted with the chat; and
without a model what the user asked for."""

from typing import Any

import pytest

from holdfast.core.ids import ChatId, RandomIds
from holdfast.core.usage import Budget
from holdfast.providers.prices import Prices
from holdfast.store import chats
from holdfast.worker.commit_messages import DIFF_CHARACTERS, CommitMessages, ProposedMessage, shown_diff
from holdfast.worker.models import ConfiguredModels
from holdfast.worker.side_calls import SideCalls
from tests.providers.replies import Fault, Page, Status, fails, say
from tests.worker.engine import Engine, model, said_to_model
from tests.worker.test_counting import total

DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-one\n+two\n"


async def asked_for(engine: Engine, chat: ChatId, diff: str = DIFF, by: str | None = None) -> ProposedMessage:
    calls = SideCalls(
        store=engine.store,
        models=ConfiguredModels(engine.providers, Prices()),
        clock=engine.clock,
        ids=RandomIds(),
        metrics=engine.metrics,
    )
    found = await engine.store.read(chats.chat(chat))
    assert found is not None
    return await CommitMessages(calls, lambda: by).propose(found, diff)


async def rested(engine: Engine, **more: Any) -> ChatId:
    """A chat that was asked something and answered."""
    engine.server.queue(say("Done.", usage={"input": 10, "output": 1}))
    engine.start()
    chat = await engine.create("## Replace one by two\nplease", **more)
    await engine.idle(chat)
    return chat


async def test_a_model_proposes_and_is_paid_for(engine_everywhere: Engine) -> None:
    engine = engine_everywhere
    chat = await rested(engine)
    before = await total(engine, chat)
    for _ in range(2):
        engine.server.queue(
            say('```\n"Count to two"\n\nOne was not enough.\n```', usage={"input": 100, "output": 9})
        )
        proposed = await asked_for(engine, chat)
        assert proposed == ProposedMessage(message="Count to two\n\nOne was not enough.", source="model")
    said = said_to_model(engine.asked[-1])
    assert "Replace one by two" in said
    assert DIFF.strip() in said
    assert "tools" not in engine.asked[-1].body
    after = await total(engine, chat)
    assert (after.input, after.output) == (before.input + 200, before.output + 18)
    steps = [step for step in await engine.steps(chat) if step.kind == "commit_message"]
    assert [step.outcome for step in steps] == ["finished", "finished"]


async def test_the_model_for_titles_comes_first(engine: Engine) -> None:
    chat = await rested(engine)
    engine.configure(model(), model("titles", model="titles-model"))
    engine.server.queue(say("Count to two"))
    assert (await asked_for(engine, chat, by="titles")).source == "model"
    assert engine.asked[-1].model == "titles-model"


@pytest.mark.parametrize("fault", [Status(500), Status(401), Page()])
async def test_without_an_answer_it_is_what_was_asked_for(engine: Engine, fault: Fault) -> None:
    chat = await rested(engine)
    engine.server.queue(fails(fault))
    assert await asked_for(engine, chat) == ProposedMessage(message="Replace one by two", source="chat")


async def test_nothing_is_asked_once_the_budget_is_spent(engine: Engine) -> None:
    chat = await rested(engine, budget=Budget(tokens=1))
    asked = len(engine.asked)
    assert (await asked_for(engine, chat)).source == "chat"
    assert len(engine.asked) == asked


async def test_a_secret_is_neither_sent_nor_proposed(engine: Engine) -> None:
    chat = await rested(engine)
    key = "sk-live-0123456789abcdefghij"
    engine.server.queue(say(f"Use {key}"))
    proposed = await asked_for(engine, chat, DIFF + f"+api_key = '{key}'\n")
    assert key not in said_to_model(engine.asked[-1])
    assert proposed.message == "Use [redacted]"


def test_a_long_diff_is_cut_and_names_every_file() -> None:
    files = [f"--- a/{n}.txt\n+++ b/{n}.txt\n@@ -1 +1 @@\n{'+x' * 5000}\n" for n in range(20)]
    shown = shown_diff("".join(files))
    assert len(shown) <= DIFF_CHARACTERS + 100
    assert all(f"b/{n}.txt" in shown for n in range(20))
    assert shown_diff(DIFF) == DIFF
