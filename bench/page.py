"""What a run found, written into docs/performance.md: each workload between marks of its own, so that one
that is measured alone leaves the others as they are."""

from itertools import groupby
from pathlib import Path

from bench.report import HEADER, Report, machine_line, row_of, versions_line

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"


def write(report: Report, page: Path = PAGE) -> None:
    made = f"{report.started_at:%Y-%m-%d}: {machine_line(report)}; {versions_line(report)}."
    for workload, lines in groupby(report.lines, lambda line: line.workload):
        # Whoever reads a workload's table knows which it is.
        rows = [HEADER[1:], *(row_of(line)[1:] for line in lines)]
        used = [column for column in range(len(HEADER) - 1) if any(cells[column] for cells in rows[1:])]
        table = ["| " + " | ".join(cells[column] for column in used) + " |" for cells in rows]
        table.insert(1, "|---" * len(used) + "|")
        put(page, f"bench {workload}", "\n".join((made, "", *table)))


def put(page: Path, name: str, section: str) -> None:
    """Between the marks of that name; what stands around them stays."""
    begin, end = marks(name)
    before, found_begin, rest = page.read_text().partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise SystemExit(f"{page} has no place for the table: it needs the lines {begin} and {end}")
    page.write_text(f"{before}{begin}\n\n{section}\n\n{end}{after}")


def marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
