"""Models with less than was asked for: a shorter context, shorter answers, no tools. A turn goes on with what
they have, and the next one asks for no more than that."""

from holdfast.core.parts import Notice
from tests.providers.replies import Status, call, fails, say
from tests.worker.engine import Engine, model, said_to_model


def asked_for(engine: Engine) -> list[int]:
    return [asked.body["max_tokens"] for asked in engine.asked]


async def test_a_small_context_is_learned_from_the_refusal(engine: Engine) -> None:
    engine.configure(model(model="tiny-8k", max_output=32_000))
    engine.server.queue(say("Hello."), say("Again."))
    engine.start()
    chat = await engine.create("hi")
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", "Hello.")
    await engine.send(chat, "and now?")
    await engine.idle(chat)
    first, second, third = asked_for(engine)
    assert first == 32_000
    assert second < 8192
    assert third < 8192
    step = (await engine.steps(chat))[0]
    assert [failure.kind for failure in step.failures] == ["output_limit"]
    assert (await engine.steps(chat))[1].usage.context_limit == 8192


async def test_a_model_that_writes_less_is_asked_once_more(engine: Engine) -> None:
    engine.configure(model(model="gpt-short", max_output=32_000))
    engine.server.queue(say("Hello."))
    engine.start()
    chat = await engine.create("hi")
    await engine.idle(chat)
    assert asked_for(engine) == [32_000, 1000]


async def test_one_lower_try_and_no_more(engine: Engine) -> None:
    """The model lies: what it says it takes is refused as well."""
    engine.configure(model(max_output=32_000))
    body = '{"error":{"message":"max_tokens must be less than or equal to 5000"}}'
    for _ in range(3):
        engine.server.queue(fails(Status(400, body)))
    engine.start()
    chat = await engine.create("hi")
    view = await engine.failed(chat)
    assert view.chat.last_error is not None
    assert view.chat.last_error.kind == "output_limit"
    assert "max_output" in view.chat.last_error.message
    assert asked_for(engine) == [32_000, 5000]


async def test_a_model_without_tools_answers_without_them(engine: Engine) -> None:
    engine.configure(model(), model("plain", model="gemma-plain"))
    engine.server.queue(call("note", {"n": 1}), say("Noted."))
    engine.start()
    chat = await engine.create("hi")
    await engine.idle(chat)
    engine.server.queue(say("I can only talk."))
    await engine.send(chat, "go on", model="plain")
    await engine.idle(chat)
    refused, taken = engine.asked[-2:]
    assert refused.body["tools"]
    assert "tools" not in taken.body
    assert "[I called the tool note" in said_to_model(taken)
    history = await engine.history(chat)
    notices = [part for message in history for part in message.parts if isinstance(part, Notice)]
    assert [notice.code for notice in notices] == ["no_tools"]
    assert (await engine.texts(chat))[-1] == ("assistant", "I can only talk.")


async def test_a_model_that_is_configured_without_tools_is_sent_none(engine: Engine) -> None:
    engine.configure(model(model="gemma-plain", tools=False))
    engine.server.queue(say("Just words."))
    engine.start()
    chat = await engine.create("hi")
    await engine.idle(chat)
    (asked,) = engine.asked
    assert "tools" not in asked.body
