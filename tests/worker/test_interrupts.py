"""Interrupts, edits, steers, deletions: whatever a person does while a chat runs, at every moment of it."""

import pytest

from holdfast.chats.commands import Archive, Delete, Edit, Interrupt, Notify, Promote
from holdfast.chats.view import Queued
from holdfast.core.ids import ChatId, MessageId
from holdfast.core.parts import Notice, Text
from holdfast.providers.backoff import RetryRule
from holdfast.worker.settings import WorkerSettings
from tests.providers.replies import Call, Hang, Reply, Say, Status, Think, calls, fails, say
from tests.worker.engine import OWNER, QUICK_RETRIES, Engine, calls_of, eventually, said_to_model, text_of
from tests.worker.faults import just_after, just_before
from tests.worker.toolbox import Toolbox

SLOWLY = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen."
IMPATIENT = WorkerSettings(cancel_seconds=0.1, retry=QUICK_RETRIES, poll_seconds=0.2)


async def first_message(engine: Engine, chat: ChatId) -> MessageId:
    return (await engine.history(chat))[0].id


async def edit(engine: Engine, chat: ChatId, text: str) -> None:
    message_id = await first_message(engine, chat)
    await engine.do(chat, Edit(message_id=message_id, parts=(Text(text=text),), created_by=OWNER))


# While the model speaks


@pytest.mark.parametrize("name", ["default", "claude"])
async def test_what_was_streamed_is_kept_and_marked(engine_everywhere: Engine, name: str) -> None:
    engine = engine_everywhere
    engine.server.queue(say(SLOWLY, delay_seconds=0.02, piece=4), say("I see."))
    engine.start()
    chat = await engine.create("Count", model=name)
    async with engine.watch(chat) as live:
        await live.until(lambda live: len(live.text) > 20)
        await engine.do(chat, Interrupt())
        await engine.idle(chat)
        message = (await engine.history(chat))[-1]
        assert message.interrupted
        assert text_of(message) == live.text
        assert SLOWLY.startswith(live.text)
        assert live.text != SLOWLY
    (step,) = await engine.steps(chat)
    assert (step.outcome, step.message_id) == ("interrupted", message.id)
    # The connection was closed, and the next turn knows what happened.
    await eventually(lambda: engine.asked[0].outcome == "gone")
    await engine.send(chat, "Go on")
    await engine.idle(chat)
    assert "interrupted the answer above" in said_to_model(engine.asked[-1])
    assert text_of(message) in said_to_model(engine.asked[-1])
    assert engine.server.refusals == []


@pytest.mark.parametrize("name", ["default", "claude"])
async def test_whole_calls_are_kept_but_not_run_half_ones_are_dropped(
    engine: Engine, tools: Toolbox, name: str
) -> None:
    engine.server.queue(
        calls(
            Call("write", {"name": "whole"}),
            Call("write", {"name": "half " * 200}),
            delay_seconds=0.01,
            piece=8,
        ),
        say("I see."),
    )
    engine.start()
    chat = await engine.create("Write twice", model=name)
    async with engine.watch(chat) as live:
        await live.until(
            lambda live: "half half" in "".join(getattr(part, "text", "") for part in live.parts)
        )
        await engine.do(chat, Interrupt())
        await engine.idle(chat)
    made = calls_of(await engine.history(chat))
    assert [call.input for call in made] == [{"name": "whole"}]
    (result,) = await engine.results(chat)
    assert (result.outcome, result.output) == (
        "cancelled",
        "Cancelled, not run, because the turn was interrupted.",
    )
    assert tools.ledger == []
    await engine.send(chat, "Go on")
    await engine.idle(chat)
    assert engine.server.refusals == []


async def test_nothing_was_said_yet(engine: Engine) -> None:
    engine.server.queue(fails(Hang()))
    engine.start()
    chat = await engine.create("Hello")
    await engine.until_asked(1)
    await engine.do(chat, Interrupt())
    await engine.idle(chat)
    assert [message.role for message in await engine.history(chat)] == ["user"]
    assert [step.outcome for step in await engine.steps(chat)] == ["interrupted"]


async def test_only_thoughts_so_far(engine: Engine) -> None:
    engine.server.queue(
        Reply(content=(Think("Hm, hm, hm, hm, hm, hm, hm."), Say("Yes.")), delay_seconds=0.05, piece=4),
        say("I see."),
    )
    engine.start()
    chat = await engine.create("Hello", model="claude", effort="low")
    async with engine.watch(chat) as live:
        await live.until(lambda live: len(live.parts) > 1)
        await engine.do(chat, Interrupt())
    await engine.idle(chat)
    await engine.send(chat, "Go on")
    await engine.idle(chat)
    assert engine.server.refusals == []


async def test_an_answer_that_was_just_complete_is_not_lost(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interrupt is committed after the last word was streamed and before the answer is."""
    just_before(
        monkeypatch,
        engine.store,
        lambda commands, count: commands[0].kind == "commit_step" and not count,
        Interrupt(),
    )
    engine.start()
    chat = await engine.create('say: All of it.\ncall: write {"name": "x"}')
    await engine.idle(chat)
    message = next(message for message in await engine.history(chat) if message.role == "assistant")
    assert (text_of(message), message.interrupted) == ("All of it.", True)
    assert [result.outcome for result in await engine.results(chat)] == ["cancelled"]


# While a tool runs


async def test_a_call_that_ends_in_time_has_its_real_outcome(
    engine_everywhere: Engine, tools: Toolbox
) -> None:
    engine = engine_everywhere
    engine.start()
    chat = await engine.create('calls: quick_block {"name": "a"}; tidy {"name": "b"}\nsay: No.')
    await eventually(lambda: sorted(tools.ledger) == ["a", "b"])
    await engine.do(chat, Interrupt())
    await engine.idle(chat)
    assert [(result.outcome, result.output) for result in await engine.results(chat)] == [
        ("succeeded", "a nap"),
        ("cancelled", "half of it"),
    ]


@pytest.mark.parametrize("tool", ["patient", "stubborn", "block"])
async def test_a_call_that_does_not_may_have_had_effects(engine: Engine, tools: Toolbox, tool: str) -> None:
    engine.start(IMPATIENT)
    chat = await engine.create(f'calls: {tool}; add {{"a": 1, "b": 2}}\nsay: No.')
    await engine.until(chat, lambda view: [call.state for call in view.calls] == ["started", "finished"])
    await eventually(lambda: bool(tools.ledger))
    await engine.do(chat, Interrupt())
    await engine.idle(chat)
    lost, added = await engine.results(chat)
    assert lost.outcome == "cancelled"
    assert "it may have had effects" in str(lost.output)
    assert (added.outcome, added.output) == ("succeeded", 3)
    tools.go().set()
    await engine.send(chat, "say: Next.")
    await engine.idle(chat)
    assert tools.ledger == [""]
    assert engine.server.refusals == []


async def test_calls_that_had_not_begun_say_so(engine: Engine, tools: Toolbox) -> None:
    engine.start(WorkerSettings(calls_at_once=1, cancel_seconds=0.1, poll_seconds=0.2))
    chat = await engine.create('calls: patient {"name": "a"}; write {"name": "b"}')
    await eventually(lambda: tools.ledger == ["a"])
    await engine.do(chat, Interrupt())
    await engine.idle(chat)
    assert [str(result.output) for result in await engine.results(chat)] == [
        "Cancelled while it was running because the turn was interrupted; it may have had effects.",
        "Cancelled, not run, because the turn was interrupted.",
    ]
    assert tools.ledger == ["a"]


async def test_an_interrupt_that_comes_with_the_end_of_another_call(
    engine: Engine, tools: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its hint arrives while the end of one call is being committed: the other one ends all the same."""
    just_before(
        monkeypatch,
        engine.store,
        lambda commands, count: commands[0].kind == "finish_call" and not count,
        Interrupt(),
    )
    engine.start()
    chat = await engine.create('calls: patient {"name": "a"}; add {"a": 1, "b": 2}')
    await engine.idle(chat)
    assert tools.cancelled == ["a"]
    assert [result.outcome for result in await engine.results(chat)] == ["cancelled", "succeeded"]


async def test_an_interrupt_that_comes_with_the_start_of_another_call(
    engine: Engine, tools: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its hint arrives while the end of one call and the start of the next are being committed, and no poll
    comes to help."""
    just_after(
        monkeypatch,
        engine.store,
        lambda commands, count: [one.kind for one in commands] == ["finish_call", "start_calls"],
        Interrupt(),
    )
    engine.start(WorkerSettings(calls_at_once=2, cancel_seconds=0.1, poll_seconds=3600.0))
    chat = await engine.create('calls: patient {"name": "a"}; add {"a": 1, "b": 2}; write {"name": "b"}')
    await engine.idle(chat)
    assert tools.ledger == ["a"]
    assert tools.cancelled == ["a"]


async def test_an_interrupt_that_comes_between_the_results_and_the_next_model_call(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its hint arrives while the results are being committed: no model is called any more."""
    faults = just_after(
        monkeypatch,
        engine.store,
        lambda commands, count: [one.kind for one in commands] == ["finish_call", "begin_attempt"],
        Interrupt(),
    )
    engine.server.queue(calls(Call("add", {"a": 1, "b": 2})), fails(Hang()))
    engine.start()
    chat = await engine.create("Add")
    await engine.idle(chat)
    assert faults.count == 1
    assert len(engine.asked) == 1


# While it waits for the next attempt


async def test_a_retry_wait_is_cut_short(engine: Engine) -> None:
    engine.server.queue(fails(Status(429, headers={"Retry-After": "50"})))
    engine.start(WorkerSettings(retry=RetryRule(), poll_seconds=0.2))
    chat = await engine.create("Hello")
    await engine.until(chat, lambda view: view.chat.retry is not None)
    await engine.do(chat, Interrupt())
    view = await engine.idle(chat)
    assert view.chat.retry is None
    assert len(engine.asked) == 1


async def test_an_interrupt_that_comes_as_the_wait_begins(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its hint arrives while the wait is being noted, and no poll comes to help."""
    just_after(monkeypatch, engine.store, lambda commands, _: commands[0].kind == "note_retry", Interrupt())
    engine.server.queue(fails(Status(429, headers={"Retry-After": "50"})))
    engine.start(WorkerSettings(retry=RetryRule(), poll_seconds=3600.0))
    chat = await engine.create("Hello")
    await engine.idle(chat)
    assert len(engine.asked) == 1


# Edits


async def test_an_edit_while_the_model_speaks(engine_everywhere: Engine) -> None:
    engine = engine_everywhere
    engine.server.queue(say(SLOWLY, delay_seconds=0.02, piece=4))
    engine.start()
    chat = await engine.create("Count")
    await engine.send(chat, "say: Queued.")
    async with engine.watch(chat) as live:
        await live.until(lambda live: bool(live.text))
        await edit(engine, chat, "say: Better.")
        await engine.idle(chat)
    assert await engine.texts(chat) == [("user", "say: Better."), ("assistant", "Better.")]
    removed = [message for message in await engine.history(chat, removed=True) if message.removed]
    assert [text_of(message) for message in removed] == ["Count"]
    assert "Count" not in said_to_model(engine.asked[-1])
    # What was streamed until then is nobody's answer, and was paid for all the same.
    given_up, answered = await engine.steps(chat)
    assert (given_up.outcome, given_up.message_id, given_up.usage.estimated) == ("interrupted", None, True)
    assert answered.outcome == "finished"


async def test_an_edit_while_a_tool_runs(engine: Engine, tools: Toolbox) -> None:
    engine.start()
    chat = await engine.create('calls: quick_block {"name": "a"}; patient {"name": "b"}')
    await eventually(lambda: sorted(tools.ledger) == ["a", "b"])
    await edit(engine, chat, "say: Better.")
    await engine.idle(chat)
    assert await engine.texts(chat) == [("user", "say: Better."), ("assistant", "Better.")]
    # What really happened is on the rows of the calls; history has forgotten it.
    assert [(call.state, call.outcome) for call in await engine.calls(chat)] == [
        ("answered", "succeeded"),
        ("answered", "uncertain"),
    ]
    assert engine.server.refusals == []


async def test_the_next_task_begins_when_the_old_one_has_ended(engine: Engine, tools: Toolbox) -> None:
    engine.start()
    chat = await engine.create("call: quick_block")
    await eventually(lambda: bool(tools.ledger))
    await edit(engine, chat, "call: write\nsay: Done.")
    await engine.idle(chat)
    first, second = await engine.calls(chat)
    assert first.finished_at is not None
    assert second.started_at is not None
    assert first.finished_at <= second.started_at


async def test_an_edit_while_an_interrupt_is_under_way(engine: Engine, tools: Toolbox) -> None:
    engine.start()
    chat = await engine.create("call: quick_block")
    await eventually(lambda: bool(tools.ledger))
    await engine.do(chat, Interrupt())
    await edit(engine, chat, "say: Better.")
    await engine.idle(chat)
    assert await engine.texts(chat) == [("user", "say: Better."), ("assistant", "Better.")]
    assert engine.server.refusals == []


async def test_an_edit_and_an_interrupt_in_one_breath(engine: Engine, tools: Toolbox) -> None:
    engine.start()
    chat = await engine.create("Forget this\ncall: quick_block")
    await eventually(lambda: bool(tools.ledger))
    await edit(engine, chat, "say: Better.")
    await engine.do(chat, Interrupt())
    await engine.send(chat, "say: Next.")
    await engine.idle(chat)
    assert await engine.texts(chat) == [
        ("user", "say: Better."),
        ("user", "say: Next."),
        ("assistant", "Next."),
    ]
    assert "Forget this" not in said_to_model(engine.asked[-1])


# Steers and notices


async def test_steers_and_notices_enter_after_the_results(engine_everywhere: Engine, tools: Toolbox) -> None:
    engine = engine_everywhere
    engine.server.queue(calls(Call("patient")), say("I see."))
    engine.start()
    chat = await engine.create("Begin")
    await eventually(lambda: bool(tools.ledger))
    await engine.send(chat, "Faster", "steer")
    await engine.do(chat, Notify(source="agent", key="k", text="The child is done.", wake=True))
    await engine.send(chat, "Slower", "steer")
    await engine.send(chat, "say: Later.")
    tools.go().set()
    view = await engine.idle(chat)
    history = await engine.history(chat)
    assert [message.role for message in history[:6]] == [
        "user",
        "assistant",
        "tool",
        "user",
        "user",
        "system",
    ]
    assert [text_of(message) for message in history[3:5]] == ["Faster", "Slower"]
    assert isinstance(history[5].parts[0], Notice)
    sent = engine.asked[1].body["messages"]
    assert [message["role"] for message in sent[-3:]] == ["assistant", "tool", "user"]
    assert sent[-1]["content"].startswith("Faster\n\nSlower\n\n")
    assert "The child is done." in sent[-1]["content"]
    # They joined the turn; what was queued is one of its own.
    assert view.chat.turn == 2
    assert (await engine.texts(chat))[-1] == ("assistant", "Later.")


async def test_a_steer_that_comes_too_late_is_a_message_like_any_other(engine: Engine) -> None:
    engine.server.queue(say(SLOWLY, delay_seconds=0.005), say("I see."))
    engine.start()
    chat = await engine.create("Count")
    async with engine.watch(chat) as live:
        await live.until(lambda live: bool(live.text))
        await engine.send(chat, "Faster", "steer")
    view = await engine.idle(chat)
    assert view.chat.turn == 2
    assert await engine.texts(chat) == [
        ("user", "Count"),
        ("assistant", SLOWLY),
        ("user", "Faster"),
        ("assistant", "I see."),
    ]


async def test_a_notice_wakes_an_idle_chat(engine: Engine) -> None:
    engine.server.queue(say("Hello."), say("Good to know."))
    engine.start()
    chat = await engine.create("Hello")
    await engine.idle(chat)
    await engine.do(chat, Notify(source="agent", key="k", text="News.", wake=True))
    await engine.until(chat, lambda view: view.chat.turn == 2 and view.chat.status == "idle")
    assert (await engine.texts(chat))[-1] == ("assistant", "Good to know.")
    assert "News." in said_to_model(engine.asked[1])


# What waits


async def test_send_now_interrupts_and_goes_first(engine: Engine) -> None:
    engine.server.queue(say(SLOWLY, delay_seconds=0.02, piece=4))
    engine.start()
    chat = await engine.create("Count")
    async with engine.watch(chat) as live:
        await live.until(lambda live: bool(live.text))
        await engine.send(chat, "say: Two.")
        queued = (await engine.send(chat, "say: Three.")).answer
        assert isinstance(queued, Queued)
        await engine.do(chat, Promote(item_id=queued.id))
        await engine.idle(chat)
    assert [text for role, text in await engine.texts(chat) if role == "user"] == [
        "Count",
        "say: Three.",
        "say: Two.",
    ]
    assert engine.server.refusals == []


async def test_an_interrupting_message_is_the_next_turn(engine: Engine) -> None:
    engine.server.queue(say(SLOWLY, delay_seconds=0.02, piece=4))
    engine.start()
    chat = await engine.create("Count")
    async with engine.watch(chat) as live:
        await live.until(lambda live: bool(live.text))
        await engine.send(chat, "say: Stop counting.", "interrupt")
        view = await engine.idle(chat)
    assert view.chat.turn == 2
    assert (await engine.texts(chat))[-1] == ("assistant", "Stop counting.")


# The end of a chat


@pytest.mark.parametrize("message", ["call: patient", "wait: 30\nsay: x"])
async def test_a_chat_deleted_while_it_runs(engine_everywhere: Engine, tools: Toolbox, message: str) -> None:
    engine = engine_everywhere
    worker = engine.start()
    chat = await engine.create(message)
    await eventually(lambda: bool(tools.ledger) or (message.startswith("wait") and bool(engine.asked)))
    await engine.do(chat, Delete())
    await eventually(lambda: worker.held == 0)
    assert await engine.store.view(chat) is None
    assert tools.running == 0
    # The worker lives.
    other = await engine.create("say: Here.")
    await engine.idle(other)


async def test_a_running_chat_is_not_archived(engine: Engine, tools: Toolbox) -> None:
    engine.start()
    chat = await engine.create("call: patient\nsay: Done.")
    await eventually(lambda: bool(tools.ledger))
    assert (await engine.refused(chat, Archive())).code == "wrong_state"
    tools.go().set()
    await engine.idle(chat)
    await engine.do(chat, Archive())
