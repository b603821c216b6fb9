"""The reference page of the command line, from the program's own help."""

from collections.abc import Iterator
from typing import Any

import typer.main

from holdfast.cli.main import app

_HEAD = """\
# Command line

Written from `holdfast/cli` by `make docs`. Exit codes: 0 done, 1 the work failed, 2 wrong usage, 3 cannot
reach the server, 130 interrupted.

Commands that talk to a server take its address from `--url` or `HOLDFAST_URL`, and their token from
`HOLDFAST_TOKEN`. Without these they talk to the server of this machine, wherever it listens: its address
stands in its data directory, and its owner reaches it by the socket `admin.sock` there. What stands in that
directory is shown to no other server; another address needs a token of its own.

Text that models, tools and other people wrote is shown with control characters, marks of direction, invisible
and look-alike characters made visible, as in `⟨U+202E⟩`; `--json` has it exactly.
"""


def command_line() -> str:
    root = typer.main.get_command(app)
    return _HEAD + "".join(_sections("holdfast", root))


def _sections(path: str, command: Any) -> Iterator[str]:
    """The parts of typer's commands have no public types."""
    for name, below in getattr(command, "commands", {}).items():
        if getattr(below, "commands", None):
            yield f"\n## {path} {name}\n\n{below.help}\n"
            yield from _sections(f"{path} {name}", below)
        else:
            yield _section(f"{path} {name}", below, "##" if path == "holdfast" else "###")


def _section(path: str, command: Any, level: str) -> str:
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options = [param for param in command.params if param.param_type_name == "option" and param.help]
    names = [_metavar(argument) for argument in arguments] + (["[OPTIONS]"] if options else [])
    usage = " ".join((path, *names))
    lines = [f"\n{level} {path}\n", f"    {usage}\n", " ".join(str(command.help).split()), ""]
    rows = [(f"`{_metavar(argument)}`", argument.help) for argument in arguments]
    rows += [(_names(option), option.help) for option in options]
    if rows:
        lines += ["| | |", "|---|---|", *(f"| {name} | {_cell(help_text)} |" for name, help_text in rows), ""]
    return "\n".join(lines)


def _metavar(argument: Any) -> str:
    name = str(argument.metavar or argument.name.upper()).strip("[]")
    return name if argument.required else f"[{name}]"


def _names(option: Any) -> str:
    shown = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    return f"{shown} (`{option.envvar}`)" if option.envvar else shown


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
