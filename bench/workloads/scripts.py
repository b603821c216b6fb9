"""W3: one workflow that starts 200 agents with a model that does nothing, 16 at once, all durable; then the
same once more, everything reused."""

from bench.cases import Against, Case, Entry, Goal, Scale
from bench.contender import Contender
from bench.task import Engine
from bench.workloads.store import FLOORS

OURS = Contender("holdfast", "bench.ours.fan_out")
LANGGRAPH = Contender("langgraph", "bench.peers.langgraph_fan_out", "peers")
DBOS = Contender("dbos", "bench.peers.dbos_fan_out", "peers")
AGENTS = 200
AT_ONCE = 16


def cases(scale: Scale) -> list[Case]:
    return [_case(engine, scale) for engine in scale.engines]


def _case(engine: Engine, scale: Scale) -> Case:
    peers = (LANGGRAPH, DBOS) if scale.peers else ()
    ours = fan_out_entry(
        OURS,
        against=(
            *(Against(entry=peer.name, words=peer.name) for peer in peers),
            Against(entry="floor", words="floor"),
            *(Against(entry=peer.name, words=f"{peer.name}'s CPU", figure="cpu") for peer in peers[:1]),
        ),
        goals=(
            Goal(words="0.2 x floor", entries=("floor",), at_least=0.2),
            *(Goal(words=f"5 x {peer.name}", entries=(peer.name,), at_least=5) for peer in peers),
            Goal(words="again 50 ms", figure="again ms", at_most=50),
        ),
    )
    others = [fan_out_entry(contender) for contender in (FLOORS[engine], *peers)]
    return Case(workload="W3", engine=engine, entries=(*others, ours))


def fan_out_entry(
    contender: Contender, against: tuple[Against, ...] = (), goals: tuple[Goal, ...] = ()
) -> Entry:
    return Entry(
        name=contender.name,
        what=f"{AGENTS} agents, {AT_ONCE} at once",
        contender=contender,
        work="script",
        at_once=AT_ONCE,
        each=AGENTS,
        against=against,
        goals=goals,
    )
