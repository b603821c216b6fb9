"""W2: live text of 2 000 deltas, one event for each, from a model behind loopback HTTP to a client. W2f: one
such stream to 200 watchers."""

from bench.cases import Against, Case, Entry, Goal, Scale
from bench.contender import Contender
from bench.task import Speaks, Work

OURS = Contender("holdfast", "bench.ours.streams")
FLOOR = Contender("bare", "bench.floor.streams")
DELTAS = 2000
# Not less in a quick look: a stream that is committed before anybody could be told of it is not shown live.
FAN_OUT_DELTAS = 1000
SPOKEN: tuple[Speaks, ...] = ("websocket", "sse")


def cases(scale: Scale) -> list[Case]:
    return [
        Case(
            workload="W2",
            engine="sqlite",
            entries=tuple(
                entry for speaks in SPOKEN for entry in _entries("stream", streams, DELTAS, speaks, scale)
            ),
        )
        for streams in scale.streams
    ]


def fan_out_cases(scale: Scale) -> list[Case]:
    entries = _entries("fan_out", scale.watchers, FAN_OUT_DELTAS, "sse", scale)
    return [Case(workload="W2f", engine="sqlite", entries=entries)]


def _entries(work: Work, at_once: int, deltas: int, speaks: Speaks, scale: Scale) -> tuple[Entry, ...]:
    bare = f"bare {speaks}"
    who = "stream" if work == "stream" else "watcher"

    def entry(contender: Contender, against: tuple[Against, ...] = (), goals: tuple[Goal, ...] = ()) -> Entry:
        return Entry(
            name=f"{contender.name} {speaks}",
            what=f"{at_once} {who}{'s' if at_once > 1 else ''}, {speaks}",
            contender=contender,
            work=work,
            at_once=at_once,
            each=scale.some(deltas) if work == "stream" else deltas,
            http=contender is OURS or work == "stream",
            speaks=speaks,
            against=against,
            goals=goals,
        )

    against = (
        Against(entry=bare, words=bare),
        Against(entry=bare, words="its CPU", figure="cpu"),
    )
    return entry(FLOOR), entry(OURS, against, _goals(work, at_once, bare))


def _goals(work: Work, at_once: int, bare: str) -> tuple[Goal, ...]:
    if work == "fan_out":
        return (
            Goal(words="1/1.5 x bare", entries=(bare,), at_least=1 / 1.5),
            Goal(words="60 kB a watcher", figure="kB per watcher", at_most=60),
            Goal(words="40 kB a watcher", figure="kB per watcher", at_most=40),
        )
    cpu = Goal(words="60 us a delta", figure="cpu", at_most=0.06)
    if at_once > 1 or bare != "bare websocket":
        return (cpu,)
    return (
        Goal(words="1/4 x bare", entries=(bare,), at_least=0.25),
        Goal(words="1/2 x bare", entries=(bare,), at_least=0.5),
        cpu,
    )
