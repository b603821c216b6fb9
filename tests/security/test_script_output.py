"""Whatever scripts print: its number and size are bounded, so that the answer about a run is."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast.core.ids import RunId, UserId
from holdfast.core.runs import Run, RunLine
from holdfast.scripts.engines.limits import ScriptLimits
from holdfast.scripts.journal import MAIN
from holdfast.scripts.runs.run_journal import FULL, MOST_LINE_BYTES, MOST_LINES, RunJournal
from tests.api.serving import Serving, config_for, serving

NOW = datetime(2026, 1, 1, tzinfo=UTC)
META = "export const meta = {name: 'loud', description: 'says much'}\n"
SCRIPTS = {
    "phases": "for (let i = 0; i < 20000; i++) phase(`phase number ${i} `.repeat(10))\nreturn 1",
    "lines": "for (let i = 0; i < 20000; i++) log('x'.repeat(4000))\nreturn 1",
}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Serving]:
    async with serving(config_for(tmp_path / "data")) as running:
        yield running


@pytest.mark.heavy
@pytest.mark.parametrize("name", SCRIPTS)
async def test_a_script_that_does_not_stop_talking(server: Serving, name: str) -> None:
    body = {"script": META + SCRIPTS[name], "language": "javascript"}
    started = await server.admin.post("workflow-runs", body)
    assert started.status == 202, started
    run = started
    async with asyncio.timeout(100):
        while run.json["status"] in ("pending", "running"):
            await asyncio.sleep(0.1)
            run = await server.admin.get(f"workflow-runs/{started.json['id']}")
    assert run.json["status"] == "succeeded", run
    assert len(run.json["phases"]) <= ScriptLimits().phases
    assert len(run.json["log"]) <= MOST_LINES
    assert len(run.body) <= 2 * MOST_LINE_BYTES
    assert any(line["kind"] == "warning" for line in run.json["log"])


def said(book: RunJournal) -> tuple[RunLine, ...]:
    entries = book.unwritten()
    return () if entries is None else entries.lines


def run() -> Run:
    return Run(
        id=RunId("r"),
        owner_id=UserId("u"),
        name="loud",
        language="javascript",
        script="",
        args_hash="",
        created_at=NOW,
    )


@pytest.mark.parametrize("text, most", [("x", MOST_LINES), ("x" * 4000, MOST_LINE_BYTES // 4000 + 1)])
def test_all_scripts_of_a_run_together(text: str, most: int) -> None:
    """However many there are, and also if the run goes on elsewhere."""
    book = RunJournal(run())
    for scope in range(10):
        for _ in range(MOST_LINES // 5):
            book.script_said(scope, "log", text, NOW)
    lines = said(book)
    assert len(lines) == most
    assert (lines[-1].kind, lines[-1].text) == ("warning", FULL)
    again = RunJournal(run(), lines=lines)
    for scope in range(10):
        for _ in range(MOST_LINES // 5):
            again.script_said(scope, "log", text, NOW)
    assert said(again) == ()


def test_what_fits_is_kept() -> None:
    book = RunJournal(run())
    for number in range(100):
        book.script_said(MAIN, "log", str(number), NOW)
    assert [line.text for line in said(book)] == [str(number) for number in range(100)]
