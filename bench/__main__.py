"""The command: `python -m bench [NAME ...] [--quick] [--json FILE] [--write]`."""

import argparse
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

from bench import environment, machine, page
from bench.cases import FULL, LONG, QUICK, Case, Scale
from bench.contender import Loop
from bench.databases import Databases
from bench.model_server import ModelServer
from bench.report import Report, to_json, to_table
from bench.results import Line, lines
from bench.rounds import measure
from bench.workloads import code, flows, history, scripts, search, server, store, streams, turns

WORKLOADS: dict[str, Callable[[Scale], list[Case]]] = {
    "store": store.cases,
    "W1": turns.cases,
    "W1h": turns.http_cases,
    "W1d": turns.recorded_cases,
    "W2": streams.cases,
    "W2f": streams.fan_out_cases,
    "W3": scripts.cases,
    "W3f": flows.cases,
    "W4": server.recovery_cases,
    "W5": history.cases,
    "W6": server.idle_cases,
    "search": search.cases,
    "code": code.cases,
}

INTERRUPTED = "Interrupted: what is not in the table was not measured."


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="bench", description="Measures Holdfast beside others and the floor."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(WORKLOADS)}; all if none is named"
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds and sizes: a look, not a result")
    parser.add_argument("--long", action="store_true", help="also the others on the longest histories")
    parser.add_argument("--no-peers", action="store_true", help="only Holdfast and the floor")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/performance.md too")
    options = parser.parse_args(arguments)
    chosen = [_named(name) for name in options.names] or list(WORKLOADS)
    if unknown := [name for name in chosen if name not in WORKLOADS]:
        parser.error(f"there is no workload {', '.join(unknown)}; there is {', '.join(WORKLOADS)}")
    scale = QUICK if options.quick else LONG if options.long else FULL
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        report = run(chosen, replace(scale, peers=not options.no_peers))
    except KeyboardInterrupt:
        _say("interrupted before anything was measured")
        return 130
    sys.stdout.write(to_table(report))
    if options.json is not None:
        options.json.write_bytes(to_json(report))
    if options.write:
        page.write(report)
    return 130 if INTERRUPTED in report.remarks else 0


def run(chosen: Sequence[str], scale: Scale, say: Callable[[str], None] | None = None) -> Report:
    """Everything that is started here has ended, and everything made is removed, when this returns or
    raises. What was measured until it is interrupted is reported."""
    say = say or _say
    started_at, start = datetime.now(UTC), time.monotonic()
    remarks: list[str] = []
    if scale.peers:
        try:
            environment.provide(say)
        except environment.NoPeers as error:
            remarks.append(str(error))
            say(str(error))
            scale = replace(scale, peers=False)
    cases = [case for name in chosen for case in WORKLOADS[name](scale)]
    loop: Loop = "uvloop" if find_spec("uvloop") else "asyncio"
    measured: list[Line] = []
    with ExitStack() as stack:
        databases = stack.enter_context(Databases())
        looked = machine.look(databases.directory)
        if looked.disk in {"tmpfs", "ramfs"}:
            remarks.append("The databases were in memory: what is durable here costs nothing.")
        http = any(entry.http for case in cases for entry in case.entries)
        model = stack.enter_context(ModelServer()) if http else None
        try:
            for case in cases:
                measured += lines(
                    measure(
                        case,
                        scale.rounds,
                        databases,
                        loop=loop,
                        model_url=model.url if model else None,
                        say=say,
                    )
                )
        except KeyboardInterrupt:
            remarks.append(INTERRUPTED)
        postgres = databases.server_version()
    return Report(
        started_at=started_at,
        seconds=round(time.monotonic() - start, 1),
        rounds=scale.rounds,
        loop=loop,
        machine=looked,
        versions=machine.versions(postgres=postgres, peers=scale.peers),
        lines=tuple(measured),
        remarks=tuple(remarks),
    )


def _named(name: str) -> str:
    """`make bench W=1` and `W=w1` mean W1."""
    known = {known.lower(): known for known in WORKLOADS}
    return known.get(name.lower()) or known.get(f"w{name.lower()}") or name


def _say(text: str) -> None:
    print(f"==> {text}", file=sys.stderr, flush=True)


def _interrupt(number: int, _: FrameType | None) -> None:
    raise KeyboardInterrupt(number)


if __name__ == "__main__":
    sys.exit(main())
