"""Hooks at work in a turn: what they decide counts, whatever dies in between. Their programs answer from a
script here; what a program really does is in `tests/tools/test_hook_programs.py`."""

from collections.abc import Callable
from typing import Any

import pytest

from holdfast.chats.commands import Decide, JudgeCalls
from holdfast.core.calls import Scope
from holdfast.core.clock import SystemClock
from holdfast.core.hooks import EventName, HookRun
from holdfast.core.ids import ChatId
from holdfast.core.parts import Notice
from holdfast.core.shapes import Json
from holdfast.store import hook_runs, outbox
from holdfast.tools.approval import ApprovalRules
from holdfast.tools.hooks.decisions import HookEnd
from holdfast.tools.hooks.definitions import Hook
from holdfast.tools.hooks.hooks import Hooks
from holdfast.tools.hooks.programs import HookPrograms
from holdfast.tools.trust import Trust
from holdfast.worker.settings import WorkerSettings
from holdfast.workspaces.commands.mounts import CommandPlace
from tests.providers.replies import Call, calls, say
from tests.worker.engine import OWNER, QUICK_RETRIES, SETTINGS, Engine, said_to_model
from tests.worker.toolbox import Toolbox

Answer = Callable[[dict[str, Json]], HookEnd]
ASKS = WorkerSettings(retry=QUICK_RETRIES, poll_seconds=0.2, rules=ApprovalRules(per_tool={"write": "ask"}))
DENIES = WorkerSettings(
    retry=QUICK_RETRIES, poll_seconds=0.2, rules=ApprovalRules(per_tool={"write": "deny"})
)


class Scripted(HookPrograms):
    """Answers by the hook's command, and keeps what each was told."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.told: list[tuple[str, dict[str, Json]]] = []
        self.read_only: list[bool] = []

    async def run(  # pyright: ignore[reportImplicitOverride] - the decorator is younger than 3.11
        self,
        hook: Hook,
        given: dict[str, Json],
        place: CommandPlace | None,
        *,
        home: str,
        read_only: bool = False,
    ) -> HookEnd:
        self.told.append((hook.command, given))
        self.read_only.append(read_only)
        return self.answers[hook.command](given)


class NoWorkspaces:
    async def place_of(self, _: Any) -> CommandPlace | None:
        return None

    async def draft_of(self, _: Any) -> None:
        return None


class HookWorld:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.programs = Scripted()
        self.configured: list[Hook] = []
        trust = Trust(engine.store, None, SystemClock())
        workspaces: Any = NoWorkspaces()
        self.hooks = Hooks(
            engine.store, trust, workspaces, self.programs, configured=lambda: tuple(self.configured)
        )

    def add(self, event: EventName, answer: Answer, matcher: str = "", **more: Any) -> str:
        command = f"hook {len(self.configured)}"
        self.configured.append(
            Hook(source="config", event=event, matcher=matcher, command=command, path="test", **more)
        )
        self.programs.answers[command] = answer
        return command

    def start(self, settings: WorkerSettings = SETTINGS) -> None:
        self.engine.start(settings, hooks=self.hooks)

    async def runs(self, chat: ChatId) -> tuple[HookRun, ...]:
        return await self.engine.store.read(hook_runs.of_turns(chat, 0, 100))


@pytest.fixture
async def world(engine: Engine) -> HookWorld:
    return HookWorld(engine)


@pytest.fixture
async def world_everywhere(engine_everywhere: Engine) -> HookWorld:
    return HookWorld(engine_everywhere)


def ends(exit_code: int = 0, output: str = "", errors: str = "") -> Answer:
    return lambda _: HookEnd(exit_code=exit_code, output=output, errors=errors)


def decides(decision: str, **more: str) -> Answer:
    fields = ", ".join(f'"{name}": {value}' for name, value in more.items())
    inner = (
        f'"hookEventName": "PreToolUse", "permissionDecision": "{decision}"{", " if fields else ""}{fields}'
    )
    return ends(output=f'{{"hookSpecificOutput": {{{inner}}}}}')


# Before a call


async def test_a_denied_call_does_not_run_and_the_model_is_told_why(
    world_everywhere: HookWorld, tools: Toolbox
) -> None:
    world, engine = world_everywhere, world_everywhere.engine
    world.add("pre_tool", ends(2, errors="not on a Friday"), matcher="write")
    engine.server.queue(calls(Call("write", {"name": "a"}), Call("look", {"name": "b"})), say("Well."))
    world.start()
    chat = await engine.create("Write")
    await engine.idle(chat)
    first, second = await engine.results(chat)
    assert (first.outcome, second.outcome) == ("denied", "succeeded")
    assert "not on a Friday" in str(first.output)
    assert tools.ledger == ["b"]
    (run,) = await world.runs(chat)
    assert (run.event, run.outcome, run.exit_code, run.call_id) == ("pre_tool", "blocked", 2, first.call_id)
    # Only of the call that its matcher names.
    assert [given["tool"] for _, given in world.programs.told] == ["write"]


async def test_what_a_hook_changed_is_what_is_approved_and_what_runs(
    world: HookWorld, tools: Toolbox
) -> None:
    engine = world.engine
    world.add("pre_tool", decides("ask", updatedInput='{"name": "changed"}'), matcher="write")
    engine.server.queue(calls(Call("write", {"name": "asked"})), say("Done."))
    world.start()
    chat = await engine.create("Write")
    await engine.waits(chat)
    (asked,) = await engine.asked_for(chat)
    assert (asked.kind, asked.input) == ("approval", {"name": "changed"})
    assert tools.ledger == []
    scope: Scope = "once"
    await engine.do(chat, Decide(call_id=asked.call_id, verdict="approve", user_id=OWNER, scope=scope))
    await engine.idle(chat)
    assert tools.ledger == ["changed"]


async def test_an_allowing_hook_spares_the_question_but_not_a_configured_denial(
    world: HookWorld, tools: Toolbox
) -> None:
    engine = world.engine
    world.add("pre_tool", decides("allow"))
    engine.server.queue(calls(Call("write", {"name": "a"})), say("Done."))
    world.start(ASKS)
    chat = await engine.create("Write")
    await engine.idle(chat)
    assert tools.ledger == ["a"]
    (call,) = await engine.calls(chat)
    assert call.approval is not None
    assert call.approval.rule == "hook: hook"
    await engine.stop()
    engine.server.queue(calls(Call("write", {"name": "b"})), say("Done."))
    world.start(DENIES)
    chat = await engine.create("Write")
    await engine.idle(chat)
    assert tools.ledger == ["a"]
    (result,) = await engine.results(chat)
    assert result.outcome == "denied"


async def test_changed_input_that_does_not_fit_the_tool_is_an_error_of_the_call(
    world: HookWorld, tools: Toolbox
) -> None:
    engine = world.engine
    world.add("pre_tool", decides("allow", updatedInput='{"nonsense": 1}'))
    engine.server.queue(calls(Call("write", {"name": "a"})), say("Done."))
    world.start()
    chat = await engine.create("Write")
    await engine.idle(chat)
    (result,) = await engine.results(chat)
    assert result.outcome == "failed"
    assert tools.ledger == []


async def test_several_hooks_see_what_the_one_before_changed_and_the_strictest_counts(
    world: HookWorld, tools: Toolbox
) -> None:
    engine = world.engine
    world.add("pre_tool", decides("allow", updatedInput='{"name": "second"}'))
    world.add("pre_tool", decides("deny", permissionDecisionReason='"no"'))
    world.add("pre_tool", decides("allow"))
    engine.server.queue(calls(Call("write", {"name": "first"})), say("Done."))
    world.start()
    chat = await engine.create("Write")
    await engine.idle(chat)
    assert [given["input"] for _, given in world.programs.told] == [{"name": "first"}, {"name": "second"}]
    assert tools.ledger == []


@pytest.mark.parametrize("on_failure, ran", [("continue", ["a"]), ("block", [])])
async def test_a_hook_that_fails_blocks_only_where_it_must_pass(
    world: HookWorld, tools: Toolbox, on_failure: str, ran: list[str]
) -> None:
    engine = world.engine
    world.add("pre_tool", ends(1, errors="a bug"), on_failure=on_failure)
    engine.server.queue(calls(Call("write", {"name": "a"})), say("Done."))
    world.start()
    chat = await engine.create("Write")
    await engine.idle(chat)
    assert tools.ledger == ran
    (run,) = await world.runs(chat)
    assert run.outcome == "failed"


async def test_after_a_crash_a_decision_that_is_recorded_counts_and_its_hook_is_not_run_again(
    world_everywhere: HookWorld, tools: Toolbox
) -> None:
    """The worker dies after the hook has spoken and before the call is judged."""
    world, engine = world_everywhere, world_everywhere.engine
    world.add("pre_tool", ends(2, errors="no"))
    engine.server.queue(calls(Call("write", {"name": "a"})), say("Done."))
    transition = engine.store.transition

    async def dies(chat_id: ChatId, *commands: Any, **more: Any) -> Any:
        if any(isinstance(command, JudgeCalls) for command in commands):
            raise RuntimeError("dead")
        return await transition(chat_id, *commands, **more)

    engine.store.transition = dies
    world.start()
    chat = await engine.create("Write")
    await engine.failed(chat)
    engine.store.transition = transition
    (run,) = await world.runs(chat)
    assert run.outcome == "blocked"
    assert tools.ledger == []
    assert len(world.programs.told) == 1


async def test_a_call_that_waits_for_hooks_is_judged_by_whoever_takes_the_chat_over(
    world: HookWorld, tools: Toolbox
) -> None:
    """The first worker stops while the hook runs: the second one asks it again, and then decides."""
    engine = world.engine
    first: list[bool] = []

    def slow(_: dict[str, Json]) -> HookEnd:
        if not first:
            first.append(True)
            raise OSError("the server is going down")
        return HookEnd(exit_code=2, errors="no")

    world.add("pre_tool", slow)
    engine.server.queue(calls(Call("write", {"name": "a"})), say("Done."))
    world.start()
    chat = await engine.create("Write")
    await engine.settled(chat)
    assert tools.ledger == []


# After a call


async def test_what_a_hook_says_after_a_call_reaches_the_model_with_the_result(
    world_everywhere: HookWorld,
) -> None:
    world, engine = world_everywhere, world_everywhere.engine
    world.add("post_tool", ends(2, errors="the linter is not happy"))
    engine.server.queue(calls(Call("write", {"name": "a"})), say("I see."))
    world.start()
    chat = await engine.create("Write")
    await engine.idle(chat)
    (result,) = await engine.results(chat)
    assert result.outcome == "succeeded"
    assert "the linter is not happy" in said_to_model(engine.asked[-1])
    ((_, given),) = world.programs.told
    assert (given["event"], given["output"], given["outcome"]) == ("post_tool", "wrote a", "succeeded")


async def test_a_hook_may_end_the_turn_after_a_call(world: HookWorld) -> None:
    engine = world.engine
    world.add("post_tool", ends(output='{"continue": false, "stopReason": "enough"}'))
    engine.server.queue(calls(Call("write", {"name": "a"})))
    world.start()
    chat = await engine.create("Write")
    await engine.idle(chat)
    notices = [p for m in await engine.history(chat) for p in m.parts if isinstance(p, Notice)]
    assert [notice.code for notice in notices] == ["hook_stopped"]
    assert "enough" in notices[0].text


# What the user says


async def test_a_blocked_message_never_reaches_a_model_and_the_queue_goes_on(
    world_everywhere: HookWorld,
) -> None:
    world, engine = world_everywhere, world_everywhere.engine

    def looks(given: dict[str, Json]) -> HookEnd:
        bad = "secret" in str(given["prompt"])
        return HookEnd(exit_code=2, errors="no secrets") if bad else HookEnd(exit_code=0)

    world.add("user_prompt", looks)
    chat = await engine.create("my secret is 1234")
    await engine.send(chat, "hello")
    engine.server.queue(say("Hello."))
    world.start()
    await engine.idle(chat)
    assert len(engine.asked) == 1
    assert "1234" not in said_to_model(engine.asked[0])
    texts = await engine.texts(chat)
    assert ("user", "my secret is 1234") not in texts
    assert ("user", "hello") in texts
    notices = [p for m in await engine.history(chat) for p in m.parts if isinstance(p, Notice)]
    assert [notice.code for notice in notices] == ["hook_blocked"]


async def test_a_hook_adds_what_the_model_should_know(world: HookWorld) -> None:
    engine = world.engine
    world.add("user_prompt", ends(output="It is Tuesday."))
    engine.server.queue(say("Hello."))
    world.start()
    chat = await engine.create("Hi")
    await engine.idle(chat)
    assert "It is Tuesday." in said_to_model(engine.asked[0])
    assert len(world.programs.told) == 1


async def test_a_steer_is_looked_at_before_the_model_sees_it(world: HookWorld, tools: Toolbox) -> None:
    engine = world.engine

    def looks(given: dict[str, Json]) -> HookEnd:
        return HookEnd(exit_code=2 if "bad" in str(given["prompt"]) else 0, errors="no")

    world.add("user_prompt", looks)
    engine.server.queue(calls(Call("patient", {"name": "x"})), say("Done."))
    world.start()
    chat = await engine.create("Go")
    await engine.until(chat, lambda view: any(call.state == "started" for call in view.calls))
    await engine.send(chat, "a bad idea", "steer")
    tools.go("x").set()
    await engine.idle(chat)
    assert "a bad idea" not in said_to_model(engine.asked[-1])
    assert len(engine.asked) == 2


# The end of a turn


async def test_a_hook_may_ask_for_one_more_step_at_most_three_times_in_a_row(
    world_everywhere: HookWorld,
) -> None:
    world, engine = world_everywhere, world_everywhere.engine
    world.add("turn_end", ends(output='{"decision": "block", "reason": "polish it"}'))
    for n in range(4):
        engine.server.queue(say(f"Answer {n}."))
    world.start()
    chat = await engine.create("Work")
    await engine.idle(chat)
    assert len(engine.asked) == 4
    assert said_to_model(engine.asked[-1]).count("polish it") == 3
    assert [given["asked_before"] for _, given in world.programs.told] == [False, True, True, True]
    assert {given["last_message"] for _, given in world.programs.told} == {f"Answer {n}." for n in range(4)}


async def test_a_turn_ends_when_its_hooks_are_content(world: HookWorld) -> None:
    engine = world.engine
    world.add("turn_end", ends())
    engine.server.queue(say("Done."))
    world.start()
    chat = await engine.create("Work")
    await engine.idle(chat)
    assert len(engine.asked) == 1
    assert len(world.programs.told) == 1


# Modes, and what is told afterwards


async def test_programs_of_hooks_see_the_workspace_read_only_in_plan_mode(world: HookWorld) -> None:
    from holdfast.chats.commands import SetMode

    engine = world.engine
    world.add("user_prompt", ends())
    chat = await engine.create("Think")
    await engine.do(chat, SetMode(mode="plan"))
    engine.server.queue(say("A plan."))
    world.start()
    await engine.idle(chat)
    assert world.programs.read_only == [True]


async def test_events_are_kept_only_while_somebody_listens(world_everywhere: HookWorld) -> None:
    world, engine = world_everywhere, world_everywhere.engine
    url = Hook(source="config", event="post_tool", url="https://example.com/x", path="test")
    engine.server.queue(calls(Call("write", {"name": "a"})), say("Done."))
    await world.hooks.look()
    world.start()
    chat = await engine.create("Write")
    await engine.idle(chat)
    assert await engine.store.read(outbox.unspread(10)) == ()
    world.configured.append(url)
    engine.server.queue(calls(Call("write", {"name": "b"})), say("Done."))
    await engine.send(chat, "Again")
    await engine.idle(chat)
    (event,) = await engine.store.read(outbox.unspread(10))
    assert (event.event, event.data["output"], event.data["outcome"]) == ("post_tool", "wrote b", "succeeded")
