"""Every command, argument and option says what it is for."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from holdfast.cli.main import app, exit_code
from holdfast.core.errors import BadConfig, HoldfastError, InvalidInput, Refused, Unreachable, WrongUsage
from tests.cli.running import holdfast

# api.md, "Command line", as far as it is built.
NAMED = [
    "serve",
    "chat",
    "run",
    "ps",
    "logs",
    "send",
    "stop",
    "attach",
    "trace",
    "debug",
    "export",
    "import",
    "workflow list",
    "workflow run",
    "workflow show",
    "workflow resume",
    "workflow cancel",
    "user",
    "token",
    "provider",
    "model",
    "db",
    "doctor",
    "workspace list",
    "workspace add",
    "workspace remove",
    "fork",
    "edit",
    "archive",
    "delete",
    "upload",
    "agent list",
    "skill list",
    "audit",
]
READING = [
    "ps",
    "logs",
    "trace",
    "debug",
    "user list",
    "token list",
    "model list",
    "provider list",
    "db check",
    "doctor",
    "run",
    "workflow list",
    "workflow run",
    "workflow show",
    "workspace list",
    "agent list",
    "agent show",
    "skill list",
    "audit",
    "approvals",
]


def commands(group: Any, *path: str) -> Iterator[tuple[str, Any]]:
    for name, command in getattr(group, "commands", {}).items():
        yield " ".join((*path, name)), command
        yield from commands(command, *path, name)


COMMANDS = dict(commands(typer.main.get_command(app)))


def test_the_commands_are_there() -> None:
    assert [name for name in NAMED if name not in COMMANDS] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_everything_is_explained(name: str) -> None:
    command = COMMANDS[name]
    assert command.help, "the command has no help"
    unexplained = [param.name for param in command.params if param.name != "help" and not param.help]
    assert unexplained == []


@pytest.mark.parametrize("name", READING)
def test_reading_commands_speak_json(name: str) -> None:
    assert any("--json" in param.opts for param in COMMANDS[name].params)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_secret_is_taken_from_the_command_line(name: str) -> None:
    options = {opt for param in COMMANDS[name].params for opt in param.opts}
    assert options.isdisjoint({"--token", "--key", "--api-key", "--password", "--secret"})


@pytest.mark.parametrize(
    "error, code",
    [
        (WrongUsage("x"), 2),
        (InvalidInput("x"), 1),
        (Refused("x", 422, "invalid_input"), 2),
        (Refused("x", 404, "not_found"), 1),
        (Unreachable("x"), 3),
        (BadConfig("x"), 1),
    ],
)
def test_exit_codes(error: HoldfastError, code: int) -> None:
    assert exit_code(error) == code


def test_without_arguments_says_how_to_begin() -> None:
    told = holdfast()
    assert told.returncode == 0
    assert "holdfast serve" in told.stdout


def test_the_beginning_is_quick() -> None:
    """What only some commands need is not read for all of them."""
    heavy = ["aiohttp", "rich.markdown", "litestar", "uvicorn", "asyncpg", "apsw"]
    code = f"import sys, holdfast.cli.main; print([m for m in {heavy!r} if m in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def groups() -> list[str]:
    return ["", *(name for name, command in COMMANDS.items() if getattr(command, "commands", None))]


@pytest.mark.parametrize("name", groups())
def test_lists_of_commands_are_whole_at_80_columns(name: str) -> None:
    """Every command is told in a sentence that fits beside its name."""
    told = CliRunner().invoke(app, [*name.split(), "-h"], env={"COLUMNS": "80"}, prog_name="holdfast")
    assert told.exit_code == 0, told.output
    lines = told.output.splitlines()
    assert [line for line in lines if line.endswith("...") and not line.startswith("Usage:")] == []
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_asked_for_with_one_letter(name: str) -> None:
    assert CliRunner().invoke(app, [*name.split(), "-h"]).exit_code == 0
