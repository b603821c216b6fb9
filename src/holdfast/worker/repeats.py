"""Calls that fail again and again: the same one, or different ones in the same way. They are counted by step,
and any success in between starts anew: running the tests after each edit is work, however often they fail."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from msgspec import field

from holdfast.core.ids import CallId
from holdfast.core.parts import Outcome, ToolCall
from holdfast.core.shapes import Record, encode

NUDGE_AFTER = 3
STOP_AFTER = 6

_FAILED = ("failed", "denied", "expired")


class RepeatedResult(Protocol):
    @property
    def call_id(self) -> CallId: ...

    @property
    def outcome(self) -> Outcome | None: ...


class Repeats(Record, frozen=True, kw_only=True):
    # In how many steps each call (its name and input), or any call with this outcome, failed since anything
    # succeeded.
    failures: dict[bytes, int] = field(default_factory=dict[bytes, int])
    # Those the model was told about.
    told_of: frozenset[bytes] = frozenset()

    def after(self, calls: Mapping[CallId, ToolCall], results: Iterable[RepeatedResult]) -> "Repeats":
        """With the results of one more step."""
        results = [result for result in results if result.call_id in calls]
        if not results:
            return self
        if any(result.outcome == "succeeded" for result in results):
            return Repeats()
        failures = [result for result in results if result.outcome in _FAILED]
        if not failures:
            return self
        failed = {_made(calls[result.call_id]) for result in failures}
        # No tool's name begins with this sign.
        failed |= {b"\0" + str(result.outcome).encode() for result in failures}
        counts = {made: self.failures.get(made, 0) + 1 for made in failed}
        return Repeats(failures=self.failures | counts, told_of=self.told_of)

    def told(self) -> "Repeats":
        """The model was told of everything it repeated too often."""
        often = frozenset(made for made, count in self.failures.items() if count >= NUDGE_AFTER)
        return Repeats(failures=self.failures, told_of=often)

    @property
    def nudge_is_due(self) -> bool:
        return any(count >= NUDGE_AFTER and made not in self.told_of for made, count in self.failures.items())

    @property
    def stop_is_due(self) -> bool:
        return any(count >= STOP_AFTER for count in self.failures.values())


def _made(call: ToolCall) -> bytes:
    return call.name.encode() + b" " + encode(call.input)
