"""Runs pytest with the arguments given. Failed tests are run once more, alone, at the end: a test that passes
then does not fail the run, but is reported as unsteady and noted in tests/unsteady.md, to be fixed."""

import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.suite.record import RECORD, read_record
from tests.suite.results import REPEATED_AT_MOST, Results, after_repeat, reason_of, results_of, summary

UNSTEADY = Path("tests/unsteady.md")
FAILED = 1
PYTEST = (sys.executable, "-m", "pytest", "--inline-snapshot=disable", "-p", "tests.suite.record")


def main(arguments: list[str]) -> int:
    began = time.monotonic()
    code, results = run(arguments)
    if code not in (0, FAILED):
        return code  # interrupted, wrong usage, nothing to run: pytest has said so
    if 0 < results.failed <= REPEATED_AT_MOST:
        print(f"==> {results.failed} failed: run once more, alone", flush=True)
        _, again = run([*results.failures])
        results = after_repeat(results, again)
        note(results.unsteady)
    print("\n".join(summary(results, (time.monotonic() - began) / 60)), flush=True)
    return FAILED if results.failures else 0


def run(arguments: list[str]) -> tuple[int, Results]:
    with tempfile.TemporaryDirectory() as directory:
        record = Path(directory, "record")
        process = subprocess.run([*PYTEST, *arguments], env={**os.environ, RECORD: str(record)}, check=False)
        return process.returncode, results_of(read_record(record) if record.exists() else ())


def note(unsteady: dict[str, str]) -> None:
    """Each test once, with the day and the reason. Who mends it removes the line."""
    if not unsteady or not UNSTEADY.exists():
        return
    known = UNSTEADY.read_text()
    day = datetime.now(UTC).date().isoformat()
    for test, text in unsteady.items():
        if f"`{test}`" not in known:
            known += f"* {day} `{test}`: {reason_of(text)}\n"
    UNSTEADY.write_text(known)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
