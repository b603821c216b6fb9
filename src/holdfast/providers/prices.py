"""What a step cost, from a price list that comes with the program and needs no network. A model that is not
on it is unpriced, never free; so is everything on one's own machine."""

from decimal import Decimal
from typing import TYPE_CHECKING

from holdfast.core.usage import Usage
from holdfast.providers.kinds import KINDS
from holdfast.providers.model_facts import ModelPrice

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

_MICROS = 1_000_000
_MOST_USD = 1_000_000
# Tokens of a request that no list has a higher price for.
_SHORT = 1000
# Providers choose the names they answer with.
_MOST_UNKNOWN = 1000


class Prices:
    """The list takes a quarter of a second to load: `load` it in a thread before the first step that it
    concerns."""

    def __init__(self) -> None:
        self.loaded = False
        self._limits: dict[tuple[str, str], int | None] = {}
        # To find that a model is not on the list takes a look at all that are.
        self._unknown: set[tuple[str, str]] = set()

    def concern(self, kind: str) -> bool:
        """Whether the list has anything to say about providers of this kind."""
        return kind in KINDS and KINDS[kind].prices is not None

    def load(self) -> None:
        """Any thread may call it, and so may several at once."""
        self._calculation("openai", "gpt-4o", Usage(input=1))
        self.loaded = True

    def cost_usd_micros(
        self, kind: str, model: str, usage: Usage, reported_usd: float | None = None
    ) -> int | None:
        """None when nobody knows. What the provider itself says it charged counts more than the list."""
        if kind == "demo":
            return 0
        if reported_usd is not None:
            return round(reported_usd * _MICROS)
        found = self._calculation(kind, model, usage)
        return None if found is None else _micros(found.total_price)

    def context_limit(self, kind: str, model: str) -> int | None:
        """How much the model can take, if the list says it."""
        if (kind, model) not in self._limits:
            found = self._calculation(kind, model, Usage())
            self._limits[kind, model] = None if found is None else found.model.context_window
        return self._limits[kind, model]

    def price(self, kind: str, model: str) -> ModelPrice | None:
        """Of a million tokens, for a short request."""
        each = [
            self._calculation(kind, model, usage) for usage in (Usage(input=_SHORT), Usage(output=_SHORT))
        ]
        read, written = (None if found is None else _micros(found.total_price) for found in each)
        if read is None or written is None:
            return None
        factor = _MICROS // _SHORT
        return ModelPrice(input_usd_micros=read * factor, output_usd_micros=written * factor)

    def _calculation(self, kind: str, model: str, usage: Usage) -> "PriceCalculation | None":
        provider = KINDS[kind].prices if kind in KINDS else None
        if provider is None or (provider, model) in self._unknown:
            return None
        import genai_prices

        counts = genai_prices.Usage(
            input_tokens=usage.input,
            cache_read_tokens=usage.cache_read,
            cache_write_tokens=usage.cache_write,
            output_tokens=usage.output,
        )
        try:
            return genai_prices.calc_price(counts, model, provider_id=provider)
        except LookupError:
            if len(self._unknown) >= _MOST_UNKNOWN:
                self._unknown.clear()
            self._unknown.add((provider, model))
            return None
        except (ValueError, ArithmeticError):
            return None


def _micros(price: Decimal) -> int | None:
    return round(price * _MICROS) if price.is_finite() and 0 <= price <= _MOST_USD else None
