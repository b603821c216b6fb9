"""Networks of commands that nobody uses any more are closed soon, also when there is no thread at first."""

import asyncio
from typing import Any

import pytest

from holdfast.workspaces.commands import processes
from holdfast.workspaces.commands.networks import IDLE_SECONDS
from tests.chaos.leftovers import BACK_SECONDS
from tests.workspaces.rooms import Room


class Closing:
    def __init__(self) -> None:
        self.closed = asyncio.Event()

    def close_idle(self) -> None:
        pass


def test_they_are_closed_before_anybody_calls_them_left_over() -> None:
    assert IDLE_SECONDS + 1 < BACK_SECONDS


async def test_it_is_tried_again_when_there_was_no_thread(
    anywhere: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, closing, tried = asyncio.get_running_loop(), Closing(), list[int]()

    def run_in_executor(*_: Any) -> None:
        tried.append(1)
        if len(tried) == 1:
            raise RuntimeError("can't start new thread")
        closing.closed.set()

    monkeypatch.setattr(processes, "IDLE_SECONDS", -1.0)
    monkeypatch.setattr(anywhere.processes, "_networks", closing)
    with monkeypatch.context() as patch:
        patch.setattr(loop, "run_in_executor", run_in_executor)
        anywhere.processes._close_networks_later(loop)  # pyright: ignore[reportPrivateUsage]
        async with asyncio.timeout(60):
            await closing.closed.wait()
    monkeypatch.setattr(anywhere.processes, "_networks", None)
    assert len(tried) == 2
