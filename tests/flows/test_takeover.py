"""Runs of flows that change their owner, their version or the time while they go on."""

import asyncio
from datetime import timedelta

import pytest

from tests.flows.stage import FlowStage, by_id, flow_text, states
from tests.providers.replies import Hang, Reply

pytestmark = pytest.mark.heavy

TWO = flow_text("{id: a, kind: agent, prompt: a, timeout: 1h}\n{id: b, kind: agent, prompt: b, deps: [a]}")


async def test_a_jump_of_the_clock_ends_no_attempt(stage: FlowStage) -> None:
    held = asyncio.Event()
    stage.answers = lambda prompt, asked: None if held.is_set() else Reply(fault=Hang())
    stage.work()
    run = await stage.start_flow(TWO)
    await stage.step_is(run.id, "a", "running")
    for hours in (5, -5):
        stage.engine.clock.jumped = timedelta(hours=hours)
        await asyncio.sleep(0.5)
        assert states(await stage.flow_details(run.id))["a"] == "running"
    held.set()
    ran = await stage.flow_over(run.id)
    assert ran.run.status == "succeeded", ran.run.error
    assert by_id(ran)["a"].attempt == 1


async def test_a_worker_that_stops_hands_its_runs_over(stage_everywhere: FlowStage) -> None:
    stage = stage_everywhere
    held = asyncio.Event()
    stage.answers = lambda prompt, asked: Reply(fault=Hang()) if prompt == "b" and not held.is_set() else None
    first = stage.work()
    run = await stage.start_flow(TWO)
    await stage.step_is(run.id, "b", "running")
    first.stop()
    await stage.flow_until(run.id, lambda seen: seen.run.version > 0)
    held.set()
    stage.work()
    ran = await stage.flow_over(run.id)
    assert ran.run.result == {"b": "<b>"}
    assert (by_id(ran)["a"].attempt, by_id(ran)["b"].attempt) == (1, 1)
    assert stage.prompts["a"] == 1


async def test_an_answer_while_somebody_works_is_not_lost(stage: FlowStage) -> None:
    held = asyncio.Event()
    stage.answers = lambda prompt, asked: (
        Reply(fault=Hang()) if prompt == "long" and not held.is_set() else None
    )
    stage.work()
    run = await stage.start_flow(
        flow_text(
            """
            {id: long, kind: agent, prompt: long}
            {id: ok, kind: approval, text: ok?}
            {id: after, kind: agent, prompt: after, deps: [ok]}
            """
        )
    )
    await stage.step_is(run.id, "ok", "waiting")
    await stage.approve(run.id, "ok")
    await stage.step_is(run.id, "after", "succeeded")
    assert states(await stage.flow_details(run.id))["long"] == "running"
    held.set()
    assert (await stage.flow_over(run.id)).run.status == "succeeded"
