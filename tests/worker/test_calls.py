"""Tool calls at work: some at once, alone, ending the turn, failing in every way a tool can."""

from collections.abc import Callable

import pytest

from holdfast.chats.commands import Interrupt
from holdfast.core.ids import WorkerId
from holdfast.core.parts import ToolResult
from holdfast.prompt.sources import PromptChat, WorkspaceText
from holdfast.tools.output import OUTPUT_LIMIT
from holdfast.worker.settings import WorkerSettings
from tests.providers.replies import Call, Reply, calls, say
from tests.worker.engine import QUICK_RETRIES, Engine, eventually
from tests.worker.faults import fail_transitions
from tests.worker.toolbox import Toolbox


async def only_result(engine: Engine, message: str) -> ToolResult:
    """The result of the one call that this script makes."""
    chat = await engine.create(message)
    await engine.idle(chat)
    (result,) = await engine.results(chat)
    return result


# Some at once


async def test_eight_at_once_and_no_more(engine_everywhere: Engine, tools: Toolbox) -> None:
    engine = engine_everywhere
    engine.server.queue(calls(*(Call("patient", {"name": str(n)}) for n in range(12))), say("All of them."))
    engine.start()
    chat = await engine.create("Twelve, please")
    await eventually(lambda: tools.running == 8)
    view = await engine.store.view(chat)
    assert view is not None
    assert [call.state for call in view.calls] == ["started"] * 8 + ["pending"] * 4
    # The next begins when one ends, whichever it is.
    tools.go("3").set()
    await eventually(lambda: "8" in tools.ledger)
    assert tools.running == 8
    for n in range(12):
        tools.go(str(n)).set()
    await engine.idle(chat)
    assert tools.most_running == 8
    assert sorted(tools.ledger, key=int) == [str(n) for n in range(12)]
    assert [result.output for result in await engine.results(chat)] == [f"waited {n}" for n in range(12)]


async def test_the_limit_can_be_set(engine: Engine, tools: Toolbox) -> None:
    engine.server.queue(calls(*(Call("patient", {"name": str(n)}) for n in range(3))), say("All."))
    engine.start(WorkerSettings(calls_at_once=1))
    chat = await engine.create("One by one")
    for n in range(3):
        await eventually(lambda: tools.running == 1)
        tools.go(str(n)).set()
    await engine.idle(chat)
    assert tools.most_running == 1
    assert tools.ledger == ["0", "1", "2"]


async def test_results_of_a_step_are_one_message_in_the_order_of_the_calls(
    engine: Engine, tools: Toolbox
) -> None:
    engine.server.queue(
        calls(Call("patient", {"name": "slow"}), Call("add", {"a": 1, "b": 2}), Call("broken")), say("Done.")
    )
    engine.start()
    chat = await engine.create("Three")
    await engine.until(chat, lambda view: [call.state for call in view.calls].count("finished") == 2)
    tools.go("slow").set()
    await engine.idle(chat)
    (message,) = [message for message in await engine.history(chat) if message.role == "tool"]
    assert [part.output for part in message.parts if isinstance(part, ToolResult)][:2] == ["waited slow", 3]


async def test_an_exclusive_tool_alone(engine: Engine, tools: Toolbox) -> None:
    engine.start()
    assert (await only_result(engine, 'call: alone {"name": "me"}')).outcome == "succeeded"
    assert tools.ledger == ["me"]


async def test_an_exclusive_tool_with_others_runs_nobody(engine: Engine, tools: Toolbox) -> None:
    engine.start()
    chat = await engine.create('calls: write {"name": "a"}; alone {"name": "b"}\nsay: {result}')
    await engine.idle(chat)
    assert {result.outcome for result in await engine.results(chat)} == {"failed"}
    assert "must be the only call" in (await engine.texts(chat))[-1][1]
    assert tools.ledger == []


# The end of a turn


async def test_a_tool_that_ends_the_turn(engine: Engine) -> None:
    engine.start()
    chat = await engine.create('call: done {"name": "it"}\nsay: Never said.')
    await engine.idle(chat)
    assert len(engine.asked) == 1
    assert [result.output for result in await engine.results(chat)] == ["wrote it"]
    await engine.send(chat, "say: Here again.")
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", "Here again.")
    assert engine.server.refusals == []


async def test_others_of_its_step_run_as_well(engine: Engine, tools: Toolbox) -> None:
    engine.start()
    chat = await engine.create('calls: done {"name": "a"}; write {"name": "b"}')
    await engine.idle(chat)
    assert sorted(tools.ledger) == ["a", "b"]
    assert len(engine.asked) == 1


# Whatever a tool does


async def test_a_tool_that_raises(engine: Engine) -> None:
    engine.start()
    result = await only_result(engine, "call: broken\nsay: So be it.")
    assert (result.outcome, result.output) == ("failed", "broken failed: LookupError: nothing there")


async def test_a_tool_that_says_what_to_do_instead(engine: Engine) -> None:
    engine.start()
    result = await only_result(engine, "call: refuse")
    assert (result.outcome, result.output) == ("failed", "Not like this: use another name.")


async def test_a_tool_that_wants_the_process_to_end(engine: Engine) -> None:
    engine.start()
    result = await only_result(engine, "call: exits")
    assert (result.outcome, result.output) == ("failed", "exits failed: SystemExit: 3")


@pytest.mark.parametrize(
    "tool, kind, told",
    [
        ("escapes", "generator", "GeneratorExit: at the wrong time"),
        ("escapes", "group", "BaseExceptionGroup: several (2 sub-exceptions)"),
        ("escapes_in_a_thread", "exit", "RuntimeError: SystemExit was raised"),
        ("escapes_in_a_thread", "generator", "GeneratorExit: at the wrong time"),
        ("escapes_in_a_thread", "group", "BaseExceptionGroup: several (2 sub-exceptions)"),
        ("escapes_in_a_thread", "keyboard", "RuntimeError: KeyboardInterrupt was raised"),
    ],
)
async def test_a_tool_that_raises_what_is_no_exception(
    engine: Engine, tool: str, kind: str, told: str
) -> None:
    engine.start()
    result = await only_result(engine, f'call: {tool} {{"name": "{kind}"}}')
    assert (result.outcome, result.output) == ("failed", f"{tool} failed: {told}")


async def test_a_turn_ends_whatever_is_raised_in_it(engine: Engine) -> None:
    """The chat is nobody's then, and can be used."""

    class Broken:
        async def instructions(self, where: PromptChat) -> WorkspaceText:
            raise GeneratorExit("in the middle of a turn")

        async def check(self, where: PromptChat, still_ours: Callable[[], bool]) -> None:
            return None

    engine.start(surroundings=Broken())
    chat = await engine.create("say: Hello.")
    view = await engine.failed(chat)
    assert view.chat.last_error is not None
    assert view.chat.last_error.kind == "internal"
    assert "GeneratorExit: in the middle of a turn" in (view.chat.last_error.detail or "")
    assert view.chat.lease is None


async def test_a_tool_that_answers_nonsense(engine: Engine) -> None:
    engine.start()
    result = await only_result(engine, "call: nonsense")
    assert (result.outcome, result.output) == ("failed", "nonsense returned no answer but str.")
    result = await only_result(engine, "call: strange")
    assert result.outcome == "failed"
    assert "not JSON" in str(result.output)


async def test_a_tool_that_takes_too_long(engine: Engine, tools: Toolbox) -> None:
    engine.start()
    result = await only_result(engine, 'call: slow {"name": "x"}\nsay: Well.')
    assert result.outcome == "failed"
    assert str(result.output) == "slow did not end within 0.05 s and was stopped; it may have had effects."
    assert tools.cancelled == ["x"]


async def test_how_long_a_tool_may_take_can_be_set(engine: Engine, tools: Toolbox) -> None:
    engine.start(WorkerSettings(tool_seconds={"patient": 0.02, "block": 0.03}))
    result = await only_result(engine, 'call: patient {"name": "x"}\nsay: Well.')
    assert str(result.output).startswith("patient did not end within 0.02 s")
    result = await only_result(engine, "call: block\nsay: Well.")
    assert str(result.output).startswith("block did not end within 0.03 s")
    assert tools.contexts == [] or tools.contexts[0].seconds == 0.02


async def test_a_thread_that_takes_too_long_is_left_behind(engine: Engine) -> None:
    engine.start()
    result = await only_result(engine, "call: slow_block\nsay: Well.")
    assert result.outcome == "failed"
    assert "could not be stopped" in str(result.output)


@pytest.mark.heavy
async def test_a_tool_that_blocks_holds_up_nobody(
    engine: Engine, tools: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty of them at once, more than any pool has threads: another chat and the lease go on."""
    renew, renewals = engine.store.renew, list[bool]()

    def counted(worker_id: WorkerId, lease_seconds: float) -> bool:
        renewals.append(renew(worker_id, lease_seconds))
        return renewals[-1]

    monkeypatch.setattr(engine.store, "renew", counted)
    engine.start(WorkerSettings(calls_at_once=40, lease_seconds=3.0))
    engine.server.queue(calls(*(Call("block", {"name": str(n)}) for n in range(40))), say("At last."))
    chat = await engine.create("Block")
    await eventually(lambda: len(tools.ledger) == 40)
    other = await engine.create('call: add {"a": 1, "b": 2}\nsay: Quick.')
    await engine.idle(other)
    await eventually(lambda: len(renewals) > 3)
    view = await engine.store.view(chat)
    assert view is not None
    assert view.chat.lease_number == 1
    tools.release.set()
    await engine.idle(chat)
    assert len(tools.threads) == 40
    assert len(tools.ledger) == 40


# Output


async def test_large_output_is_cut_for_the_model_and_kept_in_full(engine_everywhere: Engine) -> None:
    engine = engine_everywhere
    engine.start()
    chat = await engine.create('call: big {"size": 100000}\nsay: That was long.')
    await engine.idle(chat)
    (result,) = await engine.results(chat)
    text = str(result.output)
    assert result.truncated
    assert len(text) < OUTPUT_LIMIT + 100
    assert text.startswith("xxx")
    assert text.endswith("xxend")
    assert "[... 70000 characters left out ...]" in text
    assert (await engine.call(chat, result.call_id)).full_output == "x" * 99_997 + "end"
    assert engine.asked[1].body["messages"][-1]["content"] == text


# What a tool knows


async def test_where_a_call_runs(engine: Engine, tools: Toolbox) -> None:
    engine.start()
    chat = await engine.create("call: write")
    await engine.idle(chat)
    (context,) = tools.contexts
    (call,) = await engine.calls(chat)
    assert (context.chat_id, context.call_id, context.run) == (chat, call.call_id, 1)
    assert context.key == f"{chat}:{call.call_id}"


# Cancelled


@pytest.mark.parametrize("message", ["call: patient\nsay: No.", 'calls: patient; patient {"name": "b"}'])
async def test_cancelled_tools_have_ended_when_the_turn_has(
    engine: Engine, tools: Toolbox, message: str
) -> None:
    engine.start()
    chat = await engine.create(message)
    await engine.until(
        chat, lambda view: all(call.state == "started" for call in view.calls) and bool(view.calls)
    )
    await eventually(lambda: tools.running == len(message.split("patient")) - 1)
    await engine.do(chat, Interrupt())
    await engine.idle(chat)
    assert tools.running == 0
    assert {result.outcome for result in await engine.results(chat)} == {"cancelled"}


async def test_a_call_is_never_begun_twice_although_its_commit_seemed_lost(
    engine: Engine, tools: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to a commit is lost twice, while other calls of the step run."""
    faults = fail_transitions(
        monkeypatch,
        engine.store,
        when="after",
        which=lambda commands, count: commands[0].kind == "finish_call" and count < 2,
    )
    engine.server.queue(
        calls(*(Call("write" if n < 3 else "patient", {"name": str(n)}) for n in range(6))), say("Done.")
    )
    engine.start(WorkerSettings(calls_at_once=4, retry=QUICK_RETRIES))
    chat = await engine.create("Six")
    await eventually(lambda: sorted(tools.ledger) == ["0", "1", "2", "3", "4", "5"])
    for n in range(6):
        tools.go(str(n)).set()
    await engine.idle(chat)
    assert faults.count == 2
    assert len(tools.ledger) == 6
    assert {result.outcome for result in await engine.results(chat)} == {"succeeded"}


async def test_the_provider_sees_one_result_for_each_call(engine: Engine) -> None:
    engine.server.queue(
        Reply(content=(Call("add", {"a": 1, "b": 2}), Call("nope"), Call("broken"))), say("Ok.")
    )
    engine.start()
    chat = await engine.create("Three", model="claude")
    await engine.idle(chat)
    blocks = engine.asked[1].body["messages"][-1]["content"]
    assert [(block["type"], block.get("is_error", False)) for block in blocks] == [
        ("tool_result", False),
        ("tool_result", True),
        ("tool_result", True),
    ]
