"""store: transitions per second, many chats and one hot chat, compared with group commit of the same
bytes."""

from bench.cases import Against, Case, Entry, Goal, Scale
from bench.contender import Contender
from bench.task import Engine, Work

OURS = Contender("holdfast", "bench.ours.transitions")
FLOORS: dict[Engine, Contender] = {
    "sqlite": Contender("floor", "bench.floor.sqlite"),
    "postgres": Contender("floor", "bench.floor.postgres"),
}
# Transitions of each writer: enough that the log is written back several times.
EACH = {1: 400, 64: 100}
SHAPES: dict[Work, str] = {"many": "own chats", "hot": "one hot chat"}
GOAL_WRITERS = 64


def cases(scale: Scale) -> list[Case]:
    return [
        _case(engine, work, writers, scale)
        for engine in scale.engines
        for work in SHAPES
        for writers in scale.writers
    ]


def _case(engine: Engine, work: Work, writers: int, scale: Scale) -> Case:
    what = f"{writers} writer{'s' if writers > 1 else ''}, {SHAPES[work]}"
    each = scale.some(EACH.get(writers, 100))
    goal = Goal(words="0.5 x floor", entries=("floor",), at_least=0.5)
    floor = Entry(name="floor", what=what, contender=FLOORS[engine], work=work, at_once=writers, each=each)
    ours = Entry(
        name="holdfast",
        what=what,
        contender=OURS,
        work=work,
        at_once=writers,
        each=each,
        against=(Against(entry="floor", words="floor"),),
        goals=(goal,) if writers >= GOAL_WRITERS else (),
    )
    return Case(workload="store", engine=engine, entries=(floor, ours))
