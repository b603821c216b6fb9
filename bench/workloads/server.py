"""W4: kill -9 with 100 turns in flight, and start again. W6: 10 000 idle chats and 200 idle watchers."""

from bench.cases import Against, Case, Entry, Goal, Scale
from bench.contender import Contender

OURS_RECOVERY = Contender("holdfast", "bench.ours.recovery")
FLOOR_RECOVERY = Contender("floor", "bench.floor.recovery")
OURS_IDLE = Contender("holdfast", "bench.ours.idle")
TURNS = 100
CHATS = 10_000


def recovery_cases(scale: Scale) -> list[Case]:
    """On SQLite: there a dead owner's leases are void at once. On PostgreSQL a lease is waited for, whoever
    restarts."""

    def entry(contender: Contender, *, http: bool) -> Entry:
        return Entry(
            name=contender.name,
            what=f"{TURNS} turns, half done",
            contender=contender,
            work="recover",
            at_once=TURNS,
            each=1,
            http=http,
            against=(Against(entry="floor", words="floor's time", figure="seconds"),) if http else (),
            goals=RECOVERY_GOALS if http else (),
        )

    entries = (entry(FLOOR_RECOVERY, http=False), entry(OURS_RECOVERY, http=True))
    return [Case(workload="W4", engine="sqlite", entries=entries)]


RECOVERY_GOALS = (
    Goal(words="2 s", figure="seconds", at_most=2),
    Goal(words="1 s", figure="seconds", at_most=1),
    Goal(words="nothing lost or doubled", figure="chats lost or doubled", at_most=0),
)


def idle_cases(scale: Scale) -> list[Case]:
    chats = scale.some(CHATS)
    return [
        Case(
            workload="W6",
            engine=engine,
            rounds=2,
            entries=(
                Entry(
                    name="holdfast",
                    what=f"{chats} chats, {scale.watchers} watchers",
                    contender=OURS_IDLE,
                    work="idle",
                    at_once=scale.watchers,
                    each=chats,
                    goals=IDLE_GOALS,
                ),
            ),
        )
        for engine in scale.engines
    ]


IDLE_GOALS = (
    Goal(words="ready in 3 s", figure="ready after", at_most=3),
    Goal(words="80 MB", figure="base MB", at_most=80),
    Goal(words="60 kB a watcher", figure="kB per watcher", at_most=60),
)
