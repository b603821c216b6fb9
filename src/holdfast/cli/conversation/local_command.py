"""`!command` in a conversation: run on this machine, in the current directory, as the person who typed it."""

import asyncio
import os
import signal
from dataclasses import dataclass

# Of the output that goes along with the next message: its end.
_MOST_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class LocalResult:
    command: str
    output: str
    exit_code: int

    def for_agent(self) -> str:
        """As the agent is told of it. The fence is longer than any in the output."""
        fence = "```"
        while fence in self.output:
            fence += "`"
        body = f"$ {self.command}\n{self.output}".rstrip("\n")
        return f"I ran this (exit code {self.exit_code}):\n{fence}\n{body}\n{fence}"


async def run_locally(command: str) -> LocalResult:
    """Until it ends; cancelled, it is killed with everything in its group. Its input is empty."""
    process = await asyncio.create_subprocess_shell(
        command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        written, _ = await process.communicate()
    except asyncio.CancelledError:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        raise
    text = written.decode(errors="replace")
    if len(text) > _MOST_CHARACTERS:
        text = f"[{len(text) - _MOST_CHARACTERS} characters omitted]\n{text[-_MOST_CHARACTERS:]}"
    return LocalResult(command, text, process.returncode or 0)
