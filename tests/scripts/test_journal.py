# ruff: noqa: E501 - a script on one line is easier to compare than one that is broken up
"""The journal: what a call is known by, what another run may lend, and that a run continued after a crash
takes the same way and pays for nothing twice."""

import random
from collections.abc import Callable, Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.errors import Contradiction
from holdfast.core.runs import Language
from holdfast.core.shapes import Json
from holdfast.scripts.engines.messages import (
    AgentCall,
    AgentOptions,
    Call,
    CallError,
    PauseCall,
    ScriptDone,
    WorkflowCall,
)
from holdfast.scripts.journal import (
    MAIN,
    Ended,
    Journal,
    hash_of,
    lend,
    unawaited,
)
from holdfast.scripts.source import read_script
from tests.scripts.durable import Crash, Ledger, run
from tests.scripts.host import META
from tests.scripts.test_sandbox import BUSY

GOOD = Ended(outcome="succeeded", value="fine")


def agent(number: int, prompt: str = "p", phase: str | None = None, **options: object) -> AgentCall:
    chosen = msgspec.convert(options, AgentOptions)
    return AgentCall(number=number, prompt=prompt, options=chosen, phase=phase, branch=None)


# Keys


@pytest.mark.parametrize(
    "other",
    [
        agent(1, "q"),
        agent(1, model="m"),
        agent(1, effort="high"),
        agent(1, schema={"type": "object"}),
        agent(1, tools=["read_file"]),
        agent(1, agent="reviewer"),
        agent(1, isolation="worktree"),
        PauseCall(number=1, seconds=1, phase=None, branch=None),
    ],
)
def test_what_decides_an_answer_decides_the_hash(other: Call) -> None:
    assert hash_of(agent(1)) != hash_of(other)


@pytest.mark.parametrize(
    "other",
    [
        agent(9),
        agent(1, label="l"),
        agent(1, phase="Later"),
        agent(1, max_steps=3, max_tool_calls=4, timeout=5.0, budget=6),
    ],
)
def test_labels_phases_and_limits_do_not_decide_the_hash(other: Call) -> None:
    assert hash_of(agent(1)) == hash_of(other)


def test_the_order_of_members_does_not_decide_the_hash() -> None:
    one = agent(1, schema={"type": "object", "properties": {"a": {}, "b": {}}})
    two = agent(1, schema={"properties": {"b": {}, "a": {}}, "type": "object"})
    assert hash_of(one) == hash_of(two)


def test_arguments_that_were_not_given_are_not_null() -> None:
    call = WorkflowCall(number=1, name="w", script_path=None, phase=None, branch=None)
    assert hash_of(call) != hash_of(msgspec.structs.replace(call, args=None))


def test_calls_that_are_the_same_are_told_apart_by_their_occurrence() -> None:
    journal = Journal()
    entries = [journal.made(MAIN, agent(number, prompt)) for number, prompt in enumerate("aabab", 1)]
    assert [entry.occurrence for entry in entries] == [1, 2, 1, 3, 2]
    assert len({entry.key for entry in entries}) == 5


# Reuse


def finished(*prompts: str, ended: Ended = GOOD) -> Journal:
    journal = Journal()
    for number, prompt in enumerate(prompts, 1):
        journal.made(MAIN, agent(number, prompt))
        journal.ended(MAIN, number, ended)
    return journal


def test_a_call_is_reused_wherever_it_stands() -> None:
    lent = lend(finished("a", "b", "c").entries)
    journal = Journal(lent=lent)
    entries = [
        journal.made(MAIN, agent(number, prompt)) for number, prompt in enumerate(["new", "c", "a"], 1)
    ]
    assert [entry.reused for entry in entries] == [False, True, True]
    assert [entry.ended for entry in entries] == [None, GOOD, GOOD]


def test_each_occurrence_is_lent_once() -> None:
    journal = Journal(lent=lend(finished("a", "a").entries))
    assert [journal.made(MAIN, agent(number, "a")).reused for number in (1, 2, 3)] == [True, True, False]


def test_what_failed_is_not_lent() -> None:
    for ended in (
        Ended(outcome="failed"),
        Ended(outcome="failed", error=CallError(kind="failed", message="m")),
        Ended(outcome="cancelled"),
    ):
        assert lend(finished("a", ended=ended).entries) == {}
    journal = Journal()
    journal.made(MAIN, agent(1))
    assert lend(journal.entries) == {}


def test_a_nested_workflow_is_run_again_and_its_calls_are_lent() -> None:
    journal = Journal()
    journal.made(MAIN, WorkflowCall(number=1, name="w", script_path=None, phase=None, branch=None))
    journal.made(1, agent(1, "inner"))
    journal.ended(1, 1, GOOD)
    journal.ended(MAIN, 1, GOOD)
    assert [key.hash for key in lend(journal.entries)] == [hash_of(agent(1, "inner"))]


# Continuing


def test_deliveries_are_told_again_in_their_order_with_what_was_spent() -> None:
    journal = finished("a", "b", "c")
    for spent, number in enumerate((3, 1, 2)):
        journal.deliver(MAIN, number, spent)
    again = Journal(reversed(journal.entries))
    told = [(delivery.answer.call, delivery.answer.spent) for delivery in again.recorded_deliveries()]
    assert told == [(3, 0), (1, 1), (2, 2)]


def test_a_call_that_ended_but_was_not_told_is_not_told_again_as_if_it_had_been() -> None:
    journal = finished("a", "b")
    journal.deliver(MAIN, 2, 0)
    again = Journal(journal.entries)
    assert [delivery.answer.call for delivery in again.recorded_deliveries()] == [2]
    assert again.made(MAIN, agent(1, "a")).ended == GOOD


def test_another_call_at_the_same_place_is_a_contradiction() -> None:
    recorded = finished("a", "b").entries
    again = Journal(recorded)
    again.made(MAIN, agent(1, "a"))
    with pytest.raises(Contradiction) as found:
        again.made(MAIN, agent(2, "something else"))
    assert "call 2" in found.value.text
    assert "something else" in found.value.text


def test_a_call_that_is_not_made_again_is_a_contradiction() -> None:
    again = Journal(finished("a", "b").entries)
    again.made(MAIN, agent(1, "a"))
    with pytest.raises(Contradiction):
        again.check_replayed()
    again.made(MAIN, agent(2, "b"))
    again.check_replayed()


def test_occurrences_go_on_where_the_journal_ends() -> None:
    again = Journal(finished("a", "a").entries)
    for number in (1, 2):
        again.made(MAIN, agent(number, "a"))
    assert again.made(MAIN, agent(3, "a")).occurrence == 3


def test_an_end_that_is_told_twice_counts_once() -> None:
    journal = finished("a")
    assert journal.ended(MAIN, 1, Ended(outcome="failed")).ended == GOOD


def test_agents_that_nobody_waited_for_are_named() -> None:
    journal = Journal()
    journal.made(MAIN, agent(1, label="lonely"))
    journal.made(MAIN, agent(2))
    journal.made(MAIN, agent(3))
    journal.ended(MAIN, 3, GOOD)
    journal.deliver(MAIN, 3, 0)
    assert unawaited(journal.entries) == ["lonely", "agent 2"]


@given(st.lists(st.sampled_from("abc"), max_size=12), st.data())
def test_any_prefix_of_a_journal_continues_it(prompts: list[str], data: st.DataObject) -> None:
    whole = finished(*prompts)
    prefix = whole.entries[: data.draw(st.integers(0, len(prompts)))]
    again = Journal(prefix)
    entries = [again.made(MAIN, agent(number, prompt)) for number, prompt in enumerate(prompts, 1)]
    assert [entry.key for entry in entries] == [entry.key for entry in whole.entries]


# Crashes


def answer(call: AgentCall) -> Json:
    return f"<{call.prompt[:20]}>"


def dice(seed: int) -> Callable[[Sequence[Call]], Call]:
    return random.Random(seed).choice


LANGUAGES: tuple[Language, ...] = ("javascript", "python")


@pytest.mark.heavy
@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_run_that_crashes_again_and_again_takes_its_way_and_pays_once(language: Language) -> None:
    script = read_script(META[language] + BUSY[language], language)
    ledger = Ledger()
    chance = random.Random(7)
    crashes = 0
    while True:
        ledger.crash_at = ledger.writes + chance.randint(1, 9)
        before = dict(ledger.rows)
        try:
            stop = await run(script, ledger, answer=answer, choose=dice(crashes), budget=400)
        except Crash:
            crashes += 1
            # What was stored stays as it was, or grew.
            assert all(
                ledger.rows[place].delivery == row.delivery for place, row in before.items() if row.delivery
            )
            continue
        break
    assert crashes >= 3
    assert isinstance(stop, ScriptDone), stop
    assert set(ledger.paid.values()) == {1}


@pytest.mark.heavy
@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_crash_at_every_write_gives_the_same_result(language: Language) -> None:
    """Here the order of answers does not depend on chance, so the result must not change."""
    script = read_script(META[language] + BUSY[language], language)

    def first(calls: Sequence[Call]) -> Call:
        return min(calls, key=lambda call: call.number)

    undisturbed = Ledger()
    wanted = await run(script, undisturbed, answer=answer, choose=first, budget=200)
    for crash_at in range(1, undisturbed.writes + 1, 7):
        ledger = Ledger(crash_at=crash_at)
        with pytest.raises(Crash):
            await run(script, ledger, answer=answer, choose=first, budget=200)
        assert await run(script, ledger, answer=answer, choose=first, budget=200) == wanted
        assert ledger.paid == undisturbed.paid


CHAIN: dict[Language, str] = {
    "javascript": "const a = await agent('one'); const b = await agent('two'); return await agent(`join ${a} ${b}`)",
    "python": "a = await agent('one')\nb = await agent('two')\nreturn await agent(f'join {a} {b}')",
}


@pytest.mark.heavy
@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_second_run_pays_only_for_what_changed(language: Language) -> None:
    async def again(text: str, lent: Ledger) -> Ledger:
        ledger = Ledger()
        script = read_script(META[language] + text, language)
        await run(script, ledger, answer=answer, choose=dice(0), lent=lend(lent.rows.values()))
        return ledger

    text = CHAIN[language]
    first = await again(text, Ledger())
    assert sorted(first.paid) == ["join <one> <two>", "one", "two"]
    assert (await again(text, first)).paid == {}
    labelled = text.replace(
        "agent('one')",
        {"javascript": "agent('one', {label: 'l'})", "python": "agent('one', label='l')"}[language],
    )
    assert (await again(labelled, first)).paid == {}
    changed = await again(text.replace("'two'", "'2'"), first)
    assert sorted(changed.paid) == ["2", "join <one> <2>"]
    moved = text.replace("'one'", "'x'").replace("'two'", "'one'").replace("'x'", "'two'")
    assert sorted((await again(moved, first)).paid) == ["join <two> <one>"]
