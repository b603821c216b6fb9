"""What a contender is asked for and what it answers, as lines of JSON. Standard library alone: the peers'
interpreter reads it too."""

import json
from dataclasses import asdict, dataclass, field
from typing import Literal

Engine = Literal["sqlite", "postgres"]
# turns: durable turns of an agent.  many: transitions, every writer on a chat of its own.  hot: all on one
# chat.  stream: live text.  fan_out: one stream to many watchers.  recover: kill and start again.  idle: a
# server with nothing to do.  search: names and lines in a tree of files, with another program's help if it is
# there, or alone.  script: a workflow of many agents, and once more with everything reused.  code: a map of
# source code, and once more.
Work = Literal[
    "turns", "many", "hot", "stream", "fan_out", "recover", "idle", "search", "search_alone", "script", "code"
]
Speaks = Literal["sse", "websocket"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """`database` is an empty directory for SQLite, the address of an empty database for PostgreSQL."""

    work: Work
    engine: Engine
    database: str
    # Chats, writers, streams or watchers at the same time, and how many turns, transitions or deltas each of
    # them does.
    at_once: int
    each: int
    # How watchers are told.
    speaks: Speaks = "sse"
    # Model calls of a turn.
    steps: int = 10
    # Messages of 1 kB that every chat has before its turn.
    history: int = 0
    # Files of the tree that is searched or mapped.
    files: int = 0
    # A model server to call; None: the model is scripted in process.
    model_url: str | None = None
    # The database server's main process, where its CPU time can be looked at.
    server_pid: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was counted (steps, transitions, events, turns), how long it took, and what it took of the
    contender's process, or of the server it started. A peak is of the process's whole life."""

    count: int
    seconds: float
    cpu_seconds: float
    p50_ms: float
    p99_ms: float
    peak_mb: float
    # Of the database server's processes meanwhile.
    server_cpu_seconds: float | None = None
    # What else there is to say, by name.
    also: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def per_second(self) -> float:
        return self.count / self.seconds

    @property
    def cpu_per_thousand(self) -> float:
        return self.cpu_seconds * 1000 / self.count


def line_of(value: Task | Figures) -> str:
    return json.dumps(asdict(value)) + "\n"


def task_of(line: str) -> Task:
    return Task(**json.loads(line))


def figures_of(line: str) -> Figures:
    return Figures(**json.loads(line))
