"""Calls that wait for somebody: client tools, questions, plans, approvals, and calls whose outcome nobody
knows."""

from datetime import timedelta

import pytest

from holdfast.chats.change import Refusal
from holdfast.chats.commands import (
    CallResult,
    Compact,
    Decide,
    Fence,
    FinishCall,
    Interrupt,
    Send,
    SubmitResults,
)
from holdfast.chats.synthetic import late_decision_notice
from holdfast.chats.view import View
from holdfast.core.calls import Verdict
from holdfast.core.chats import ClientTool
from holdfast.core.ids import CallId, ChatId
from holdfast.core.parts import Text
from holdfast.tools.approval import ApprovalRules
from holdfast.worker.settings import WorkerSettings
from tests.providers.replies import Call, calls, say
from tests.worker.dead import leave_running, new_call
from tests.worker.engine import OWNER, QUICK_RETRIES, Engine, eventually, said_to_model
from tests.worker.toolbox import Toolbox

TAB = ClientTool(name="open_tab", description="Opens a tab.", input_schema={"type": "object"})
QUESTION = 'call: ask_user {"questions": [{"id": "q1", "text": "Red or blue?", "options": ["red", "blue"]}]}'
ASKING = WorkerSettings(retry=QUICK_RETRIES, poll_seconds=0.2, rules=ApprovalRules(per_tool={"write": "ask"}))


def answer(call_id: CallId, output: object, *, is_error: bool = False) -> SubmitResults:
    return SubmitResults(results=(CallResult(call_id=call_id, output=output, is_error=is_error),))


def waiting(view: View) -> list[CallId]:
    return [call.call_id for call in view.calls if call.state == "waiting"]


# Client tools


async def test_a_client_tool_is_answered_by_the_caller(engine_everywhere: Engine) -> None:
    engine = engine_everywhere
    worker = engine.start()
    chat = await engine.create('call: open_tab {"url": "x"}\nsay: It says {result}.', client_tools=(TAB,))
    view = await engine.waits(chat)
    (call,) = await engine.asked_for(chat)
    assert (call.kind, call.name, call.input) == ("client_tool", "open_tab", {"url": "x"})
    assert call.deadline_at is not None
    assert timedelta(seconds=290) < call.deadline_at - view.chat.updated_at < timedelta(seconds=310)
    # Nobody owns the chat meanwhile, and it takes nobody's place.
    assert view.chat.lease is None
    await eventually(lambda: worker.held == 0)
    await engine.do(chat, answer(call.call_id, "opened"))
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", "It says opened.")
    assert (await engine.refused(chat, answer(call.call_id, "again"))).code == "wrong_state"


async def test_a_client_tool_that_failed(engine: Engine) -> None:
    engine.start()
    chat = await engine.create("call: open_tab\nsay: Oh.", client_tools=(TAB,))
    (call_id,) = waiting(await engine.waits(chat))
    await engine.do(chat, answer(call_id, "no window", is_error=True))
    await engine.idle(chat)
    assert [(result.outcome, result.output) for result in await engine.results(chat)] == [
        ("failed", "no window")
    ]


async def test_a_client_tool_that_nobody_answers_expires(engine_everywhere: Engine) -> None:
    engine = engine_everywhere
    engine.start(WorkerSettings(client_tool_seconds=0.05, retry=QUICK_RETRIES, poll_seconds=0.05))
    chat = await engine.create("call: open_tab\nsay: Never mind.", client_tools=(TAB,))
    await engine.idle(chat)
    (result,) = await engine.results(chat)
    assert (result.outcome, result.output) == ("expired", "Nobody answered before the deadline.")


async def test_some_answers_come_others_expire_and_the_rest_is_waited_for(engine: Engine) -> None:
    engine.start(WorkerSettings(client_tool_seconds=0.05, retry=QUICK_RETRIES, poll_seconds=0.05))
    chat = await engine.create(
        f'{QUESTION.replace("call:", "calls:")}; open_tab; add {{"a": 1, "b": 2}}', client_tools=(TAB,)
    )
    # Our own call ran first, the tab has expired, the question waits on.
    view = await engine.until(
        chat, lambda view: view.chat.status == "requires_action" and len(waiting(view)) == 1
    )
    assert [(call.name, call.state, call.outcome) for call in view.calls] == [
        ("ask_user", "waiting", None),
        ("open_tab", "finished", "expired"),
        ("add", "finished", "succeeded"),
    ]
    (question,) = waiting(view)
    tab = view.calls[1].call_id
    assert (await engine.refused(chat, answer(tab, "late"))).code == "already_answered"
    await engine.do(chat, answer(question, "blue"))
    await engine.idle(chat)
    assert [result.output for result in await engine.results(chat)] == [
        "blue",
        "Nobody answered before the deadline.",
        3,
    ]


# Questions and plans


async def test_a_question(engine: Engine) -> None:
    engine.start()
    chat = await engine.create(f"{QUESTION}\nsay: So it is {{result}}.")
    (call_id,) = waiting(await engine.waits(chat))
    (asked,) = await engine.asked_for(chat)
    assert (asked.kind, asked.deadline_at) == ("question", None)
    await engine.do(chat, answer(call_id, {"q1": "red"}))
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", 'So it is {"q1":"red"}.')


async def test_a_plan(engine: Engine) -> None:
    engine.start()
    chat = await engine.create('call: propose_plan {"plan": "First look."}\nsay: Then I begin.')
    (call_id,) = waiting(await engine.waits(chat))
    await engine.do(chat, answer(call_id, "accepted"))
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", "Then I begin.")


async def test_answers_may_come_one_by_one(engine: Engine) -> None:
    engine.start()
    chat = await engine.create("calls: open_tab; open_tab; open_tab\nsay: {results}", client_tools=(TAB,))
    first, second, third = waiting(await engine.waits(chat))
    await engine.do(chat, answer(second, "two"))
    assert (await engine.refused(chat, answer(second, "again"))).code == "already_answered"
    assert (await engine.refused(chat, answer(CallId("nobody"), "x"))).code == "not_found"
    view = await engine.waits(chat)
    assert waiting(view) == [first, third]
    await engine.do(
        chat,
        SubmitResults(
            results=(
                CallResult(call_id=third, output="three"),
                CallResult(call_id=first, output="one"),
            )
        ),
    )
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", "one\ntwo\nthree")


# Approvals


async def test_an_approved_call_runs(engine_everywhere: Engine, tools: Toolbox) -> None:
    engine = engine_everywhere
    engine.start(ASKING)
    chat = await engine.create('calls: write {"name": "a"}; add {"a": 1, "b": 2}\nsay: Done.')
    (call_id,) = waiting(await engine.waits(chat))
    assert tools.ledger == []
    await engine.do(chat, Decide(call_id=call_id, verdict="approve", user_id=OWNER, note="go ahead"))
    await engine.idle(chat)
    assert tools.ledger == ["a"]
    written, added = await engine.calls(chat)
    assert written.approval is not None
    assert (written.approval.by, written.approval.user_id, written.approval.scope, written.approval.note) == (
        "person",
        OWNER,
        "once",
        "go ahead",
    )
    assert added.approval is not None
    assert (added.approval.by, added.approval.rule) == ("rule", "auto: none")


async def test_a_denied_call_does_not(engine: Engine, tools: Toolbox) -> None:
    engine.start(ASKING)
    chat = await engine.create("call: write\nsay: {result}")
    (call_id,) = waiting(await engine.waits(chat))
    await engine.do(chat, Decide(call_id=call_id, verdict="deny", user_id=OWNER, note="not on a Friday"))
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1][1] == "The user did not allow this: not on a Friday"
    assert tools.ledger == []


async def test_approved_once_is_asked_again(engine: Engine) -> None:
    engine.start(ASKING)
    chat = await engine.create("repeat 2: call: write\nsay: Done.")
    for _ in range(2):
        (call_id,) = waiting(await engine.waits(chat))
        await engine.do(chat, Decide(call_id=call_id, verdict="approve", user_id=OWNER))
    await engine.idle(chat)


async def test_approved_for_the_chat_is_not(engine_everywhere: Engine, tools: Toolbox) -> None:
    engine = engine_everywhere
    engine.start(ASKING)
    chat = await engine.create('call: write {"name": "a"}\ncall: write {"name": "b"}\nsay: Done.')
    (call_id,) = waiting(await engine.waits(chat))
    await engine.do(chat, Decide(call_id=call_id, verdict="approve", user_id=OWNER, scope="chat"))
    await engine.idle(chat)
    await engine.send(chat, 'call: write {"name": "c"}')
    await engine.idle(chat)
    assert tools.ledger == ["a", "b", "c"]
    approvals = [call.approval for call in await engine.calls(chat)]
    assert [(one.by, one.rule or one.scope) for one in approvals if one is not None] == [
        ("person", "chat"),
        ("rule", "allowed for this chat"),
        ("rule", "allowed for this chat"),
    ]
    # Another chat is another matter.
    other = await engine.create("call: write")
    await engine.waits(other)


async def test_denied_for_the_chat_is_denied_without_asking(engine: Engine, tools: Toolbox) -> None:
    engine.start(ASKING)
    chat = await engine.create("call: write\ncall: write\nsay: Done.")
    (call_id,) = waiting(await engine.waits(chat))
    await engine.do(chat, Decide(call_id=call_id, verdict="deny", user_id=OWNER, scope="chat"))
    await engine.idle(chat)
    assert [result.outcome for result in await engine.results(chat)] == ["denied", "denied"]
    assert tools.ledger == []


# What else may happen while a chat waits


async def test_an_interrupt_cancels_what_is_waited_for(engine: Engine) -> None:
    engine.start()
    chat = await engine.create(QUESTION)
    await engine.waits(chat)
    await engine.do(chat, Interrupt())
    await engine.idle(chat)
    (result,) = await engine.results(chat)
    assert (result.outcome, result.output) == (
        "cancelled",
        "Cancelled, not run, because the turn was interrupted.",
    )
    await engine.send(chat, "say: Go on.")
    await engine.idle(chat)
    assert engine.server.refusals == []


async def test_another_message_instead_of_an_answer(engine: Engine) -> None:
    engine.start()
    chat = await engine.create(QUESTION)
    await engine.waits(chat)
    await engine.do(chat, Send(parts=(Text(text="say: Neither."),), busy="interrupt", created_by=OWNER))
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", "Neither.")
    assert engine.server.refusals == []


async def test_a_steer_enters_after_the_answer(engine: Engine) -> None:
    engine.server.queue(calls(Call("open_tab")), say("I see."))
    engine.start()
    chat = await engine.create("Open it", client_tools=(TAB,))
    (call_id,) = waiting(await engine.waits(chat))
    await engine.send(chat, "And be quick", "steer")
    await engine.do(chat, answer(call_id, "opened"))
    view = await engine.idle(chat)
    assert view.chat.turn == 1
    assert [message["role"] for message in engine.asked[1].body["messages"]][-3:] == [
        "assistant",
        "tool",
        "user",
    ]
    assert [message.role for message in await engine.history(chat)] == [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
    ]


async def test_compacting_is_refused_while_it_waits(engine: Engine) -> None:
    engine.start()
    chat = await engine.create(QUESTION)
    await engine.waits(chat)
    assert (await engine.refused(chat, Compact())).code == "wrong_state"


async def test_a_restart_changes_nothing(engine: Engine) -> None:
    worker = engine.start()
    chat = await engine.create(f"{QUESTION}\nsay: {{result}}")
    (call_id,) = waiting(await engine.waits(chat))
    await engine.stop(worker)
    await engine.do(chat, answer(call_id, "blue"))
    view = await engine.store.view(chat)
    assert view is not None
    assert view.chat.status == "running"
    engine.start()
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", "blue")


# Nobody knows how it ended


async def test_what_nobody_knows_is_told(engine_everywhere: Engine, tools: Toolbox) -> None:
    engine = engine_everywhere
    chat = await leave_running(engine, "say: {result}", new_call("write", effect="unsafe"))
    engine.start()
    await engine.idle(chat)
    (result,) = await engine.results(chat)
    assert result.outcome == "uncertain"
    assert "not known" in str(result.output)
    assert "not known" in (await engine.texts(chat))[-1][1]
    assert tools.ledger == []


@pytest.mark.parametrize(
    "verdict, words", [("retry", "repeat the call"), ("done", '"It is blue."'), ("skip", "without it")]
)
async def test_what_somebody_knows_later_is_a_notice(
    engine: Engine, tools: Toolbox, verdict: Verdict, words: str
) -> None:
    chat = await leave_running(engine, "say: I see.", new_call("write", effect="unsafe"))
    engine.start()
    await engine.idle(chat)
    (call,) = await engine.calls(chat)
    decision = Decide(
        call_id=call.call_id, verdict=verdict, user_id=OWNER, output="It is blue.", note="Believe me."
    )
    refusal = await engine.refused(chat, decision)
    assert refusal.code in ("already_answered", "wrong_state")
    notice = late_decision_notice(call, decision)
    assert notice is not None
    asked = len(engine.asked)
    await engine.do(chat, notice)
    await engine.idle(chat)
    assert len(engine.asked) == asked + 1
    assert words in said_to_model(engine.asked[-1])
    assert "Believe me." in said_to_model(engine.asked[-1])
    # Once is enough, and no call is ever run by it.
    await engine.do(chat, notice)
    await engine.idle(chat)
    assert len(engine.asked) == asked + 1
    assert tools.ledger == []


async def test_nothing_is_said_later_of_a_call_that_ended(engine: Engine) -> None:
    engine.start()
    chat = await engine.create('call: add {"a": 1, "b": 2}\nsay: Three.')
    await engine.idle(chat)
    (call,) = await engine.calls(chat)
    assert late_decision_notice(call, Decide(call_id=call.call_id, verdict="done", user_id=OWNER)) is None


async def test_what_may_be_repeated_is(engine_everywhere: Engine, tools: Toolbox) -> None:
    engine = engine_everywhere
    chat = await leave_running(
        engine,
        "say: Done.",
        new_call("put", effect="idempotent", name="again"),
        new_call("look", effect="read", name="as well"),
        new_call("write", effect="unsafe", name="not this"),
        new_call("write", effect="unsafe", name="never begun", begun=False),
    )
    engine.start()
    await engine.idle(chat)
    assert sorted(tools.ledger) == ["again", "as well", "never begun"]
    assert [(result.name, result.outcome) for result in await engine.results(chat)] == [
        ("put", "succeeded"),
        ("look", "succeeded"),
        ("write", "uncertain"),
        ("write", "succeeded"),
    ]
    # The same key as the first time, another number of the run.
    repeated = next(context for context in tools.contexts if context.call_id.endswith("0"))
    assert (repeated.run, repeated.key) == (2, f"{chat}:{repeated.call_id}")


async def asked_about(engine: Engine) -> tuple[ChatId, CallId]:
    """A chat that asks what became of a call."""
    chat = await leave_running(
        engine, "say: {result}", new_call("write", effect="unsafe", on_uncertain="ask")
    )
    engine.start()
    (call_id,) = waiting(await engine.waits(chat))
    (asked,) = await engine.asked_for(chat)
    assert asked.kind == "uncertain"
    return chat, call_id


async def test_run_again_is_refused_until_the_old_worker_is_surely_dead(
    engine_everywhere: Engine, tools: Toolbox
) -> None:
    engine = engine_everywhere
    chat, call_id = await asked_about(engine)
    again = Decide(call_id=call_id, verdict="retry", user_id=OWNER)
    refusal = await engine.refused(chat, again)
    assert (refusal.code, tools.ledger) == ("wrong_state", [])
    engine.clock.offset += timedelta(seconds=5.5)
    await engine.do(chat, again)
    await engine.idle(chat)
    assert tools.ledger == [""]
    (call,) = await engine.calls(chat)
    assert (call.run, call.outcome) == (2, "succeeded")
    assert (await engine.refused(chat, again)).code == "wrong_state"


async def test_it_was_done(engine: Engine, tools: Toolbox) -> None:
    chat, call_id = await asked_about(engine)
    await engine.do(chat, Decide(call_id=call_id, verdict="done", user_id=OWNER, output="seen it"))
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1][1] == "seen it"
    assert tools.ledger == []


async def test_skip_it(engine: Engine, tools: Toolbox) -> None:
    chat, call_id = await asked_about(engine)
    await engine.do(chat, Decide(call_id=call_id, verdict="skip", user_id=OWNER))
    await engine.idle(chat)
    assert [result.outcome for result in await engine.results(chat)] == ["cancelled"]
    assert tools.ledger == []


async def test_a_late_end_of_the_dead_is_refused(engine: Engine) -> None:
    chat = await leave_running(engine, "say: {result}", new_call("write", effect="unsafe"))
    engine.start()
    await engine.idle(chat)
    (call,) = await engine.calls(chat)
    late = FinishCall(call_id=call.call_id, run=1, outcome="succeeded", output="after all")
    refusal = await engine.store.transition(chat, late, fence=Fence(lease_number=1))
    assert isinstance(refusal, Refusal)
    assert refusal.code == "stale"
    assert (await engine.results(chat))[0].outcome == "uncertain"
