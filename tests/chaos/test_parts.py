"""Parts of the harness that can go wrong by themselves: the filter of notifications, the judgement of
samples, the table."""

import struct
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from bench.page import marks
from tests.chaos.faults import FAULTS
from tests.chaos.judge import Violation
from tests.chaos.leftovers import Sample
from tests.chaos.notifications import Notifications
from tests.chaos.report import table, write_page
from tests.chaos.rounds import Result
from tests.chaos.soak import not_flat


def wire(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


READY, FIRST, SECOND = wire(b"Z", b"I"), wire(b"A", b"first"), wire(b"A", b"second")


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_what_is_no_notification_passes_whole_and_in_order(size: int) -> None:
    shared = Notifications(Random(1))
    shared.manner = "lost"
    passes = shared.for_connection()
    # The answer to "may we encrypt" comes alone, and is no message.
    assert passes(b"N") == b"N"
    stream = READY + FIRST + wire(b"D", b"x" * 50) + SECOND + READY
    pieces = [stream[place : place + size] for place in range(0, len(stream), size)]
    assert b"".join(passes(piece) for piece in pieces) == READY + wire(b"D", b"x" * 50) + READY
    assert shared.seen == 2


def test_mixed_notifications_come_three_times_in_the_end() -> None:
    shared = Notifications(Random(1))
    passes = shared.for_connection()
    assert passes(READY + FIRST) == READY + FIRST
    shared.manner = "mixed"
    received = b"".join(passes(piece) for piece in (FIRST, SECOND, READY, READY))
    shared.manner = "pass"
    received += passes(READY)
    assert received.count(FIRST) == received.count(SECOND) == 3
    assert received.count(READY) == 3


FLAT = Sample(
    descriptors=50, threads=10, tasks=30, children=0, connections=9, resident_bytes=200 * 2**20, leases_lost=0
)


def test_what_is_flat_and_what_grows() -> None:
    assert not_flat([FLAT] * 20) == []
    leaking = [replace(FLAT, descriptors=50 + 3 * number) for number in range(20)]
    assert [found.split()[0] for found in not_flat(leaking)] == ["descriptors"]
    growing = [replace(FLAT, resident_bytes=(200 + 5 * number) * 2**20) for number in range(20)]
    assert [found.split()[0] for found in not_flat(growing)] == ["resident_bytes"]
    # The warm-up may take what it needs.
    assert not_flat([replace(FLAT, threads=2)] * 5 + [replace(FLAT, threads=40)] * 15) == []


def test_the_table_goes_between_its_marks(tmp_path: Path) -> None:
    results = [
        Result("three", "kill", "1", recoveries=[1.0, 3.0], chats=10, marks=Counter({"uncertain": 2})),
        Result("three", "kill", "1", [Violation("I-8", "x")], recoveries=[2.0], chats=10),
    ]
    (line,) = [line for line in table(results).splitlines() if "kill" in line]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells == ["PostgreSQL, three replicas", "kill", "2", "20", "2 uncertain", "I-8: 1", "2.0, 3.0"]
    page = tmp_path / "page.md"
    begin, end = marks("chaos three")
    page.write_text(f"{begin}\nold\n{end}")
    write_page("three", "new", page)
    assert page.read_text() == f"{begin}\n\nnew\n\n{end}"


DISTURBED = """
import asyncio, sys, threading
from pathlib import Path
from holdfast.core.clock import SystemClock
from tests.chaos.disturbed import CLOCK, NO_THREADS, REFUSED, disturb

orders = Path(sys.argv[1])
disturb(orders)
clock, thread = SystemClock(), threading.Thread(target=print, args=("ran",), name="late")
before, steady = clock.now(), clock.elapsed()
(orders / CLOCK).write_text("3600")
assert 3590 < (clock.now() - before).total_seconds() < 7200
assert clock.elapsed() - steady < 3000
(orders / NO_THREADS).touch()
try:
    asyncio.run(asyncio.to_thread(print, "never"))
except RuntimeError as error:
    assert "can't start new thread" in str(error)
else:
    raise AssertionError("a thread was started")
assert "asyncio" in (orders / REFUSED).read_text()
(orders / NO_THREADS).unlink()
thread.start()
thread.join()
"""


def test_a_server_is_really_disturbed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DISTURBED, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        check=False,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr


def test_every_fault_is_told_and_has_a_name_of_its_own() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert all(fault.told for fault in FAULTS)
    assert FAULTS[0].name == "none"
