"""From the figures of all rounds to the report: medians, ratios within a round, goals reached or not."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import msgspec

from bench.cases import Figure, Goal
from bench.rounds import Measured
from bench.task import Figures


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """The median of the rounds' ratios, and how far the rounds went apart."""

    words: str
    value: float
    least: float
    most: float


class Aim(msgspec.Struct, frozen=True, kw_only=True):
    words: str
    value: float
    reached: bool


class Line(msgspec.Struct, frozen=True, kw_only=True):
    workload: str
    engine: str
    what: str
    contender: str
    rounds: int
    per_second: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    cpu_per_thousand: float | None = None
    server_cpu_per_thousand: float | None = None
    peak_mb: float | None = None
    # What only this workload has: medians, by name.
    also: dict[str, float] = {}
    ratios: tuple[Ratio, ...] = ()
    goals: tuple[Aim, ...] = ()
    failure: str | None = None


def lines(measured: Sequence[Measured]) -> list[Line]:
    """Of one case."""
    by_name = {one.entry.name: one.rounds for one in measured}
    return [_line(one, by_name) for one in measured]


def _line(one: Measured, others: Mapping[str, Sequence[Figures]]) -> Line:
    rounds = one.rounds
    said: dict[str, Any] = {
        "workload": one.case.workload,
        "engine": one.case.engine,
        "what": one.entry.what,
        "contender": one.entry.contender.name,
        "rounds": len(rounds),
        "failure": one.failure,
    }
    if not rounds:
        return Line(**said)
    server = [
        figures.server_cpu_seconds * 1000 / figures.count
        for figures in rounds
        if figures.server_cpu_seconds is not None
    ]
    ratios = [
        Ratio(words=against.words, value=median(found), least=min(found), most=max(found))
        for against in one.entry.against
        if (found := _ratios(against.figure, rounds, others[against.entry]))
    ]
    return Line(
        **said,
        per_second=median(figures.per_second for figures in rounds),
        p50_ms=median(figures.p50_ms for figures in rounds),
        p99_ms=median(figures.p99_ms for figures in rounds),
        cpu_per_thousand=median(figures.cpu_per_thousand for figures in rounds),
        server_cpu_per_thousand=median(server) if server else None,
        peak_mb=max(figures.peak_mb for figures in rounds),
        also={name: median(figures.also[name] for figures in rounds) for name in rounds[0].also},
        ratios=tuple(ratios),
        goals=tuple(aim for goal in one.entry.goals if (aim := _aim(goal, rounds, others)) is not None),
    )


def _aim(goal: Goal, rounds: Sequence[Figures], others: Mapping[str, Sequence[Figures]]) -> Aim | None:
    """None: what it is compared with could not be measured."""
    if not goal.entries:
        value = median(_figure(goal.figure, figures) for figures in rounds)
    else:
        found = [ratios for entry in goal.entries if (ratios := _ratios(goal.figure, rounds, others[entry]))]
        if len(found) < len(goal.entries):
            return None
        hardest = min if goal.at_least is not None else max
        value = hardest(median(ratios) for ratios in found)
    reached = (goal.at_least is None or value >= goal.at_least) and (
        goal.at_most is None or value <= goal.at_most
    )
    return Aim(words=goal.words, value=value, reached=reached)


def _figure(name: Figure, figures: Figures) -> float:
    match name:
        case "rate":
            return figures.per_second
        case "cpu":
            return figures.cpu_per_thousand
        case "seconds":
            return figures.seconds
        case _:
            return figures.also[name]


def _ratios(figure: Figure, rounds: Sequence[Figures], others: Sequence[Figures]) -> list[float]:
    """Round by round; one that failed half-way is compared as far as it came."""
    return [
        _figure(figure, ours) / _figure(figure, theirs) for ours, theirs in zip(rounds, others, strict=False)
    ]
