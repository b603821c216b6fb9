"""Writes the feeds that the page's tests replay (`web/src/feed/fixtures`), from a real server. Only needed
when events change their shape."""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.e2e.recording import record, write  # noqa: E402
from tests.e2e.server import Person, Server  # noqa: E402
from tests.e2e.test_replay import ASK, RETRY, TALK, TOOLS  # noqa: E402

FIXTURES = ROOT / "web" / "src" / "feed" / "fixtures"


def main() -> None:
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        server = Server(Path(directory))
        server.start()
        try:
            who = Person(playwright, server, server.admin_token)
            for name, content, cuts in (
                ("tools", TOOLS, ()),
                ("talk-cut", TALK, (9, 12)),
                ("retry", RETRY, ()),
                ("ask", ASK, ()),
            ):
                write(record(who, name, content, cut_after=cuts), FIXTURES)
                print(f"wrote {name}")
            who.close()
        finally:
            server.stop()


if __name__ == "__main__":
    main()
