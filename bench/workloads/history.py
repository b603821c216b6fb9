"""W5: W1 at C=16 on chats that already have a history. The cost of a step should not grow with the
history."""

from bench.cases import Against, Case, Entry, Goal, Scale
from bench.contender import Contender
from bench.task import Engine
from bench.workloads.turns import LANGGRAPH, OURS

CHATS = 16
GOALS = {200: 0.8, 2000: 0.5}


def cases(scale: Scale) -> list[Case]:
    return [_case(engine, scale) for engine in scale.engines]


def _case(engine: Engine, scale: Scale) -> Case:
    peers = (LANGGRAPH,) if scale.peers else ()
    entries = [
        _entry(contender, history, compared=bool(peers) and history <= scale.peers_history)
        for contender in (*peers, OURS)
        for history in scale.histories
        if contender is OURS or history <= scale.peers_history
    ]
    return Case(workload="W5", engine=engine, entries=tuple(entries))


def _entry(contender: Contender, history: int, *, compared: bool) -> Entry:
    """Each turn has a chat of its own: a second turn would have a longer history."""
    own = f"{contender.name} {history}"
    start = f"{contender.name} 0"
    against: list[Against] = []
    goals: list[Goal] = []
    if history:
        against.append(Against(entry=start, words="without history"))
    if contender is OURS and compared:
        against.append(Against(entry=f"langgraph {history}", words="langgraph"))
    if contender is OURS and history in GOALS:
        least = GOALS[history]
        goals.append(Goal(words=f"{least:g} x without history", entries=(start,), at_least=least))
    return Entry(
        name=own,
        what=f"C={CHATS}, {history} messages",
        contender=contender,
        work="turns",
        at_once=CHATS,
        each=2 if contender is OURS else 1,
        history=history,
        against=tuple(against),
        goals=tuple(goals),
    )
