"""Kills around tool calls: an effect is never repeated automatically, an unknown outcome is reported, and
waiting for people continues."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.chats.synthetic import EXPIRED, UNCERTAIN
from holdfast.core.chats import Chat
from holdfast.core.ids import CallId, ChatId
from holdfast.core.parts import ToolResult
from tests.crash.judge import judge
from tests.crash.orders import Dump
from tests.crash.points import Point
from tests.crash.scripts import call, calls, message, one
from tests.crash.stage import QUICK, Stage, a_stage

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600)]


async def kill_at(stage: Stage, point: Point, text: str) -> ChatId:
    """A chat whose owner dies at this point; afterwards everything has settled."""
    victim = await stage.start(point)
    chat_id = await stage.create(text)
    await stage.dead(victim, point.words)
    stage.open_gate()
    await stage.start()
    await stage.settle()
    assert await judge(stage) == []
    return chat_id


def results(dump: Dump) -> list[ToolResult]:
    return [part for message in dump.messages for part in message.parts if isinstance(part, ToolResult)]


async def test_f09_an_effect_whose_result_was_lost_is_not_repeated(stage: Stage) -> None:
    chat_id = await kill_at(stage, Point(name="after pay"), message(call("pay")))
    (result,) = results(await stage.dump(chat_id))
    assert (result.outcome, result.output) == ("uncertain", UNCERTAIN)
    assert len(stage.ledger.effects("pay")) == 1
    assert stage.asked_of(UNCERTAIN) == 1, "the model was not told"
    await stage.leave()


async def test_f10_what_was_only_meant_is_told_or_run_again(stage: Stage) -> None:
    """Started and killed before the effect: an unsafe call is told, an idempotent one runs."""
    unsafe = await kill_at(stage, Point(name="before pay"), message(call("pay")))
    (result,) = results(await stage.dump(unsafe))
    assert (result.outcome, result.output) == ("uncertain", UNCERTAIN)
    assert stage.ledger.effects("pay") == []

    await stage.leave_victims()
    idempotent = await kill_at(stage, Point(name="before stamp"), message(call("stamp")))
    (result,) = results(await stage.dump(idempotent))
    (line,) = stage.ledger.effects("stamp")
    assert (result.outcome, result.output, line.run) == ("succeeded", f"done: {line.receipt}", 2)
    await stage.leave()


async def test_f11_finished_calls_of_a_batch_are_kept(stage: Stage) -> None:
    """Two of five are done and recorded when the process dies."""
    gated = one("pay", gate="after"), one("stamp", gate="after"), one("look", gate="before")
    batch = calls(one("pay"), one("stamp"), *gated)
    point = Point(name="after finish_call", count=2)
    chat_id = await kill_at(stage, point, message(batch))
    paid, stamped, cut, again, looked = results(await stage.dump(chat_id))
    assert [paid.outcome, stamped.outcome] == ["succeeded", "succeeded"]
    assert lines_of(stage, paid) == lines_of(stage, stamped) == [1]
    # Those that were under way may have had their effect or not.
    assert cut.outcome == "uncertain"
    assert lines_of(stage, cut) in ([], [1])
    assert again.outcome == "succeeded"
    assert lines_of(stage, again) in ([2], [1, 2])
    assert (looked.outcome, lines_of(stage, looked)) == ("succeeded", [2])
    await stage.leave()


def lines_of(stage: Stage, result: ToolResult) -> Sequence[int]:
    """The runs in which the call took effect."""
    return [line.run for line in stage.ledger.effects() if line.call_id == result.call_id]


def waits(chat: Chat) -> bool:
    return chat.status == "requires_action"


async def test_f44_who_is_waited_for_is_waited_for_after_a_restart(stage: Stage) -> None:
    victim = await stage.start()
    chat_id = await stage.create(message("calls: order {}; client_look {}"))
    asked = (await stage.until_chat(chat_id, waits)).action
    await stage.kill(victim)
    victim = await stage.start()
    chat = await stage.until_chat(chat_id, waits)
    assert chat.action == asked
    assert asked is not None
    approval, client_tool = asked.calls

    nobody = await stage.submit(chat_id, CallId("call_of_nobody"), "seen")
    assert nobody.refusal is not None
    assert nobody.refusal.code == "not_found"
    assert (await stage.submit(chat_id, client_tool.call_id, "seen")).refusal is None
    second = await stage.submit(chat_id, client_tool.call_id, "seen by another tab")
    assert second.refusal is not None
    assert second.refusal.code == "already_answered"

    await stage.kill(victim)
    await stage.start()
    assert (await stage.decide(chat_id, approval.call_id, "approve")).refusal is None
    await stage.settle()
    late = await stage.decide(chat_id, approval.call_id, "deny")
    assert late.refusal is not None
    assert [result.outcome for result in results(await stage.dump(chat_id))] == ["succeeded", "succeeded"]
    assert len(stage.ledger.effects("order")) == 1
    assert await judge(stage) == []
    await stage.leave()


async def test_f44_a_deadline_passes_while_nobody_is_there(database: str, tmp_path: Path) -> None:
    settings = replace(QUICK, client_tool_seconds=1.0)
    async with a_stage(tmp_path, database, settings) as stage:
        point = Point(name="after require_action")
        victim = await stage.start(point)
        chat_id = await stage.create(message("call: client_look {}"))
        await stage.dead(victim, point.words)
        await stage.start()
        await stage.until_chat(chat_id, lambda chat: chat.status == "idle")
        (result,) = results(await stage.dump(chat_id))
        assert (result.outcome, result.output) == ("expired", EXPIRED)
        late = await stage.submit(chat_id, result.call_id, "seen")
        assert late.refusal is not None
        assert await judge(stage) == []
        await stage.leave()
