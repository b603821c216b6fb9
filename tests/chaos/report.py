"""What a run has shown: a table for people, written to the terminal and, between two marks, into the page
about reliability."""

import platform
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.page import put
from tests.chaos.faults import FAULTS
from tests.chaos.rounds import Result

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
# In the order of the design; `errors` are answers of 500 and tracebacks in logs.
INVARIANTS = (
    *("I-1", "I-2", "I-3", "I-4", "I-5", "I-6", "I-7", "I-8", "I-9", "I-10", "I-11", "I-12", "I-13", "I-14"),
    "errors",
)
SET_UP_NAMES = {"sqlite": "SQLite", "one": "PostgreSQL, one replica", "three": "PostgreSQL, three replicas"}


def table(results: Sequence[Result]) -> str:
    """Markdown, as wide as it has to be."""
    rows = [["set-up", "fault", "runs", "chats", "noticed", "violations", "recovery: median, longest (s)"]]
    for set_up, name in SET_UP_NAMES.items():
        for fault in (*(fault.name for fault in FAULTS), "left over"):
            of_fault = [one for one in results if (one.set_up, one.fault) == (set_up, fault)]
            if of_fault:
                rows.append([name, fault, *_cells(of_fault)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    return "\n".join((lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]))


def _cells(results: Sequence[Result]) -> list[str]:
    counts = Counter(violation.invariant for one in results for violation in one.violations)
    noticed = sum((one.marks for one in results), Counter[str]())
    recoveries = [seconds for one in results for seconds in one.recoveries]
    return [
        str(len(results)),
        str(sum(one.chats for one in results)),
        ", ".join(f"{count} {name}" for name, count in sorted(noticed.items()) if count),
        ", ".join(f"{name}: {counts[name]}" for name in sorted(counts)) or "0",
        f"{statistics.median(recoveries):.1f}, {max(recoveries):.1f}" if recoveries else "",
    ]


def totals(results: Sequence[Result]) -> str:
    """How often each invariant was judged, and broken."""
    counts = Counter(violation.invariant for one in results for violation in one.violations)
    names = [*INVARIANTS, *sorted(set(counts) - set(INVARIANTS))]
    said = ", ".join(f"{name} {counts[name]}" for name in names)
    runs, chats = len(results), sum(one.chats for one in results)
    return f"{runs} runs, {chats} chats. Violations by invariant: {said}."


def page_section(results: Sequence[Result], seed: str) -> str:
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return "\n\n".join((f"Seed `{seed}`, {machine}. {totals(results)}", table(results)))


def write_page(set_up: str, section: str, page: Path = PAGE) -> None:
    put(page, f"chaos {set_up}", section)
