"""How many chats run at once: the others wait, and say so."""

from holdfast.chats.commands import CallResult, Create, Interrupt, SubmitResults
from holdfast.core.chats import ClientTool, Settings
from holdfast.core.ids import ChatId, UserId
from holdfast.core.origins import FromChat
from holdfast.core.parts import Text
from holdfast.worker.settings import WorkerSettings
from tests.worker.engine import OWNER, QUICK_RETRIES, STRANGER, Engine, eventually
from tests.worker.toolbox import Toolbox

PATIENT = 'call: patient {{"name": "{}"}}\nsay: Done.'


def at_most(max_chats: int, max_agents: int = 100, max_per_user: int = 50) -> WorkerSettings:
    return WorkerSettings(
        retry=QUICK_RETRIES,
        poll_seconds=0.1,
        max_chats=max_chats,
        max_agents=max_agents,
        max_per_user=max_per_user,
    )


async def begin(engine: Engine, count: int, owner: UserId = OWNER, prefix: str = "") -> list[ChatId]:
    return [await engine.create(PATIENT.format(f"{prefix}{n}"), owner=owner) for n in range(count)]


async def waiting(engine: Engine, chats: list[ChatId]) -> list[str | None]:
    return [(await engine.chat(chat)).waiting for chat in chats]


async def test_more_than_fit_wait_and_say_so(engine_everywhere: Engine, tools: Toolbox) -> None:
    engine = engine_everywhere
    chats = await begin(engine, 4)
    worker = engine.start(at_most(max_chats=2))
    await eventually(lambda: tools.running == 2)
    # Those that waited longest go first.
    assert sorted(tools.ledger) == ["0", "1"]
    assert await waiting(engine, chats) == [None, None, "capacity", "capacity"]
    assert worker.held == 2
    tools.go("1").set()
    await eventually(lambda: "2" in tools.ledger)
    assert await waiting(engine, chats) == [None, None, None, "capacity"]
    for n in range(4):
        tools.go(str(n)).set()
    for chat in chats:
        await engine.idle(chat)
    assert tools.most_running == 2
    assert await waiting(engine, chats) == [None] * 4


async def test_no_user_takes_all_places(engine_everywhere: Engine, tools: Toolbox) -> None:
    engine = engine_everywhere
    mine = await begin(engine, 5)
    theirs = await begin(engine, 1, STRANGER, "s")
    engine.start(at_most(max_chats=4, max_per_user=2))
    await eventually(lambda: tools.running == 3)
    assert sorted(tools.ledger) == ["0", "1", "s0"]
    assert await waiting(engine, [*mine, *theirs]) == [None, None, "capacity", "capacity", "capacity", None]
    for n in range(5):
        tools.go(str(n)).set()
    tools.go("s0").set()
    for chat in (*mine, *theirs):
        await engine.idle(chat)
    assert tools.most_running <= 3


async def test_agents_have_places_of_their_own(engine: Engine, tools: Toolbox) -> None:
    parents = await begin(engine, 2)
    agents = [ChatId(parents[0][:-4] + f"fff{n}") for n in range(3)]
    for n, agent in enumerate(agents):
        parts = (Text(text=PATIENT.format(f"a{n}")),)
        await engine.do(
            agent,
            Create(
                owner_id=OWNER,
                settings=Settings(),
                parts=parts,
                origin=FromChat(chat_id=parents[0]),
                root_id=parents[0],
            ),
        )
    engine.start(at_most(max_chats=1, max_agents=2))
    await eventually(lambda: tools.running == 3)
    assert sorted(tools.ledger) == ["0", "a0", "a1"]
    for name in ("0", "1", "a0", "a1", "a2"):
        tools.go(name).set()
    for chat in (*parents, *agents):
        await engine.idle(chat)


async def test_who_waits_for_somebody_takes_no_place(engine: Engine, tools: Toolbox) -> None:
    tab = ClientTool(name="open_tab", description="Opens a tab.", input_schema={"type": "object"})
    worker = engine.start(at_most(max_chats=1))
    first = await engine.create("call: open_tab\nsay: Done.", client_tools=(tab,))
    view = await engine.waits(first)
    (second,) = await begin(engine, 1)
    await eventually(lambda: tools.running == 1)
    assert worker.held == 1
    assert (await engine.chat(first)).waiting is None
    # Answered while the place is taken, it waits for one.
    result = CallResult(call_id=view.calls[0].call_id, output="ok")
    await engine.do(first, SubmitResults(results=(result,)))
    assert (await engine.chat(first)).waiting == "capacity"
    tools.go("0").set()
    await engine.idle(second)
    await engine.idle(first)


async def test_who_waits_for_children_takes_no_place(engine_everywhere: Engine, tools: Toolbox) -> None:
    engine = engine_everywhere
    worker = engine.start(at_most(max_chats=1, max_per_user=1))
    parent = await engine.create('call: minds_children {"name": "children"}\nsay: Done.')
    await eventually(lambda: tools.ledger == ["children"])
    assert (await engine.chat(parent)).waiting == "children"
    (other,) = await begin(engine, 1)
    await eventually(lambda: tools.ledger == ["children", "0"])
    assert worker.held == 2
    assert await waiting(engine, [parent, other]) == ["children", None]
    # It goes on although its place is taken.
    tools.go("children").set()
    await engine.idle(parent)
    tools.go("0").set()
    await engine.idle(other)


async def test_who_also_does_something_else_takes_a_place(engine: Engine, tools: Toolbox) -> None:
    engine.start(at_most(max_chats=1))
    parent = await engine.create('calls: minds_children {"name": "c"}; patient {"name": "d"}\nsay: Done.')
    await eventually(lambda: tools.running == 2)
    (other,) = await begin(engine, 1)
    assert await waiting(engine, [parent, other]) == [None, "capacity"]
    tools.go("d").set()
    await eventually(lambda: "0" in tools.ledger)
    assert await waiting(engine, [parent, other]) == ["children", None]
    for name in ("c", "0"):
        tools.go(name).set()
    for chat in (parent, other):
        await engine.idle(chat)


async def test_interrupting_needs_no_place(engine: Engine, tools: Toolbox) -> None:
    engine.start(at_most(max_chats=1))
    (running,) = await begin(engine, 1)
    await eventually(lambda: tools.running == 1)
    waits = await engine.create("say: Never.")
    await engine.do(waits, Interrupt())
    view = await engine.idle(waits)
    assert view.chat.turn == 1
    assert len(engine.asked) == 1
    tools.go("0").set()
    await engine.idle(running)


async def test_what_follows_an_interrupt_waits_for_a_place(engine_everywhere: Engine, tools: Toolbox) -> None:
    engine = engine_everywhere
    engine.start(at_most(max_chats=1))
    (running,) = await begin(engine, 1)
    await eventually(lambda: tools.running == 1)
    waits = await engine.create("say: Never.")
    await engine.send(waits, PATIENT.format("next"), "interrupt")
    await engine.until(waits, lambda view: view.chat.turn == 2 and view.chat.lease is None)
    assert await waiting(engine, [running, waits]) == [None, "capacity"]
    tools.go("0").set()
    await engine.idle(running)
    tools.go("next").set()
    await engine.idle(waits)
    assert (tools.ledger, tools.most_running) == (["0", "next"], 1)


async def test_two_workers_share_the_work(engine_everywhere: Engine, tools: Toolbox) -> None:
    """Each chat has one owner, whoever comes first."""
    engine = engine_everywhere
    chats = await begin(engine, 6)
    for _ in range(2):
        engine.start(at_most(max_chats=3))
    await eventually(lambda: tools.running == 6)
    for n in range(6):
        tools.go(str(n)).set()
    for chat in chats:
        view = await engine.idle(chat)
        assert view.chat.lease_number == 1
    assert sorted(tools.ledger) == [str(n) for n in range(6)]
