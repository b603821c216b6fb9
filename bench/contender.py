"""A contender as the bench sees it: a separate process that is given one task at a time, and is stopped for
good if it fails or takes too long."""

import os
import re
import selectors
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from bench.serve import LOOP_VARIABLE, READY
from bench.task import Figures, Task, figures_of, line_of

ROOT = Path(__file__).parents[1]
PEERS_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
START_SECONDS = 60
TASK_SECONDS = 180
# Nobody's key, and nothing sent anywhere.
QUIET = {
    "LANGSMITH_TRACING": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OPENAI_API_KEY": "none",
    "PYTHONDONTWRITEBYTECODE": "",
}

# The line of a traceback that says what it was.
ERROR = re.compile(r"[\w.]+(Error|Exception|Interrupt|Exit|Group)\b")

Loop = Literal["uvloop", "asyncio"]


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    module: str
    environment: Literal["ours", "peers"] = "ours"


class ContenderFailed(Exception):
    """It ended, or did not answer in time; the text is its last words."""


class Process:
    """Use as a context manager: when it is left, the process is gone."""

    def __init__(self, contender: Contender, loop: Loop, log: Path) -> None:
        self._contender = contender
        self._log = log
        python = sys.executable if contender.environment == "ours" else str(PEERS_PYTHON)
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [python, "-m", contender.module],
                cwd=ROOT,
                env=os.environ | QUIET | {LOOP_VARIABLE: loop},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,  # a ^C at the terminal is for the bench alone
            )

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wait_until_ready(self) -> None:
        if self._line(START_SECONDS) != READY:
            raise self._failed("it did not start as a contender does")

    def ask(self, task: Task) -> Figures:
        try:
            _pipe(self._process.stdin).write(line_of(task).encode())
            _pipe(self._process.stdin).flush()
        except BrokenPipeError:
            raise self._failed("it ended") from None
        return figures_of(self._line(TASK_SECONDS))

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                _pipe(pipe).close()
            except BrokenPipeError:
                pass  # a task it never read

    def _line(self, seconds: float) -> str:
        deadline = time.monotonic() + seconds
        answers = _pipe(self._process.stdout)
        received = b""
        with selectors.DefaultSelector() as selector:
            selector.register(answers, selectors.EVENT_READ)
            while not received.endswith(b"\n"):
                if not selector.select(max(deadline - time.monotonic(), 0)):
                    self.stop()
                    raise self._failed(f"no answer within {seconds:g} s")
                piece = os.read(answers.fileno(), 65536)
                if not piece:
                    self.stop()
                    raise self._failed("it ended")
                received += piece
        return received.decode()

    def _failed(self, what: str) -> ContenderFailed:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        errors = [line for line in lines if ERROR.match(line)]
        words = (errors or lines)[-1:]
        return ContenderFailed("; ".join([f"{self._contender.name}: {what}", *words]))


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
