"""Writes the reference pages that come from the code; with --check, only says which are out of date."""

import sys
from pathlib import Path

from holdfast.chats.states import State
from holdfast.chats.table import TABLE

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"


def transitions() -> str:
    lines = [
        "# Transitions",
        "",
        "Written from `holdfast/chats/table.py` by `make docs`. For each command: the state it is given in,",
        "and the states it may lead to. What is not listed is refused. A queue item that is not in the queue",
        "is refused in any state: `already_sent` with the message it became, or `not_found`.",
        "",
        "The states: " + ", ".join(state.value for state in State if state is not State.INVALID) + ".",
        "Anything else is invalid, and `reconcile` repairs it.",
    ]
    for command, row in TABLE.items():
        lines += ["", f"## {command}", "", "| from | to |", "|---|---|"]
        order = list(State)
        lines += [
            f"| {state.value} | {' / '.join(target.value for target in order if target in row[state])} |"
            for state in order
            if state in row
        ]
    return "\n".join(lines) + "\n"


PAGES = {"transitions.md": transitions}


def main() -> int:
    stale = [name for name, write in PAGES.items() if _read(REFERENCE / name) != write()]
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"docs/reference/{name} is out of date; run make docs", file=sys.stderr)
        return 1 if stale else 0
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name in stale:
        (REFERENCE / name).write_text(PAGES[name]())
        print(f"wrote docs/reference/{name}")
    return 0


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
