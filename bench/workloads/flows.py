"""W3f: a flow of 200 agent steps with a model that does nothing, in waves of 16, all durable; then the same
once more, everything reused. The peers run what they run in W3."""

from bench.cases import Against, Case, Goal, Scale
from bench.contender import Contender
from bench.task import Engine
from bench.workloads.scripts import DBOS, LANGGRAPH, fan_out_entry

OURS = Contender("holdfast", "bench.ours.flow_fan_out")


def cases(scale: Scale) -> list[Case]:
    return [_case(engine, scale) for engine in scale.engines]


def _case(engine: Engine, scale: Scale) -> Case:
    peers = (LANGGRAPH, DBOS) if scale.peers else ()
    ours = fan_out_entry(
        OURS,
        against=tuple(Against(entry=peer.name, words=peer.name) for peer in peers),
        goals=(
            *(Goal(words=f"5 x {peer.name}", entries=(peer.name,), at_least=5) for peer in peers),
            Goal(words="decision 20 ms", figure="decision ms", at_most=20),
        ),
    )
    return Case(workload="W3f", engine=engine, entries=(*(fan_out_entry(peer) for peer in peers), ours))
