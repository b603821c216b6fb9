"""How processes learn of each other over any line: by a greeting at the start, and, for those without a row
in the database, with every heartbeat. Here the line is a list of listeners."""

import asyncio
from collections.abc import Callable

from holdfast.bus.remote import Receive, RemoteBus
from tests.bus.events import parts
from tests.feed.client import eventually


class Ears:
    """All who listen."""

    def __init__(self) -> None:
        self.all: list[Receive] = []
        self.said: list[str] = []

    async def connect(self, receive: Receive, _ended: Callable[[], None]) -> "Voice":
        self.all.append(receive)
        return Voice(self)


class Voice:
    def __init__(self, ears: Ears) -> None:
        self._ears = ears

    async def send(self, payload: str) -> None:
        self._ears.said.append(payload)
        for receive in self._ears.all:
            receive(payload)

    async def ask(self) -> None:
        pass

    def is_closed(self) -> bool:
        return False

    async def close(self) -> None:
        pass

    async def terminate(self) -> None:
        pass


def bus(ears: Ears, origin: str, *, announces: bool = False, heartbeat_seconds: float = 60.0) -> RemoteBus:
    """Nobody is known to it by a row."""
    return RemoteBus(
        ears.connect,
        broken=(ConnectionError,),
        origin=origin,
        payload_bytes=7900,
        seconds_between=0.0,
        peers=lambda: False,
        heartbeat_seconds=heartbeat_seconds,
        announces=announces,
    )


async def test_two_who_have_just_come_know_each_other() -> None:
    ears = Ears()
    async with bus(ears, "one") as one, bus(ears, "two") as two, two.listen() as theirs:
        await eventually(lambda: bool(one.counters.notifications_received))
        await eventually(lambda: bool(two.counters.notifications_received))
        one.publish(parts(1, "a"))
        assert await theirs.get() == parts(1, "a")
    # Greetings are not answered for ever.
    assert len([payload for payload in ears.said if payload.endswith(":[]")]) <= 4


async def test_alone_it_greets_once_and_sends_nothing() -> None:
    ears = Ears()
    async with bus(ears, "one", heartbeat_seconds=0.01) as one:
        one.publish(parts(1, "a"))
        await asyncio.sleep(0.1)
    assert ears.said == ["one:[]"]


async def test_who_has_no_row_greets_with_every_heartbeat() -> None:
    ears = Ears()
    async with bus(ears, "one", heartbeat_seconds=0.01, announces=True):
        await eventually(lambda: len(ears.said) > 3)
    assert set(ears.said) == {"one:[]"}
