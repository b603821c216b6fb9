"""Tries hostile repositories as a user who may do nothing special, behind the wall that is named, and says
how each ended. Everything is imported first: the interpreter may lie where that user cannot look."""

import asyncio
import json
import os
import sys
import traceback
from pathlib import Path

from holdfast.workspaces.commands.wall import Kind
from tests.security.repositories import ATTACKS, attempt
from tests.workspaces.walls import walled_in

NOBODY = 65534


async def tried(base: Path, kind: Kind, names: list[str]) -> dict[str, str]:
    ended: dict[str, str] = {}
    for name in names:
        directory = base / name
        directory.mkdir()
        try:
            await attempt(directory, ATTACKS[name], lambda data: walled_in(data, kind))
            ended[name] = ""
        except Exception:  # noqa: BLE001 - whoever asked is told
            ended[name] = traceback.format_exc()
    return ended


def main() -> None:
    kind: Kind = "unshare" if sys.argv[2] == "unshare" else "bubblewrap"
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    os.umask(0o022)
    ended = asyncio.run(tried(Path(sys.argv[1]), kind, sys.argv[3:]))
    json.dump({"user": os.geteuid(), "ended": ended}, sys.stdout)


if __name__ == "__main__":
    main()
