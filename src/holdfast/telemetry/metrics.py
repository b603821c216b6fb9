"""Counters for operators, in Prometheus' words. One object per process, passed to whoever counts."""

from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from holdfast.chats.change import Change

SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        # Finding a counter by its labels costs more than counting.
        self._steps = cache(
            Counter(
                "holdfast_steps",
                "Model calls that were committed",
                ["model", "outcome"],
                registry=self.registry,
            ).labels
        )
        self._attempts = Counter(
            "holdfast_failed_attempts", "Attempts that failed, by kind", ["kind"], registry=self.registry
        )
        self._calls = cache(
            Counter(
                "holdfast_calls", "Tool calls that ended, by outcome", ["outcome"], registry=self.registry
            ).labels
        )
        self._turns = Counter("holdfast_turns", "Turns that ended", ["outcome"], registry=self.registry)
        self._tokens = cache(
            Counter("holdfast_tokens", "Tokens used", ["model", "kind"], registry=self.registry).labels
        )
        self._cost = cache(
            Counter(
                "holdfast_cost_usd_micros", "Money spent, in millionths", ["model"], registry=self.registry
            ).labels
        )
        self._step_seconds = Histogram(
            "holdfast_step_seconds", "How long steps took", buckets=SECONDS, registry=self.registry
        )
        self.chats = Gauge("holdfast_chats_running", "Chats this process runs", registry=self.registry)
        self.stale = Counter(
            "holdfast_stale_commits",
            "Commits refused because the work was out of date",
            registry=self.registry,
        )
        self.leases_lost = Counter(
            "holdfast_leases_lost", "Times this process lost its lease", registry=self.registry
        )

    def committed(self, change: Change) -> None:
        """What a commit of a worker says about the work."""
        for step in change.steps:
            model = step.model or "unknown"
            self._steps(model, step.outcome).inc()
            self._step_seconds.observe((step.finished_at - step.started_at).total_seconds())
            usage = step.usage
            for kind, count in (
                ("input", usage.input),
                ("output", usage.output),
                ("cache_read", usage.cache_read),
                ("cache_write", usage.cache_write),
            ):
                tokens = self._tokens(model, kind)
                if count:
                    tokens.inc(count)
            self._cost(model).inc(usage.cost_usd_micros)
        for call in change.calls_put:
            # Once for each: an end may be committed before its result enters history, or together with it.
            if call.state == "answered" and call.outcome is not None:
                self._calls(call.outcome).inc()
        for end in change.turns_ended:
            self._turns.labels(end.outcome).inc()

    def failed_attempt(self, kind: str) -> None:
        self._attempts.labels(kind).inc()

    def exposition(self) -> bytes:
        return generate_latest(self.registry)
