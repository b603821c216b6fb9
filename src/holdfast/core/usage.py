"""What work cost. `input` includes what was read from or written to the cache (`cache_read`, `cache_write`),
`output` includes `reasoning`; money is in millionths of a US dollar."""

from typing import TypeVar

from holdfast.core.shapes import Record

T = TypeVar("T")


class Usage(Record, frozen=True, kw_only=True):
    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total: int = 0
    context_used: int | None = None
    context_limit: int | None = None
    cost_usd_micros: int = 0
    unpriced_steps: int = 0
    tokens_per_second: float | None = None
    # Whether any of it is our own estimate, because the provider did not say.
    estimated: bool = False

    def __add__(self, later: "Usage") -> "Usage":
        """Adds what can be added; everything else is taken from the later one if it has it."""
        return Usage(
            input=self.input + later.input,
            output=self.output + later.output,
            reasoning=self.reasoning + later.reasoning,
            cache_read=self.cache_read + later.cache_read,
            cache_write=self.cache_write + later.cache_write,
            total=self.total + later.total,
            context_used=_known(later.context_used, self.context_used),
            context_limit=_known(later.context_limit, self.context_limit),
            cost_usd_micros=self.cost_usd_micros + later.cost_usd_micros,
            unpriced_steps=self.unpriced_steps + later.unpriced_steps,
            tokens_per_second=_known(later.tokens_per_second, self.tokens_per_second),
            estimated=self.estimated or later.estimated,
        )


def _known(later: T | None, earlier: T | None) -> T | None:
    return earlier if later is None else later


class Budget(Record, frozen=True, kw_only=True):
    """Caps for a chat and its sub-agents; the amounts spent are filled in when a budget is read."""

    tokens: int | None = None
    cost_usd_micros: int | None = None
    spent_tokens: int = 0
    spent_usd_micros: int = 0
