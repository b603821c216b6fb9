"""Runs the rows as a user who may do nothing special, and says how each ended. Everything is imported first:
the interpreter itself may lie where that user cannot look."""

import codecs
import json
import os
import sys
import traceback
from pathlib import Path

from tests.workspaces.rows import APART, ROWS
from tests.workspaces.stage import Stage

NOBODY = 65534


def main() -> None:
    base = Path(sys.argv[1])
    for encoding in ("utf-16-le", "utf-16-be"):
        codecs.lookup(encoding)
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    os.umask(0o022)
    ended: dict[str, str] = {}
    for row in (*ROWS, *APART):
        directory = base / row.__name__
        directory.mkdir()
        try:
            row(Stage(directory))
            ended[row.__name__] = ""
        except Exception:  # noqa: BLE001 - whoever asked is told
            ended[row.__name__] = traceback.format_exc()
    json.dump({"user": os.geteuid(), "ended": ended}, sys.stdout)


if __name__ == "__main__":
    main()
