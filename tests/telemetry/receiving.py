"""A receiver of spans in a process of its own, as a test sees it."""

import asyncio
import json
import sys
import urllib.request
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 60.0

Spans = list[dict[str, Any]]


class Receiver:
    def __init__(self, address: str) -> None:
        self.address = address

    async def spans(self) -> Spans:
        return await asyncio.to_thread(self._asked, "/spans")

    async def requests(self) -> list[str]:
        return await asyncio.to_thread(self._asked, "/requests")

    def _asked(self, path: str) -> Any:
        with urllib.request.urlopen(self.address + path, timeout=30) as answer:
            return json.load(answer)

    async def until(self, condition: Callable[[Spans], bool]) -> Spans:
        found: Spans = []
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not condition(found := await self.spans()):  # noqa: ASYNC110 - it is another process
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError([span["name"] for span in found]) from None
        return found


@asynccontextmanager
async def receiving(*arguments: str) -> AsyncGenerator[Receiver]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.telemetry.otlp_receiver", *arguments, cwd=ROOT, stdout=-1
    )
    assert process.stdout is not None
    try:
        yield Receiver((await process.stdout.readline()).decode().strip())
    finally:
        process.kill()
        await process.wait()
