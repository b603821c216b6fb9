"""A run as a whole: its budget, its limits, its end, and cancelling it."""

import asyncio
from datetime import timedelta

import msgspec
import pytest
from msgspec.structs import replace

from holdfast.core.accounts import User
from holdfast.core.errors import BadScript, InvalidInput, NotFound
from holdfast.core.ids import RunId, UserId
from holdfast.core.usage import Usage
from holdfast.store import chats as chat_queries
from holdfast.store import runs as run_queries
from holdfast.store import users
from tests.providers.answering import Asked
from tests.providers.replies import Hang, Reply, Status, call
from tests.runs.stage import COST, QUICK, Stage, by_label, chats_of, js, py, texts
from tests.worker.engine import OWNER, STRANGER, eventually

HANGS = Reply(fault=Hang())


# --- starting ---


async def test_a_run_waits_visibly_until_somebody_takes_it(stage: Stage) -> None:
    run = await stage.start(js("return 1"))
    assert (run.status, run.started_at) == ("pending", None)
    stage.work()
    ran = await stage.over(run.id)
    assert ran.run.status == "succeeded"
    assert ran.run.started_at is not None
    assert ran.run.finished_at is not None


async def test_so_many_runs_at_once_and_the_others_are_pending(stage: Stage) -> None:
    stage.answers = lambda prompt, asked: HANGS if prompt == "wait" else None
    stage.work()
    first = [await stage.start(js("return await agent('wait')")) for _ in range(3)]
    for run in first:
        await stage.working(run.id, 1)
    late = await stage.start(js("return 'at last'"))
    await stage.engine.until_asked(3)
    assert (await stage.details(late.id)).run.status == "pending"
    await stage.runs.cancel(first[1].id, OWNER)
    assert (await stage.over(late.id)).run.result == "at last"
    for run in (first[0], first[2]):
        assert (await stage.details(run.id)).run.status == "running"


async def test_a_script_that_does_not_parse_is_refused_with_its_line(stage: Stage) -> None:
    with pytest.raises(BadScript) as refused:
        await stage.start(js("return (1"))
    assert refused.value.line == 2


@pytest.mark.parametrize("args", [{"n": "x"}, {}, [1]])
async def test_arguments_that_do_not_fit_are_refused(stage: Stage, args: object) -> None:
    shape = ", args: {type: 'object', properties: {n: {type: 'integer'}}, required: ['n']}"
    with pytest.raises(InvalidInput, match="do not fit"):
        await stage.start(js("return args", shape), args=args)


async def test_what_cannot_be_run_is_refused(stage: Stage) -> None:
    with pytest.raises(InvalidInput, match="not both"):
        await stage.start(js("return 1"), name="review-code")
    with pytest.raises(InvalidInput, match="model"):
        await stage.start(js("return 1"), model="nobody-knows-it")
    with pytest.raises(NotFound, match="resume"):
        await stage.start(js("return 1"), resume_from=RunId("01a1e468-2277-731c-84e6-075cdd970351"))


async def test_the_model_of_the_run_is_that_of_its_agents(stage: Stage) -> None:
    stage.work()
    await stage.result(js("return await agent('x')"), model="claude")
    assert stage.engine.asked[0].format == "anthropic"


# --- the budget ---


async def test_once_the_budget_is_spent_the_next_agent_throws(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    stage.work()
    ran = await stage.ran(
        js(
            "const said = []\n"
            "try { for (;;) said.push(await agent(`n${said.length}`)) }\n"
            "catch (error) { return [said.length, budget.spent(), budget.remaining(), error.message] }"
        ),
        budget=3 * COST,
    )
    assert ran.run.result == [3, 3 * COST, 0, "the budget of this run is spent"]
    assert ran.run.budget.tokens == 3 * COST
    assert ran.run.budget.spent_tokens == 3 * COST


async def test_a_cap_for_runs_without_a_budget_is_no_budget(stage: Stage) -> None:
    stage.settings = replace(QUICK, budget=2 * COST)
    stage.work()
    ran = await stage.ran(
        js(
            "const said = []\n"
            "try { while (true) said.push(await agent('say: x')) }\n"
            "catch (error) { return [said.length, budget.total, budget.remaining() === Infinity, "
            "error.message] }"
        )
    )
    assert ran.run.status == "succeeded", ran.run.error
    *found, message = msgspec.convert(ran.run.result, list[object])
    assert found == [2, None, True]
    assert "budget" in str(message)
    assert ran.run.budget.tokens is None
    # A budget of its own counts instead, also a larger one.
    three = js("return [await agent('say: a'), await agent('say: b'), await agent('say: c')].length")
    assert await stage.result(three, budget=9 * COST) == 3


async def test_the_smaller_of_two_budgets_counts(stage: Stage) -> None:
    stage.work()
    assert await stage.result(js("return budget.total", ", budget: 500"), budget=9000) == 500


async def test_agents_that_wait_for_a_place_when_the_budget_is_spent_are_not_begun(stage: Stage) -> None:
    stage.work()
    ran = await stage.ran(
        py("return await parallel([lambda n=n: agent(f'n{n}') for n in range(6)])"),
        budget=COST,
        max_concurrency=1,
    )
    assert ran.run.status == "failed"
    assert ran.run.error is not None
    assert "budget" in ran.run.error.message
    assert len(stage.engine.asked) == 1


async def test_an_agent_stops_when_the_whole_run_has_spent_its_budget(stage: Stage) -> None:
    """Not only the script is told: an agent in the middle of its work makes no further step."""

    def answers(_: str, asked: Asked) -> Reply:
        return call("add", {"a": len(asked.body["messages"]), "b": 1})

    stage.answers = answers
    stage.work()
    await stage.ran(js("return await agent('for ever')"), budget=4 * COST)
    assert len(stage.engine.asked) == 4


# --- limits ---


async def test_so_many_agents_at_once(stage: Stage) -> None:
    stage.settings = replace(QUICK, max_concurrency=4)
    open_at_once: list[int] = []

    def answers(_: str, __: Asked) -> Reply | None:
        open_at_once.append(sum(asked.outcome == "open" for asked in stage.engine.asked))
        return None

    stage.answers = answers
    stage.work()
    result = await stage.result(
        js("return await parallel([...Array(30).keys()].map(n => () => agent(`n${n}`)))")
    )
    assert result == [f"<n{n}>" for n in range(30)]
    assert max(open_at_once) <= 4


async def test_so_many_agents_in_a_run_whoever_starts_them(stage: Stage) -> None:
    stage.settings = replace(QUICK, max_agents=3)
    nested = "return await parallel([() => agent('n1'), () => agent('n2'), () => agent('n3')])"
    save(stage, "inner", nested)
    stage.work()
    ran = await stage.ran(js("await agent('m1'); return await workflow('inner')"))
    assert ran.run.result == ["<n1>", "<n2>", None]
    assert stage.prompts == {"m1": 1, "n1": 1, "n2": 1}


async def test_a_run_may_take_only_so_long(stage: Stage) -> None:
    stage.settings = replace(QUICK, run_seconds=3600.0)
    stage.answers = lambda prompt, asked: HANGS
    stage.work()
    run = await stage.start(js("return await agent('x')"))
    await stage.engine.until_asked(1)
    stage.engine.clock.offset += timedelta(seconds=3601)
    ran = await stage.over(run.id)
    assert ran.run.status == "failed"
    assert ran.run.error is not None
    assert "3600 seconds" in ran.run.error.message
    await stage.engine.settled(chats_of(ran.calls)[0])


@pytest.mark.heavy
async def test_limits_of_computing_and_memory_are_the_servers(stage: Stage) -> None:
    stage.settings = replace(QUICK, cpu_seconds=1.0, memory_mib=32)
    stage.work()
    endless = await stage.ran(js("for (;;) {}"))
    assert endless.run.error is not None
    assert "computed for" in endless.run.error.message
    greedy = await stage.ran(js("const all = []; for (;;) all.push('x'.repeat(1000000) + all.length)"))
    assert greedy.run.error is not None
    assert "32 MiB" in greedy.run.error.message


async def test_a_pause_is_waited_out(stage: Stage) -> None:
    stage.work()
    run = await stage.start(py("await asyncio.sleep(3600)\nreturn 'awake'"))
    await stage.working(run.id, 1)
    stage.engine.clock.offset += timedelta(seconds=3601)
    assert (await stage.over(run.id)).run.result == "awake"


# --- ends ---


async def test_a_throw_fails_the_run_with_its_line(stage: Stage) -> None:
    stage.work()
    ran = await stage.ran(js("log('before')\nthrow new Error('no luck')"))
    assert ran.run.status == "failed"
    assert ran.run.error is not None
    assert (ran.run.error.line, "no luck" in ran.run.error.message) == (3, True)
    assert texts(ran) == ["before"]


async def test_agents_that_nobody_waited_for_are_cancelled_and_named(stage: Stage) -> None:
    stage.answers = lambda prompt, asked: HANGS if prompt == "slow" else None
    stage.work()
    run = await stage.start(js("agent('slow', {label: 'Slow one'}); return await agent('quick')"))
    ran = await stage.over(run.id)
    assert ran.run.result == "<quick>"
    assert by_label(ran)["Slow one"].status == "cancelled"
    assert any("Slow one" in text for text in texts(ran, "warning"))
    await stage.engine.settled(chats_of(ran.calls)[0])


async def test_what_outlives_its_run_is_stopped(stage: Stage) -> None:
    """As after a crash between the end of a run and the end of its agents."""
    stage.answers = lambda prompt, asked: HANGS
    stage.work()
    run = await stage.start(js("return await agent('slow')"))
    await stage.engine.until_asked(1)
    await stage.engine.store.write(run_queries.cancel(run.id))
    (chat_id,) = chats_of((await stage.details(run.id)).calls)
    assert (await stage.engine.settled(chat_id)).chat.status == "idle"


# --- calling off ---


async def test_cancel_ends_everything(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    stage.answers = lambda prompt, asked: HANGS
    stage.work()
    run = await stage.start(js("return await parallel([1, 2, 3].map(n => () => agent(`n${n}`)))"))
    seen = await stage.working(run.id, 3)
    await stage.engine.until_asked(3)
    cancelled = await stage.runs.cancel(run.id, OWNER)
    assert cancelled.status == "cancelled"
    for chat_id in chats_of(seen.calls):
        assert (await stage.engine.settled(chat_id)).chat.status == "idle"
    assert [call.status for call in (await stage.details(run.id)).calls] == ["cancelled"] * 3
    await stage.runs.cancel(run.id, OWNER)
    assert (await stage.details(run.id)).run.version == cancelled.version


async def test_a_script_that_never_waits_is_cancelled_too(stage: Stage) -> None:
    stage.settings = replace(QUICK, cpu_seconds=600.0)
    worker = stage.work()
    run = await stage.start(js("for (;;) {}"))
    await stage.until(run.id, lambda seen: seen.run.status == "running")
    await stage.runs.cancel(run.id, OWNER)
    await asyncio.wait_for(stage.engine.stop(worker), 30)


async def test_a_pending_run_is_cancelled_without_anybody(stage: Stage) -> None:
    run = await stage.start(js("return await agent('never')"))
    await stage.runs.cancel(run.id, OWNER)
    stage.work()
    await stage.result(js("return 1"))
    assert (await stage.details(run.id)).run.status == "cancelled"
    assert stage.engine.asked == []


async def test_runs_of_others_do_not_exist(stage: Stage) -> None:
    run = await stage.start(js("return 1"))
    with pytest.raises(NotFound):
        await stage.runs.cancel(run.id, STRANGER)
    assert (await stage.details(run.id)).run.status == "pending"


async def test_runs_of_a_suspended_user_end(stage: Stage) -> None:
    now = stage.engine.clock.now()
    admin = User(id=UserId(STRANGER), name="admin", role="admin", suspended_at=None, created_at=now)
    owner = User(id=OWNER, name="owner", role="member", suspended_at=None, created_at=now)
    await stage.engine.store.write(users.create(admin))
    await stage.engine.store.write(users.create(owner))
    stage.answers = lambda prompt, asked: HANGS
    stage.work()
    run = await stage.start(js("return await agent('x')"))
    await stage.engine.until_asked(1)
    await stage.engine.store.write(users.change(OWNER, suspended=True))
    ran = await stage.over(run.id)
    assert ran.run.status == "cancelled"
    assert (await stage.engine.settled(chats_of(ran.calls)[0])).chat.status == "idle"


# --- workflows inside ---


def save(stage: Stage, name: str, body: str, more: str = "") -> None:
    """In the home directory of the server."""
    directory = stage.home / ".holdfast" / "workflows"
    directory.mkdir(parents=True, exist_ok=True)
    script = f"export const meta = {{name: '{name}', description: 'inner'{more}}}\n{body}"
    (directory / f"{name}.js").write_text(script)


async def test_a_workflow_inside_shares_budget_and_journal(stage: Stage) -> None:
    save(stage, "inner", "log('inside'); return [args, await agent('in'), budget.spent(), budget.total]")
    stage.work()
    ran = await stage.ran(
        js("await agent('out')\nreturn [await workflow('inner', {a: 1}), budget.spent()]"),
        budget=1000,
    )
    assert ran.run.result == [[{"a": 1}, "<in>", 2 * COST, 1000], 2 * COST]
    assert [(call.scope, call.kind, call.label) for call in ran.calls] == [
        (0, "agent", None),
        (0, "workflow", "inner"),
        (2, "agent", None),
    ]
    assert texts(ran, "log") == ["inside"]


async def test_a_workflow_inside_that_fails_throws_where_it_is_awaited(stage: Stage) -> None:
    save(stage, "broken", "throw new Error('inner trouble')")
    stage.work()
    ran = await stage.ran(js("try { await workflow('broken') } catch (error) { return error.message }"))
    assert "inner trouble" in str(ran.run.result)
    missing = await stage.ran(js("return await workflow('nobody-has-it')"))
    assert missing.run.error is not None
    assert "nobody-has-it" in missing.run.error.message


async def test_a_workflow_inside_is_cancelled_with_its_run(stage: Stage) -> None:
    save(stage, "inner", "return await parallel([() => agent('n1'), () => agent('n2')])")
    stage.answers = lambda prompt, asked: HANGS
    stage.work()
    run = await stage.start(js("return await Promise.all([agent('own'), workflow('inner')])"))
    await stage.working(run.id, 4)
    await stage.engine.until_asked(3)
    await stage.runs.cancel(run.id, OWNER)
    over = await stage.details(run.id)
    assert {call.status for call in over.calls} == {"cancelled"}
    for chat_id in chats_of(over.calls):
        assert (await stage.engine.settled(chat_id)).chat.status == "idle"


async def test_only_one_level(stage: Stage) -> None:
    save(stage, "inner", "return await workflow('inner')")
    stage.work()
    ran = await stage.ran(js("return await workflow('inner')"))
    assert ran.run.error is not None
    assert "one level" in ran.run.error.message


async def test_arguments_of_a_workflow_inside_are_checked(stage: Stage) -> None:
    save(stage, "inner", "return 1", ", args: {type: 'object', required: ['x']}")
    stage.work()
    ran = await stage.ran(js("return await workflow('inner', {})"))
    assert ran.run.error is not None
    assert "do not fit" in ran.run.error.message


async def test_a_budget_that_is_spent_inside_is_spent_outside(stage: Stage) -> None:
    save(stage, "inner", "for (let n = 0;; n++) await agent(`in${n}`)")
    stage.work()
    ran = await stage.ran(
        js("try { await workflow('inner') } catch (e) { log(e.message) }\nreturn await agent('after')"),
        budget=2 * COST,
    )
    assert ran.run.error is not None
    assert ran.run.error.message == "BudgetError: the budget of this run is spent"
    assert texts(ran, "log") == ["the budget of this run is spent"]
    assert stage.prompts == {"in0": 1, "in1": 1}


async def test_costs_are_summed(stage: Stage) -> None:
    stage.answers = lambda prompt, asked: Reply(fault=Status(401)) if prompt == "bad" else None
    stage.work()
    ran = await stage.ran(js("await agent('a'); await agent('bad'); return budget.spent()"))
    assert ran.run.result == COST
    assert sum((call.usage or Usage()).output for call in ran.calls) == COST
    chats = await stage.engine.store.read(chat_queries.chats(tuple(chats_of(ran.calls))))
    assert sum(chat.usage.output for chat in chats) == COST
    await eventually(lambda: stage.engine.server.refusals == [])
