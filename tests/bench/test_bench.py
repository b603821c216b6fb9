"""The bench measures and reports. No test says how fast anything is."""

import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp

import msgspec
import pytest
from packaging.requirements import Requirement

from bench import machine, page
from bench.__main__ import INTERRUPTED, WORKLOADS, run
from bench.cases import Case, Entry, Scale
from bench.code_tree import LANGUAGES
from bench.floor import sqlite as floor
from bench.floor import streams
from bench.model_server import ModelServer
from bench.ours import mapping, searching, transitions
from bench.report import Report, to_json, to_table
from bench.results import Line, Ratio, lines
from bench.rounds import Measured
from bench.task import Figures, Speaks, Task, Work
from bench.watching import SHORT_STREAMS
from bench.workloads import store

ROOT = Path(__file__).parents[2]
TINY = Scale(rounds=1, chats=(1,), writers=(2,), histories=(0,), share=0.02, engines=("sqlite",), peers=False)
RUN = {"floor": floor.run, "holdfast": transitions.run}


async def test_a_measured_case_becomes_a_table_and_json(tmp_path: Path) -> None:
    found: list[Line] = []
    for case in store.cases(TINY):
        measured = [
            Measured(case=case, entry=entry, rounds=(await figures(entry, mkdtemp(dir=tmp_path)),))
            for entry in case.entries
        ]
        found += lines(measured)
    report = reported(tmp_path, *found)
    check(report)
    assert msgspec.json.decode(to_json(report), type=Report) == report


def reported(directory: Path, *found: Line) -> Report:
    return Report(
        started_at=datetime.now(UTC),
        seconds=0.1,
        rounds=1,
        loop="asyncio",
        machine=machine.look(directory),
        versions=machine.versions(postgres=None, peers=False),
        lines=found,
    )


async def figures(entry: Entry, directory: str) -> Figures:
    task = Task(work=entry.work, engine="sqlite", database=directory, at_once=entry.at_once, each=entry.each)
    return await RUN[entry.name](task)


@pytest.mark.heavy
def test_the_command_runs_contenders_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    said: list[str] = []
    check(run(["store"], TINY, said.append))
    assert "store sqlite 2 writers, own chats: round 1 of 1" in said
    assert list(tmp_path.iterdir()) == []


def check(report: Report) -> None:
    ours = [line for line in report.lines if line.contender == "holdfast"]
    assert [(line.what, line.failure) for line in ours] == [
        ("2 writers, own chats", None),
        ("2 writers, one hot chat", None),
    ]
    assert all(line.per_second and line.cpu_per_thousand is not None for line in report.lines)
    endings = [
        row for row in to_table(report).splitlines() if row.startswith("store") and " holdfast " in row
    ]
    assert len(endings) == len(ours)
    assert all(re.search(r"\d+(\.\d+)? x floor$", row) for row in endings)


def test_what_was_found_goes_between_the_marks_of_its_workload(tmp_path: Path) -> None:
    found = tmp_path / "page.md"
    (begin, end), other = page.marks("bench W1"), "\n".join(page.marks("bench W2"))
    found.write_text(f"before\n{begin}\nold\n{end}\nafter\n{other}\n")
    ratio = Ratio(words="floor", value=0.5, least=0.4, most=0.6)
    line = Line(
        workload="W1",
        engine="sqlite",
        what="C=1",
        contender="holdfast",
        rounds=5,
        per_second=1234.5,
        ratios=(ratio,),
    )
    for _ in range(2):
        page.write(reported(tmp_path, line), found)
    before, _, rest = found.read_text().partition(begin)
    section, _, after = rest.partition(end)
    assert (before, after) == ("before\n", f"\nafter\n{other}\n")
    assert section.strip().splitlines()[-3:] == [
        "| engine | what | who | per second | ratios |",
        "|---|---|---|---|---|",
        "| sqlite | C=1 | holdfast | 1 234 | 0.50 x floor |",
    ]
    with pytest.raises(SystemExit, match="no place"):
        page.put(found, "bench W9", "new")


def test_the_page_has_a_place_for_every_workload() -> None:
    text = page.PAGE.read_text()
    assert [name for name in WORKLOADS if not all(mark in text for mark in page.marks(f"bench {name}"))] == []


def test_what_was_measured_until_an_interrupt_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Case] = []

    def measure(case: Case, *_: object, **__: object) -> list[Measured]:
        if asked:
            raise KeyboardInterrupt
        asked.append(case)
        return [Measured(case=case, entry=entry, failure="not asked") for entry in case.entries]

    monkeypatch.setattr("bench.__main__.measure", measure)
    report = run(["store"], TINY, lambda _: None)
    assert report.remarks[-1] == INTERRUPTED
    assert {line.what for line in report.lines} == {entry.what for entry in asked[0].entries}


def test_the_lock_covers_the_peers() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    text = (ROOT / "requirements" / "bench.lock").read_text()
    pins = dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", text, re.MULTILINE))
    wanted = [Requirement(entry) for entry in project["dependency-groups"]["bench"]]
    assert [need.name for need in wanted if not need.specifier.contains(pins.get(need.name, "0"))] == []
    assert "://" not in text
    assert len(re.findall(r"^\S+==", text, re.MULTILINE)) == len(
        re.findall(r"\\\n    --hash.*(?<!\\)\n", text)
    )


@pytest.mark.heavy
@pytest.mark.parametrize("speaks", ["websocket", "sse"])
async def test_the_floor_of_live_text_relays_what_a_model_says(tmp_path: Path, speaks: Speaks) -> None:
    with ModelServer() as model:
        task = Task(
            work="stream",
            engine="sqlite",
            database=str(tmp_path),
            at_once=2,
            each=30,
            speaks=speaks,
            model_url=model.url,
        )
        figures = await streams.run(task)
    assert figures.also == {"deltas an event": 1.0}
    assert figures.count == 30 * SHORT_STREAMS


@pytest.mark.parametrize("work", ["search", "search_alone"])
async def test_searches_are_measured(tmp_path: Path, work: Work) -> None:
    task = Task(work=work, engine="sqlite", database=str(tmp_path / "one"), at_once=1, each=5, files=300)
    assert (await searching.run(task)).count == 5
    assert (tmp_path / "tree-300" / "package_000" / "part_00").is_dir()


async def test_maps_of_code_are_measured(tmp_path: Path) -> None:
    task = Task(work="code", engine="sqlite", database=str(tmp_path / "one"), at_once=1, each=1, files=20)
    figures = await mapping.run(task)
    assert (figures.count, set(figures.also)) == (1, {"first s", "again s"})
    files = [path for path in (tmp_path / "code-20").rglob("*.*") if path.is_file()]
    assert {path.suffix for path in files} == {f".{ending}" for ending in LANGUAGES}
