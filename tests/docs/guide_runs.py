"""Runs the commands of a document as they stand, one after the other in one shell, against a server of their
own."""

import os
import re
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

MARK = "=-=-= block "
_FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
START = """\
holdfast serve > serve.log 2>&1 &
SERVER=$!
until curl -s http://127.0.0.1:8420/healthz; do sleep 0.2; done
"""


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


def run_blocks(told: list[Block], home: Path, *, first: str = "", **variables: str) -> None:
    """`first` is run before them. Every block must print what is shown below it."""
    script = f"set -u\n{first}" + "".join(
        f"echo '{MARK}{number}'\n{block.commands}" for number, block in enumerate(told)
    )
    port = str(_free_port())
    environ = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "HOLDFAST_SERVER_PORT": port,
        **variables,
    }
    shell = subprocess.Popen(
        ["bash", "-c", script.replace("8420", port)],
        cwd=home,
        env=environ,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        printed, _ = shell.communicate("" if first else None, timeout=500)
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
        lost = missing(block.shown.replace("8420", port), output.partition("\n")[2])
        assert lost is None, f"{block.commands}\nprinted\n{output}\nand not\n{lost}"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]
