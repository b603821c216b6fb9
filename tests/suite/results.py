"""The result of a whole run of the suite: a pure summary of the reports of its two passes."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.suite.record import Report

SLOWEST = 10
# More than this is no unsteadiness: something is broken, and to run it all again would only take time.
REPEATED_AT_MOST = 20


@dataclass(frozen=True, kw_only=True)
class Results:
    """How many tests passed and were skipped, and the failures by test, as pytest printed them."""

    passed: int
    skipped: Counter[str]
    failures: dict[str, str]
    seconds: dict[str, float]
    # Failed first, passed alone; with the first failure.
    unsteady: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def failed(self) -> int:
        return len(self.failures)


def results_of(reports: Iterable[Report]) -> Results:
    outcomes: dict[str, str] = {}
    failures: dict[str, str] = {}
    skipped: Counter[str] = Counter()
    seconds: dict[str, float] = {}
    for report in reports:
        seconds[report.test] = seconds.get(report.test, 0.0) + report.seconds
        if report.outcome == "failed":
            failures.setdefault(report.test, report.text)
        elif report.outcome == "skipped":
            skipped[report.text] += 1
            outcomes[report.test] = "skipped"
        else:
            outcomes.setdefault(report.test, "passed")
    passed = sum(outcome == "passed" and test not in failures for test, outcome in outcomes.items())
    return Results(passed=passed, skipped=skipped, failures=failures, seconds=seconds)


def after_repeat(first: Results, again: Results) -> Results:
    """A test that failed counts as unsteady if it passed alone. One that did not run again stays failed."""
    steady = {test: text for test, text in first.failures.items() if test in again.failures}
    ran = again.seconds.keys()
    lost = {test: text for test, text in first.failures.items() if test not in ran}
    unsteady = {
        test: text for test, text in first.failures.items() if test not in steady and test not in lost
    }
    return Results(
        passed=first.passed + len(unsteady),
        skipped=first.skipped,
        failures={**steady, **lost},
        seconds=first.seconds,
        unsteady=unsteady,
    )


def summary(results: Results, minutes: float) -> list[str]:
    """The lines that close a run. The last one is the count by itself."""
    lines = [f"==> {minutes:.1f} minutes"]
    slowest = sorted(results.seconds.items(), key=lambda entry: -entry[1])[:SLOWEST]
    if slowest:
        lines += ["slowest:", *(f"  {seconds:6.1f} s  {test}" for test, seconds in slowest)]
    if results.skipped:
        lines += ["skipped:", *(f"  {count:4}  {reason}" for reason, count in results.skipped.most_common())]
    if results.unsteady:
        lines.append(f"unsteady: {len(results.unsteady)} (failed first, passed alone; see tests/unsteady.md)")
        lines += [f"  {test}: {reason_of(text)}" for test, text in results.unsteady.items()]
    if results.failures:
        lines += ["failed:", *(f"  {test}: {reason_of(text)}" for test, text in results.failures.items())]
    skipped = results.skipped.total()
    lines.append(f"{results.passed} passed, {results.failed} failed, {skipped} skipped")
    return lines


def reason_of(text: str) -> str:
    """What went wrong, in one line: the first that pytest marks with an E, else the last."""
    lines: Sequence[str] = [line.strip() for line in text.splitlines() if line.strip()]
    marked = [line for line in lines if line.startswith("E ")]
    reason = marked[0].removeprefix("E") if marked else lines[-1] if lines else "no reason was given"
    return reason.strip()[:200]
