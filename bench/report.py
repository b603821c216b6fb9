"""The report of a run: one table for people, the same as JSON for programs."""

from datetime import datetime

import msgspec

from bench.machine import Machine
from bench.results import Line

HEADER = (
    "workload",
    "engine",
    "what",
    "who",
    "per second",
    "p50 ms",
    "p99 ms",
    "CPU s/1000",
    "server",
    "peak MB",
    "also",
    "ratios",
    "goals",
)
# From here to there are numbers, which stand at the right.
NUMBERS = range(4, 10)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    started_at: datetime
    seconds: float
    rounds: int
    loop: str
    machine: Machine
    versions: dict[str, str]
    lines: tuple[Line, ...]
    # What could not be measured, and why.
    remarks: tuple[str, ...] = ()


def to_json(report: Report) -> bytes:
    return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"


def to_table(report: Report) -> str:
    head = [
        machine_line(report),
        versions_line(report),
        f"Medians of {report.rounds} rounds, in each of which all had their turn. Event loop: {report.loop}.",
        "Counted: steps; in store transitions, W2 and W2f events, W4 turns, W6 chats, else as named.",
        "CPU is the contender's (in W2 to W6 that of the server it watches), server is PostgreSQL's for it.",
        "",
    ]
    rows = [HEADER, *(row_of(line) for line in report.lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    table: list[str] = []
    last: tuple[str, ...] = ()
    for row in rows:
        if last and last[:3] != row[:3]:
            table.append("")
        last = row
        cells = [
            cell.rjust(width) if column in NUMBERS else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        table.append("  ".join(cells).rstrip())
    return "\n".join([*head, *table, *(["", *report.remarks] if report.remarks else [])]) + "\n"


def machine_line(report: Report) -> str:
    machine = report.machine
    processor = f"{machine.processors} processors ({machine.processor})"
    return f"{machine.system}, {processor}, {machine.memory_gb:g} GB, {machine.disk}, load {machine.load:.1f}"


def versions_line(report: Report) -> str:
    return ", ".join(f"{name} {version}" for name, version in report.versions.items())


def row_of(line: Line) -> tuple[str, ...]:
    ratios = ", ".join(f"{_short(ratio.value)} x {ratio.words}" for ratio in line.ratios)
    goals = ", ".join(f"{goal.words}: {'yes' if goal.reached else 'no'}" for goal in line.goals)
    return (
        line.workload,
        line.engine,
        line.what,
        line.contender,
        _number(line.per_second, 0),
        _number(line.p50_ms, 1),
        _number(line.p99_ms, 1),
        _number(line.cpu_per_thousand, 2),
        _number(line.server_cpu_per_thousand, 2),
        _number(line.peak_mb, 0),
        ", ".join(f"{name} {_short(value)}" for name, value in line.also.items()),
        f"failed: {line.failure}" if line.failure else ratios,
        goals,
    )


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}".replace(",", " ")


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"
