"""The soak: steady load without faults, and what the servers hold is sampled. It must be flat: the second
half of the samples holds no more than the first, within what is kept to spare. No lease may be lost."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from random import Random

from tests.chaos.faults import FAULTS
from tests.chaos.judge import Violation
from tests.chaos.leftovers import SPARE, Sample, sample
from tests.chaos.rounds import Result, Size, play_round
from tests.chaos.stage import SetUp, staged

# Of the samples the first are a warm-up: caches fill, pools open, code is imported.
WARM_UP_SHARE = 0.25
# More than the median of the first half of the rest: a share, and some.
MEMORY_SHARE = 0.05
MIB = 2**20
MEMORY_BYTES = 8 * MIB
# SQLite keeps pages of its file in memory, up to 64 MB in all: until the file is that large, more is no leak.
PAGES_BYTES = 64 * MIB


async def soak(set_up: SetUp, seed: str, seconds: float, size: Size) -> int:
    """The exit code."""
    samples: list[Sample] = []
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="holdfast-soak-") as directory:
        async with staged(set_up, Path(directory) / "stage", Random(f"{seed}/soak")) as stage:
            until = time.monotonic() + seconds
            while time.monotonic() < until or len(samples) < 8:
                result = await play_round(stage, FAULTS[0], f"{seed}/soak/{len(results)}", size)
                results.append(result)
                # The rooms of chats that nobody watches any more are closed.
                await asyncio.sleep(2)
                samples.append(await sample(stage))
                _tell(samples[-1], result, seconds - (until - time.monotonic()))
    rising = not_flat(samples, MEMORY_BYTES + (PAGES_BYTES if set_up == "sqlite" else 0))
    violations = [violation for result in results for violation in result.violations]
    first, last = samples[int(len(samples) * WARM_UP_SHARE)], samples[-1]
    if last.leases_lost:
        violations.append(Violation("I-7", f"{last.leases_lost} leases were lost without a fault"))
    chats = sum(one.chats for one in results)
    print(f"\n{set_up}: {len(results)} rounds, {chats} chats, {seconds / 60:.0f} min")
    for one in fields(Sample):
        before, after = getattr(first, one.name), getattr(last, one.name)
        print(f"  {one.name:15} after the warm-up {before:>12}, at the end {after:>12}")
    print(
        f"  violations {len(violations)}; {'not flat: ' + ', '.join(rising) if rising else 'flat'}",
        flush=True,
    )
    for violation in violations:
        print(f"    {violation.invariant}: {violation.text}")
    return 1 if rising or violations else 0


def not_flat(samples: Sequence[Sample], memory_bytes: int = MEMORY_BYTES) -> list[str]:
    """What grows: its median in the last half is above that in the first, after the warm-up."""
    rest = samples[int(len(samples) * WARM_UP_SHARE) :]
    early, late = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    found: list[str] = []
    for one in fields(Sample):
        before = statistics.median(getattr(each, one.name) for each in early)
        after = statistics.median(getattr(each, one.name) for each in late)
        spare = SPARE.get(one.name, before * MEMORY_SHARE + memory_bytes)
        if after > before + spare:
            found.append(f"{one.name} from {before:g} to {after:g}")
    return found


def _tell(now: Sample, result: Result, elapsed: float) -> None:
    print(
        f"{elapsed:7.0f} s  {result.chats:3} chats  {now.resident_bytes / MIB:7.1f} MiB"
        f"  {now.descriptors:4} descriptors  {now.threads:3} threads  {now.tasks:3} tasks"
        f"  {now.children:2} children"
        f"  {now.connections:3} connections  violations {len(result.violations)}",
        flush=True,
    )
