# ruff: noqa: E501 - flows, a step a line
"""Runs of flows whose process is killed: at random, and at every write to their rows. The end is that of an
undisturbed run, and no agent that had finished is asked again."""

import asyncio
import random
from pathlib import Path
from typing import Literal

import pytest

from tests.flows.stage import flow_text
from tests.runs.test_kills import Judge, Provider, Victims, order, provider

__all__ = ["provider"]
pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]
VICTIM = "tests.flows.victim"
When = Literal["before", "after"]


def sixty() -> str:
    """Sixty steps: ten agents in a batch of four, each with code and a second agent behind it, switches,
    joins."""
    lines: list[str] = []
    for n in range(10):
        lines += [
            f"{{id: a{n}, kind: agent, batch: few, prompt: 'first {n}'}}",
            f"{{id: c{n}, kind: code, deps: [a{n}], python: \"return len(results['a{n}'])\"}}",
            f"{{id: s{n}, kind: switch, deps: [c{n}], cases: [{{label: odd, when: '{n} is odd', steps: [x{n}]}}], default: [y{n}]}}",
            f"{{id: x{n}, kind: agent, deps: [s{n}], prompt: 'odd {n} of {{{{ results.c{n} }}}}'}}",
            f"{{id: y{n}, kind: wait, deps: [s{n}], for: 0.05s}}",
        ]
    names = ", ".join(f"x{n}, y{n}" for n in range(10))
    for n in range(9):
        lines.append(
            f"{{id: z{n}, kind: agent, deps: [{names}], trigger_rule: none_failed, prompt: 'last {n}'}}"
        )
    ends = ", ".join(f"z{n}" for n in range(9))
    lines.append(f"{{id: end, kind: code, deps: [{ends}], python: 'return results'}}")
    return flow_text("\n".join(lines), "batches: {few: {max: 4}}\nreport: '{{ results.end | tojson }}'")


FEW = flow_text(
    """
    {id: a, kind: agent, prompt: "a {{ args.topic }}"}
    {id: b, kind: agent, prompt: b}
    {id: s, kind: switch, deps: [a, b], cases: [{label: yes, when: "results.a | length > 2", steps: [c]}], default: [d]}
    {id: c, kind: code, deps: [s], python: "return results['a'] + results['b']"}
    {id: d, kind: agent, deps: [s], prompt: never}
    {id: e, kind: agent, deps: [c, d], trigger_rule: none_failed, prompt: "{{ results.c }}", retries: 1}
    """
)


async def undisturbed(provider: Provider, tmp_path: Path, text: str) -> tuple[object, int]:
    victims = Victims(order(provider, tmp_path, text), VICTIM)
    try:
        told = await victims.told(await victims.start())
    finally:
        await victims.end()
    assert told is not None
    assert told.status == "succeeded", told.error
    provider.server.log.clear()
    return told.result, told.writes


async def kill_at_random(provider: Provider, tmp_path: Path, kills: int) -> None:
    text = sixty()
    expected, _ = await undisturbed(provider, tmp_path, text)
    left = kills
    while left:
        victims, judge = Victims(order(provider, tmp_path, text), VICTIM), Judge(provider)
        provider.server.log.clear()
        told = None
        try:
            while told is None:
                process = await victims.start()
                if not left:
                    told = await victims.told(process)
                    break
                ending = asyncio.create_task(victims.told(process))
                await asyncio.wait({ending}, timeout=random.uniform(0.8, 4.0))
                if ending.done():
                    told = ending.result()
                else:
                    await victims.killed(process)
                    await ending
                    left -= 1
                    judge.note(victims.order)
        finally:
            await victims.end()
        assert told is not None
        assert (told.status, told.error) == ("succeeded", None)
        assert told.result == expected
        judge.check()


async def test_a_run_of_sixty_steps_survives_ten_kills(provider: Provider, tmp_path: Path) -> None:
    await kill_at_random(provider, tmp_path, 10)


@pytest.mark.slow
@pytest.mark.timeout(7200)
async def test_a_run_of_sixty_steps_survives_two_hundred_kills(provider: Provider, tmp_path: Path) -> None:
    await kill_at_random(provider, tmp_path, 200)


each_side = pytest.mark.parametrize("when", ["before", "after"])


@each_side
async def test_a_kill_between_any_two_writes(provider: Provider, tmp_path: Path, when: When) -> None:
    """Before and after every second one: that is once between any two."""
    await kill_at_writes(provider, tmp_path, when, 2)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@each_side
async def test_a_kill_at_every_write(provider: Provider, tmp_path: Path, when: When) -> None:
    await kill_at_writes(provider, tmp_path, when, 1)


async def kill_at_writes(provider: Provider, tmp_path: Path, when: When, step: int) -> None:
    expected, writes = await undisturbed(provider, tmp_path, FEW)
    assert expected == {"e": "<<a boats><b>>"}
    for number in range(step, writes + 1, step):
        provider.server.log.clear()
        victims, judge = Victims(order(provider, tmp_path, FEW), VICTIM), Judge(provider)
        try:
            told = await victims.told(await victims.start(die_at=number, when=when))
            if told is None:
                judge.note(victims.order)
                told = await victims.told(await victims.start())
        finally:
            await victims.end()
        assert told is not None, number
        assert (told.status, told.result) == ("succeeded", expected), (number, told.error)
        judge.check()
