"""A client of a run's feed as small as it can be: it applies events, and complains of what must never
happen: a line twice or out of order, a call that goes back, news after the end."""

from typing import Any

Json = dict[str, Any]
ENDED = ("succeeded", "failed", "cancelled")


class RunClient:
    def __init__(self) -> None:
        self.cursor: str | None = None
        self.names: list[str] = []
        self.run: Json | None = None
        self.budget: Json | None = None
        self.phases: dict[str, Json] = {}
        self.calls: dict[str, Json] = {}
        self.log: list[Json] = []
        self.closing: str | None = None

    def apply(self, event: str, event_id: str | None, data: Json) -> None:
        assert self.closing is None, "something came after closing"
        self.cursor = event_id or self.cursor
        self.names.append(event)
        match event:
            case "run":
                self.run = data
            case "budget":
                self.budget = data
            case "phase":
                known = self.phases.get(data["title"])
                if known is None or known["started_at"] is None:
                    self.phases[data["title"]] = data
            case "log":
                assert not self.log or data["number"] > self.log[-1]["number"], "a line came twice"
                self.log.append(data)
            case "call":
                known = self.calls.get(data["id"])
                # One may be told again when only what nobody is shown of it has changed.
                assert known in (None, data) or known["status"] not in ENDED, "a call went on after its end"
                self.calls[data["id"]] = data
            case "caught_up":
                pass
            case "closing":
                self.closing = data["reason"]
            case _:
                raise AssertionError(event)

    @property
    def is_over(self) -> bool:
        return self.run is not None and self.run["status"] in ENDED

    @property
    def held(self) -> Json:
        """Put together as REST has it."""
        assert self.run is not None
        calls = sorted(self.calls.values(), key=lambda call: tuple(map(int, call["id"].split("."))))
        return {
            **self.run,
            "budget": self.budget,
            "phases": list(self.phases.values()),
            "calls": calls,
            "log": self.log,
            "reused": sum(call["reused"] for call in calls),
        }
