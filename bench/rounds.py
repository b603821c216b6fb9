"""Runs a case: all its entries in turn, round by round, each on a fresh database, and each round starting
with another entry, so that a slow minute of the machine affects everybody."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from bench.cases import Case, Entry
from bench.contender import ContenderFailed, Loop, Process
from bench.databases import Databases
from bench.task import Figures, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """An entry with the figures of every round, or with why it has none."""

    case: Case
    entry: Entry
    rounds: tuple[Figures, ...] = ()
    failure: str | None = None


def measure(
    case: Case,
    rounds: int,
    databases: Databases,
    *,
    loop: Loop,
    model_url: str | None,
    say: Callable[[str], None],
) -> list[Measured]:
    rounds = min(rounds, case.rounds or rounds)
    figures: dict[str, list[Figures]] = {entry.name: [] for entry in case.entries}
    failures: dict[str, str] = {}
    with ExitStack() as stack:
        # All at once: starting is most of the time of a short case.
        processes = {
            entry.name: stack.enter_context(
                Process(entry.contender, loop, databases.directory / f"{number}.log")
            )
            for number, entry in enumerate(case.entries)
        }
        for name, process in processes.items():
            try:
                process.wait_until_ready()
            except ContenderFailed as failure:
                failures[name] = str(failure)
        for number in range(rounds):
            say(f"{case.title}: round {number + 1} of {rounds}")
            turn = number % len(case.entries)
            for entry in (*case.entries[turn:], *case.entries[:turn]):
                if entry.name in failures:
                    continue
                try:
                    measured = _measure(case, entry, processes[entry.name], databases, model_url)
                except ContenderFailed as failure:
                    failures[entry.name] = str(failure)
                    say(str(failure))
                else:
                    figures[entry.name].append(measured)
    return [
        Measured(
            case=case,
            entry=entry,
            rounds=tuple(figures[entry.name]),
            failure=failures.get(entry.name),
        )
        for entry in case.entries
    ]


def _measure(
    case: Case, entry: Entry, process: Process, databases: Databases, model_url: str | None
) -> Figures:
    with databases.fresh(case.engine) as database:
        task = Task(
            work=entry.work,
            engine=case.engine,
            database=database,
            at_once=entry.at_once,
            each=entry.each,
            history=entry.history,
            files=entry.files,
            speaks=entry.speaks,
            model_url=model_url if entry.http else None,
            server_pid=databases.server_pid if case.engine == "postgres" else None,
        )
        return process.ask(task)
