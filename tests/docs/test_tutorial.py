"""The tutorial does what it says: its commands are run as they stand, one after the other in one shell,
against a server of their own, and what they print is what is shown below them."""

import os
import re
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorial.md"
MARK = "=-=-= block "
_FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    commands: str
    # What is shown below it, if anything is.
    shown: str


def blocks(text: str) -> list[Block]:
    found: list[Block] = []
    for kind, body in _FENCED.findall(text):
        if kind == "sh":
            found.append(Block(body, ""))
        elif kind == "text":
            found[-1] = Block(found[-1].commands, body)
    return found


def missing(shown: str, printed: str) -> str | None:
    """The first piece of what is shown that was not printed, in this order. `...` is anything."""
    place = 0
    for piece in re.split(r"\.\.\.|\n", shown):
        found = printed.find(piece.strip(), place)
        if found < 0:
            return piece
        place = found + len(piece.strip())
    return None


def test_the_fences_are_understood() -> None:
    made = blocks("```sh\nls\n```\n\n```text\na...b\n```\n```sh\nid\n```\n")
    assert made == [Block("ls\n", "a...b\n"), Block("id\n", "")]
    assert missing("a...b\n", "xxaxxbxx") is None
    assert missing("a\nb\n", "b a") == "b"


@pytest.mark.heavy
@pytest.mark.timeout(600)
def test_the_tutorial(tmp_path: Path) -> None:
    told = blocks(TUTORIAL.read_text())
    assert len(told) > 15
    script = "set -u\n" + "".join(
        f"echo '{MARK}{number}'\n{block.commands}" for number, block in enumerate(told)
    )
    script = script.replace("8420", str(_free_port()))
    environ = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    port = re.search(r"127\.0\.0\.1:(\d+)", script)
    assert port is not None
    environ["HOLDFAST_SERVER_PORT"] = port[1]
    shell = subprocess.Popen(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=environ,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        printed, _ = shell.communicate(timeout=500)
    finally:
        # The server, too, if it did not come to its end.
        try:
            os.killpg(shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        shell.wait()
    _, *outputs = printed.split(MARK)
    assert len(outputs) == len(told), printed[-3000:]
    for block, output in zip(told, outputs, strict=True):
        shown = block.shown.replace("8420", port[1])
        lost = missing(shown, output.partition("\n")[2])
        assert lost is None, f"{block.commands}\nprinted\n{output}\nand not\n{lost}"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]
