"""Writes the table of the wall's promises in docs/guides/security.md: tries each on this machine, as this
user and, if that is root, as another one. `--check` changes nothing and fails where the table differs."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.security.promised import GUIDE, measured, with_table


def main() -> int:
    text = GUIDE.read_text()
    fresh = with_table(text, measured())
    if "--check" in sys.argv:
        return int(text != fresh)
    GUIDE.write_text(fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
