"""W1: durable turns of ten steps, C chats at once. W1h: the same with the model behind loopback HTTP. W1d:
that with the debug record."""

from bench.cases import Against, Case, Entry, Goal, Scale
from bench.contender import Contender
from bench.task import Engine
from bench.workloads.store import FLOORS

OURS = Contender("holdfast", "bench.ours.turns")
RECORDED = Contender("recorded", "bench.ours.recorded_turns")
LANGGRAPH = Contender("langgraph", "bench.peers.langgraph_turns", "peers")
AGENTS = Contender("openai-agents", "bench.peers.openai_agents_turns", "peers")
DBOS = Contender("dbos", "bench.peers.dbos_turns", "peers")
PEERS = (LANGGRAPH, AGENTS, DBOS)

# Turns of each chat. A peer does fewer where it needs seconds for them; a turn is the same for all.
TURNS = {1: 20, 16: 6, 128: 3}
PEERS_TURNS = {1: 4, 16: 2, 128: 1}
HTTP_CHATS = 16
# With more at once one turn of each takes it most of a minute, and models are not its business.
DBOS_CHATS = 16

AT_128: dict[Engine, float] = {"sqlite": 25, "postgres": 30}


def cases(scale: Scale) -> list[Case]:
    return [_case("W1", engine, chats, scale) for engine in scale.engines for chats in scale.chats]


def http_cases(scale: Scale) -> list[Case]:
    return [_case("W1h", engine, HTTP_CHATS, scale) for engine in scale.engines]


def recorded_cases(scale: Scale) -> list[Case]:
    """The same turns with and without the debug record."""
    return [_recorded(engine, scale) for engine in scale.engines]


def _recorded(engine: Engine, scale: Scale) -> Case:
    def entry(contender: Contender, against: tuple[Against, ...] = (), goals: tuple[Goal, ...] = ()) -> Entry:
        return Entry(
            name=contender.name,
            what=f"C={HTTP_CHATS}",
            contender=contender,
            work="turns",
            at_once=HTTP_CHATS,
            each=scale.some(TURNS[HTTP_CHATS]),
            http=True,
            against=against,
            goals=goals,
        )

    recorded = entry(
        RECORDED,
        against=(Against(entry=OURS.name, words="without the record"),),
        goals=(Goal(words="0.8 x without the record", entries=(OURS.name,), at_least=0.8),),
    )
    return Case(workload="W1d", engine=engine, entries=(entry(OURS), recorded))


def _case(workload: str, engine: Engine, chats: int, scale: Scale) -> Case:
    http = workload == "W1h"
    peers = () if not scale.peers else PEERS if not http and chats <= DBOS_CHATS else (LANGGRAPH, AGENTS)

    def entry(
        contender: Contender,
        turns: dict[int, int],
        against: tuple[Against, ...] = (),
        goals: tuple[Goal, ...] = (),
    ) -> Entry:
        return Entry(
            name=contender.name,
            what=f"C={chats}",
            contender=contender,
            work="turns",
            at_once=chats,
            each=scale.some(turns.get(chats, 1)),
            http=http and contender.name != "floor",
            against=against,
            goals=goals,
        )

    ours = entry(
        OURS,
        TURNS,
        against=(
            *(Against(entry=peer.name, words=peer.name) for peer in peers),
            Against(entry="floor", words="floor"),
            *(Against(entry=peer.name, words=f"{peer.name}'s CPU", figure="cpu") for peer in peers[:1]),
        ),
        goals=_goals(workload, engine, chats, peers) if peers else (),
    )
    others = [entry(FLOORS[engine], TURNS), *(entry(peer, PEERS_TURNS) for peer in peers)]
    return Case(workload=workload, engine=engine, entries=(*others, ours))


def _goals(workload: str, engine: Engine, chats: int, peers: tuple[Contender, ...]) -> tuple[Goal, ...]:
    best = tuple(peer.name for peer in peers)
    cpu = Goal(words="CPU 0.4", figure="cpu", at_most=0.4)
    match workload, chats:
        case "W1", 1:
            return (Goal(words="3.5 x best peer", entries=best, at_least=3.5),)
        case "W1", 16:
            return (Goal(words="14 x best peer", entries=best, at_least=14), cpu)
        case "W1", 128:
            full = AT_128[engine]
            return (
                Goal(words="10 x langgraph", entries=("langgraph",), at_least=10),
                Goal(words=f"{full:g} x langgraph", entries=("langgraph",), at_least=full),
                Goal(words="0.1 x langgraph's CPU", entries=("langgraph",), figure="cpu", at_most=0.1),
                cpu,
            )
        case _:
            return ()
