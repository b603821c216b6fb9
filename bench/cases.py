"""The vocabulary of a workload: entries that are measured side by side, what each is compared with, and the
goals."""

from dataclasses import dataclass, replace
from typing import Literal

from bench.contender import Contender
from bench.task import Engine, Speaks, Work

# What of an entry is compared: how many a second, what a thousand cost in CPU, how long all of it took, or
# something that only this workload has, by its name in `Figures.also`.
Figure = Literal["rate", "cpu", "seconds"] | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """The entry to divide by, and how that is written: `27.3 x langgraph`."""

    entry: str
    words: str
    figure: Figure = "rate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Reached when the ratio to each of `entries` is at least, or at most, so much; without entries, when
    the figure itself is."""

    words: str
    entries: tuple[str, ...] = ()
    figure: Figure = "rate"
    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    name: str
    # As the table has it: `C=128`, `64 writers, hot chat`.
    what: str
    contender: Contender
    work: Work
    at_once: int
    each: int
    history: int = 0
    files: int = 0
    http: bool = False
    speaks: Speaks = "sse"
    against: tuple[Against, ...] = ()
    goals: tuple[Goal, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Entries that are measured in turn, round by round, on one engine."""

    workload: str
    engine: Engine
    entries: tuple[Entry, ...]
    # At most so many rounds, where each is long and they hardly differ.
    rounds: int | None = None

    @property
    def title(self) -> str:
        whats = {entry.what for entry in self.entries}
        return " ".join([self.workload, self.engine, *(whats if len(whats) == 1 else ())])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How much is measured: everything, a quick look, or as little as a test needs."""

    rounds: int
    chats: tuple[int, ...]
    writers: tuple[int, ...]
    histories: tuple[int, ...]
    # Streams and watchers at once.
    streams: tuple[int, ...] = (1, 32)
    watchers: int = 200
    # Turns, transitions, deltas and idle chats are this share of the usual.
    share: float = 1.0
    engines: tuple[Engine, ...] = ("sqlite", "postgres")
    # The longest history that peers are measured with.
    peers_history: int = 200
    peers: bool = True

    def some(self, usual: int) -> int:
        return max(round(usual * self.share), 1)


FULL = Scale(rounds=5, chats=(1, 16, 128), writers=(1, 64), histories=(0, 200, 2000))
QUICK = Scale(rounds=2, chats=(1, 16), writers=(1, 64), histories=(0, 200), share=0.4)
LONG = replace(FULL, peers_history=max(FULL.histories))
