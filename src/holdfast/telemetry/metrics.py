"""Counters for operators, in the Prometheus format. One object per process, passed to whoever counts. What
every step counts is plain numbers until somebody asks: the library's own counters cost ten times as much."""

import asyncio
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client import Counter as Counted
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from holdfast.chats.change import Change
from holdfast.chats.view import Call
from holdfast.core.steps import Step

# Names of tools that are counted apart.
MOST_TOOLS = 200
SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


class Metrics:
    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self._work = _Work()
        registry.register(self._work)
        self._attempts = Counted(
            "holdfast_failed_attempts", "Attempts that failed, by kind", ["kind"], registry=registry
        )
        self.chats = Gauge("holdfast_chats_running", "Chats this process runs", registry=registry)
        self._tasks = Gauge("holdfast_tasks", "Tasks on this process's event loop", registry=registry)
        self.stale = Counted(
            "holdfast_stale_commits", "Commits refused because the work was out of date", registry=registry
        )
        self.leases_lost = Counted(
            "holdfast_leases_lost", "Times this process lost its lease", registry=registry
        )

        self.debug_lost = Counted(
            "holdfast_debug_lost",
            "Steps and bodies that the debug record does without, because they could not be written",
            registry=registry,
        )

    def committed(self, change: Change) -> None:
        """What a worker's commit says about the work."""
        work = self._work
        for step in change.steps:
            work.step(step)
        for call in change.calls_put:
            # Once each: an end may be committed before its result enters history, or together with it.
            if call.state == "answered" and call.outcome is not None:
                work.call(call)
        for end in change.turns_ended:
            work.turns[(end.outcome,)] += 1

    def noted(self, step: Step) -> None:
        """One that was stored beside the turns."""
        self._work.step(step)

    def retried(self, kind: str) -> None:
        """After an attempt that failed so."""
        self._work.retries[(kind,)] += 1

    def failed_attempt(self, kind: str) -> None:
        self._attempts.labels(kind).inc()

    def exposition(self) -> bytes:
        """Asked for on the event loop."""
        self._tasks.set(len(asyncio.all_tasks()))
        return generate_latest(self.registry)


class _Work(Collector):
    """What was committed, by the values of its labels. Counted and read on the event loop."""

    def __init__(self) -> None:
        self.steps: Counter[tuple[str, ...]] = Counter()
        self._kinds: Counter[tuple[str, ...]] = Counter()
        self._compactions: Counter[tuple[str, ...]] = Counter()
        self.retries: Counter[tuple[str, ...]] = Counter()
        self._tools: Counter[tuple[str, ...]] = Counter()
        self._tool_seconds: dict[str, _Durations] = {}
        self.calls: Counter[tuple[str, ...]] = Counter()
        self.turns: Counter[tuple[str, ...]] = Counter()
        self._tokens: Counter[tuple[str, ...]] = Counter()
        self._cost: Counter[tuple[str, ...]] = Counter()
        self._step_seconds = _Durations()

    def step(self, step: Step) -> None:
        model, usage = step.model or "unknown", step.usage
        self.steps[model, step.outcome] += 1
        self._kinds[step.kind, step.outcome] += 1
        if step.kind == "compaction":
            self._compactions[(step.outcome,)] += 1
        self._tokens[model, "input"] += usage.input
        self._tokens[model, "output"] += usage.output
        self._tokens[model, "cache_read"] += usage.cache_read
        self._tokens[model, "cache_write"] += usage.cache_write
        self._cost[(model,)] += usage.cost_usd_micros
        self._step_seconds.add((step.finished_at - step.started_at).total_seconds())

    def call(self, call: Call) -> None:
        outcome = call.outcome or ""
        # Models make names up, and there is no end of those.
        known = call.name in self._tool_seconds or len(self._tool_seconds) < MOST_TOOLS
        name = call.name if known else "other"
        self.calls[(outcome,)] += 1
        self._tools[name, outcome] += 1
        durations = self._tool_seconds.setdefault(name, _Durations())
        if call.started_at is not None and call.finished_at is not None:
            durations.add((call.finished_at - call.started_at).total_seconds())

    @override
    def collect(self) -> Iterator[Metric]:
        yield _family("steps", "Model calls that were committed", ("model", "outcome"), self.steps)
        yield _family("calls", "Tool calls that ended, by outcome", ("outcome",), self.calls)
        yield _family("turns", "Turns that ended", ("outcome",), self.turns)
        yield _family("tokens", "Tokens used", ("model", "kind"), self._tokens)
        yield _family("cost_usd_micros", "Money spent, in millionths", ("model",), self._cost)
        yield _family("steps_by_kind", "Model calls, by what for", ("kind", "outcome"), self._kinds)
        yield _family("tool_calls", "Tool calls that ended, by tool", ("tool", "outcome"), self._tools)
        yield _family("compactions", "Summaries of histories", ("outcome",), self._compactions)
        yield _family("retries", "Attempts made again, by the failure before", ("kind",), self.retries)
        duration = HistogramMetricFamily("holdfast_step_seconds", "How long steps took")
        duration.add_metric([], self._step_seconds.buckets(), self._step_seconds.seconds)
        yield duration
        tools = HistogramMetricFamily("holdfast_tool_seconds", "How long tool calls took", labels=["tool"])
        for name, durations in self._tool_seconds.items():
            tools.add_metric([name], durations.buckets(), durations.seconds)
        yield tools


class _Durations:
    def __init__(self) -> None:
        # How many took at most so long and longer than the bound before; the last: longer than all.
        self._counts = [0] * (len(SECONDS) + 1)
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(SECONDS, seconds)] += 1
        self.seconds += seconds

    def buckets(self) -> list[tuple[str, float]]:
        total = 0
        buckets: list[tuple[str, float]] = []
        for bound, count in zip((*map(float, SECONDS), "+Inf"), self._counts, strict=True):
            total += count
            buckets.append((str(bound), total))
        return buckets


def _family(
    name: str, help_text: str, labels: tuple[str, ...], counts: Counter[tuple[str, ...]]
) -> CounterMetricFamily:
    family = CounterMetricFamily(f"holdfast_{name}", help_text, labels=labels)
    for values, count in counts.items():
        family.add_metric(values, count)
    return family
