"""Where the program begins: a plain `serve` goes to the server without what explains command lines."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from holdfast.cli.main import app
from holdfast.cli.start import FLAGS, plain_flags
from tests.cli.running import holdfast


@pytest.mark.parametrize(
    "line, given",
    [
        ("serve", {}),
        ("serve --port 8421", {"port": 8421}),
        ("serve --port=0 --host ::1", {"port": 0, "host": "::1"}),
        ("serve --data /d --config=c.toml", {"data": Path("/d"), "config": Path("c.toml")}),
        ("serve --database postgresql://u@h/d?x=1", {"database": "postgresql://u@h/d?x=1"}),
    ],
)
def test_a_plain_line_is_read(line: str, given: dict[str, Any]) -> None:
    assert plain_flags(line.split()) == given


@pytest.mark.parametrize(
    "line",
    [
        "",
        "ps",
        "--help",
        "serve --help",
        "serve --port",
        "serve --port x",
        "serve --prot 1",
        "serve --port 1 more",
        "serve port 1",
        "serve --host --port 1",
        "serve -p 1",
    ],
)
def test_everything_else_is_left_to_who_explains_it(line: str) -> None:
    assert plain_flags(line.split()) is None


def test_the_flags_are_those_of_the_command() -> None:
    commands: Any = typer.main.get_command(app)
    names = {param.name for param in commands.commands["serve"].params}
    assert names - {"help"} == set(FLAGS)


def test_a_mistake_is_explained() -> None:
    for port in ("x", "65536", "-1"):
        told = holdfast("serve", "--port", port)
        assert told.returncode == 2, port
        assert "--port" in told.stderr


def test_a_server_holds_nothing_that_it_does_not_use() -> None:
    """Each of these takes megabytes."""
    unwanted = [
        "typer",
        "pydantic",
        "rich",
        "cryptography",
        "asyncpg",
        "aiohttp",
        "genai_prices",
        "redis",
        "quickjs",
    ]
    code = (
        "import sys; sys.argv = ['holdfast', 'serve', '--config', '/nowhere.toml']\n"
        "from holdfast.cli.start import main\n"
        "try: main()\n"
        "except SystemExit as end: print(end.code)\n"
        f"print([m for m in {unwanted!r} if m in sys.modules], 'holdfast.server.serve' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines() == ["2", "[] True"]
    assert told.stderr == (
        "holdfast: There is no configuration file /nowhere.toml. Correct --config or "
        "HOLDFAST_CONFIG, or leave it out.\n"
    )
