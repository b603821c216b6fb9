"""`make chaos` and `make soak`. The environment says what is run:

SEED=...     the seed of everything that is chosen by chance (printed; a failure comes again with it)
HOURS=...    for how long; without it ten minutes
ONLY=...     a set-up (sqlite, one, three), a fault, or both: `three`, `kill`, `three:kill`
WRITE=1      write the tables into docs/reliability.md, each when its set-up is done
PATIENCE=2   limits of time so many times as long, for a machine that has other work
SOAK=1       no faults: steady load, and what the servers hold must stay flat
"""

import asyncio
import itertools
import os
import secrets
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from tests.chaos.faults import FAULTS, Fault, fill_disk
from tests.chaos.judge import Violation
from tests.chaos.leftovers import Sample, not_back, sample
from tests.chaos.report import page_section, table, totals, write_page
from tests.chaos.rounds import Result, Size, play_round
from tests.chaos.soak import soak
from tests.chaos.stage import SET_UPS, SetUp, Stage, staged

SECONDS = 600.0


async def main() -> int:
    seed = os.environ.get("SEED") or secrets.token_hex(4)
    hours = float(os.environ.get("HOURS") or SECONDS / 3600)
    size = Size(patience=float(os.environ.get("PATIENCE") or 1))
    set_up, name = _only(os.environ.get("ONLY", ""))
    print(f"SEED={seed} HOURS={hours:g} ONLY={os.environ.get('ONLY', '')}", flush=True)
    if os.environ.get("SOAK"):
        return await soak(set_up or "three", seed, hours * 3600, size)
    set_ups: tuple[SetUp, ...] = (set_up,) if set_up else SET_UPS
    results: list[Result] = []
    for number, one in enumerate(set_ups):
        # What an earlier set-up did not need is for the later ones.
        left = hours * 3600 - sum(result.seconds for result in results)
        until = time.monotonic() + left / (len(set_ups) - number)
        faults = [fault for fault in FAULTS if one in fault.set_ups and name in ("", fault.name)]
        of_set_up = await play(one, faults, seed, until, size)
        results += of_set_up
        if os.environ.get("WRITE"):
            write_page(one, page_section(of_set_up, seed))
    print(f"\n{table(results)}\n\n{totals(results)}", flush=True)
    return 1 if any(result.violations for result in results) else 0


async def play(set_up: SetUp, faults: list[Fault], seed: str, until: float, size: Size) -> list[Result]:
    """Every fault once, then again in turn while there is time. One after the other on the same servers."""
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="holdfast-chaos-") as directory:
        async with staged(set_up, Path(directory) / "stage", Random(f"{seed}/{set_up}")) as stage:
            warm = await play_round(stage, FAULTS[0], f"{seed}/{set_up}/warm", size)
            base = await sample(stage)
            _tell(warm)
            results.append(warm)
            possible = [fault for fault in faults if fault.inject is not fill_disk or stage.disk is not None]
            for number, fault in enumerate(itertools.cycle(possible)):
                if number >= len(possible) and time.monotonic() > until:
                    break
                result = await play_round(stage, fault, f"{seed}/{set_up}/{fault.name}/{number}", size)
                _tell(result)
                results.append(result)
            results.append(await _left_over(stage, base, seed))
            _tell(results[-1])
    return results


async def _left_over(stage: Stage, base: Sample, seed: str) -> Result:
    """I-11, and that every server stops when it is asked to."""
    result = Result(stage.set_up, "left over", seed)
    above = await not_back(stage, base)
    result.violations += [
        Violation("I-11", f"{more} more {what} than before") for what, more in above.items()
    ]
    for server in stage.servers:
        if (code := await server.stop()) != 0:
            result.violations.append(Violation("I-11", f"a server that was asked to stop ended with {code}"))
    return result


def _only(given: str) -> tuple[SetUp | None, str]:
    first, _, rest = given.partition(":")
    named: SetUp | None = next((one for one in SET_UPS if one == first), None)
    name = rest if named else given
    if name and name not in {fault.name for fault in FAULTS}:
        known = ", ".join((*SET_UPS, *(fault.name for fault in FAULTS)))
        raise SystemExit(f"ONLY={given}: there is no such set-up or fault. Known: {known}")
    return named, name


def _tell(result: Result) -> None:
    recovery = ", ".join(f"{seconds:.1f}" for seconds in result.recoveries)
    noticed = ", ".join(f"{count} {name}" for name, count in result.marks.items() if count)
    print(
        f"{result.set_up:7} {result.fault:18} {result.chats:3} chats {result.seconds:6.1f} s"
        f"  recovery {recovery or '-':12} violations {len(result.violations)}  {noticed}",
        flush=True,
    )
    for violation in result.violations:
        print(f"    {violation.invariant}: {violation.text}", flush=True)
    if result.violations:
        print(f"    again: SEED and ONLY={result.set_up}:{result.fault} ({result.seed})", flush=True)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
