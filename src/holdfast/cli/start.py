"""Where the `holdfast` program begins. A plain `serve` goes straight to the server: what reads the command
lines of all the other commands takes ten MiB, and would be held for as long as the server runs."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast.core.errors import BadFlag, HoldfastError

# The flags of `serve`, and what each takes.
FLAGS: dict[str, type] = {"host": str, "port": int, "data": Path, "database": str, "config": Path}


def main() -> None:
    given = plain_flags(sys.argv[1:])
    if given is None:
        from holdfast.cli.main import main as every_command

        every_command()
        return
    from holdfast.cli.server_process import run_server

    try:
        run_server(**given)
    except HoldfastError as error:
        print(f"holdfast: {error.text}", file=sys.stderr)
        sys.exit(2 if isinstance(error, BadFlag) else 1)
    except KeyboardInterrupt:
        sys.exit(130)


def plain_flags(arguments: Sequence[str]) -> dict[str, Any] | None:
    """The flags of a plain `holdfast serve`. None: another command, `--help`, or a mistake. The full command
    line deals with these."""
    if not arguments or arguments[0] != "serve":
        return None
    words = [part for word in arguments[1:] for part in (word.split("=", 1) if word[:2] == "--" else [word])]
    given: dict[str, Any] = {}
    for flag, value in zip(words[::2], words[1::2], strict=False):
        name = flag.removeprefix("--")
        if name not in FLAGS or name == flag or value.startswith("-"):
            return None
        try:
            given[name] = FLAGS[name](value)
        except ValueError:
            return None
    return given if len(words) % 2 == 0 else None
