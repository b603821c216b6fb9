"""The check after writes: found in a project's files, judged by its exit status, never twice at once."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from holdfast.core.clock import SystemClock
from holdfast.core.errors import CannotRun, NotFound
from holdfast.workspaces.commands import check
from holdfast.workspaces.commands.check import Check, Checks, find_check
from holdfast.workspaces.files.file_root import Root
from tests.workspaces.rooms import CHAT, Room, sleeping, token, until

BOTH = json.dumps({"scripts": {"typecheck": "tsc", "compile": "x", "build": "vite build"}})


@pytest.mark.parametrize(
    "files, command",
    [
        ({"package.json": BOTH}, "npm run build"),
        ({"package.json": BOTH, "yarn.lock": ""}, "yarn run build"),
        (
            {"package.json": BOTH, "yarn.lock": "", "pnpm-lock.yaml": "", "package-lock.json": ""},
            "pnpm run build",
        ),
        ({"package.json": '{"scripts": {"typecheck": "tsc", "compile": "x"}}'}, "npm run compile"),
        ({"package.json": '{"scripts": {"typecheck": "tsc"}}', "Makefile": "check:\n"}, "npm run typecheck"),
        (
            {"package.json": '{"scripts": {"test": "x"}}', "Makefile": "all:\ncheck: all\n\ttrue\n"},
            "make check",
        ),
        ({"package.json": "not json", "Makefile": "test:\nbuild:\n"}, "make build"),
        ({"package.json": '{"scripts": ["build"]}'}, None),
        ({"package.json": "[" * 100_000}, None),
        ({"Makefile": "check := 1\nCHECK:\n"}, None),
        ({"pyproject.toml": "[tool.ruff]\n[tool.mypy]\n"}, 'PATH="$PWD/.venv/bin:$PATH" mypy .'),
        ({"pyproject.toml": "[tool.ruff.lint]\n"}, 'PATH="$PWD/.venv/bin:$PATH" ruff check .'),
        ({"pyproject.toml": "[project]\nname = 'x'\n"}, None),
        ({"pyproject.toml": "[[[["}, None),
        ({}, None),
    ],
)
def test_what_is_found(tmp_path: Path, files: dict[str, str], command: str | None) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    found = find_check(Root(tmp_path))
    assert (found.command if found is not None else None) == command


def test_what_is_configured_counts(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("check:\n")
    assert find_check(Root(tmp_path), "./check.sh") == Check(command="./check.sh")
    assert find_check(Root(tmp_path), "") is None


def test_files_that_are_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "package.json")
    (tmp_path / "Makefile").mkdir()
    (tmp_path / "elsewhere").write_text("[tool.ruff]\n")
    (tmp_path / "pyproject.toml").symlink_to(tmp_path / "elsewhere")
    assert find_check(Root(tmp_path)) is None


def test_a_workspace_that_became_a_link_has_none(tmp_path: Path) -> None:
    """Somebody at work in the directory around it has put a link in its place."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "Makefile").write_text("check:\n")
    (tmp_path / "inner").symlink_to("other")
    with pytest.raises(NotFound):
        find_check(Root(tmp_path, ("inner",)))


async def test_the_exit_status_decides(anywhere: Room) -> None:
    checks = Checks(anywhere.processes, SystemClock())
    passed = await checks.run(CHAT, Root(anywhere.workspace), anywhere.place, "echo error: not really")
    assert passed is not None
    assert passed.result == "passed"
    assert "passed" in passed.text
    assert passed.finished_at >= passed.started_at
    failed = await checks.run(CHAT, Root(anywhere.workspace), anywhere.place, "echo all is well; exit 2")
    assert failed is not None
    assert failed.result == "failed"
    assert "ended with 2" in failed.text
    assert failed.text.endswith("all is well\n")
    assert await checks.run(CHAT, Root(anywhere.workspace), anywhere.place) is None


async def test_the_end_of_a_long_output_is_given(anywhere: Room) -> None:
    verdict = await Checks(anywhere.processes, SystemClock()).run(
        CHAT, Root(anywhere.workspace), anywhere.place, "seq 100000; echo ä; exit 1"
    )
    assert verdict is not None
    assert len(verdict.output) == check.CHECK_CHARACTERS
    assert verdict.output.endswith("100000\nä\n")


async def test_a_program_that_is_not_there(anywhere: Room) -> None:
    """Nobody asked for the one that was found; the one that was configured should be there."""
    (anywhere.workspace / "pyproject.toml").write_text("[tool.mypy]\n")
    (anywhere.workspace / ".venv" / "bin").mkdir(parents=True)
    (anywhere.workspace / ".venv" / "bin" / "mypy").write_text("#!/no/such/interpreter\n")
    (anywhere.workspace / ".venv" / "bin" / "mypy").chmod(0o755)
    checks = Checks(anywhere.processes, SystemClock())
    assert await checks.run(CHAT, Root(anywhere.workspace), anywhere.place) is None
    configured = await checks.run(CHAT, Root(anywhere.workspace), anywhere.place, "no-such-program-anywhere")
    assert configured is not None
    assert configured.result == "failed"


async def test_one_whose_chat_is_somebody_elses_by_now(anywhere: Room) -> None:
    checks = Checks(anywhere.processes, SystemClock())
    with pytest.raises(CannotRun, match="another server runs the chat"):
        await checks.run(
            CHAT, Root(anywhere.workspace), anywhere.place, "touch ran", still_ours=lambda: False
        )
    assert not (anywhere.workspace / "ran").exists()


async def test_one_that_takes_too_long(anywhere: Room) -> None:
    mark = token()
    checks = Checks(anywhere.processes, SystemClock())
    verdict = await checks.run(CHAT, Root(anywhere.workspace), anywhere.place, f"sleep {mark}", seconds=0.3)
    assert verdict is not None
    assert verdict.result == "timed_out"
    assert "did not end" in verdict.text
    assert sleeping(mark) == []


async def test_never_two_at_once_in_a_workspace(anywhere: Room) -> None:
    checks = Checks(anywhere.processes, SystemClock())
    command = "mkdir busy || exit 9; sleep 0.1; rmdir busy"
    verdicts = await asyncio.gather(
        *(checks.run(CHAT, Root(anywhere.workspace), anywhere.place, command) for _ in range(3))
    )
    assert [verdict.exit_code for verdict in verdicts if verdict is not None] == [0, 0, 0]


async def test_cancelled_with_the_turn(anywhere: Room) -> None:
    mark = token()
    checks = Checks(anywhere.processes, SystemClock())
    running = asyncio.create_task(checks.run(CHAT, Root(anywhere.workspace), anywhere.place, f"sleep {mark}"))
    await until(lambda: sleeping(mark), "it runs")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert sleeping(mark) == []
    assert (await checks.run(CHAT, Root(anywhere.workspace), anywhere.place, "true")) is not None
