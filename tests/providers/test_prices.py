"""Money: what the list says, what the provider says, and nothing where it is unknown."""

import pytest

from holdfast.core.usage import Usage
from holdfast.providers.kinds import KINDS
from holdfast.providers.prices import Prices
from holdfast.providers.usage import usage

SPENT = usage(total_input=1_000_000, output=100_000, cache_read=500_000)


@pytest.fixture(scope="module")
def prices() -> Prices:
    loaded = Prices()
    loaded.load()
    return loaded


def test_cached_tokens_are_part_of_the_input_and_cheaper(prices: Prices) -> None:
    plain = prices.cost_usd_micros("anthropic", "claude-sonnet-4-5", usage(total_input=100_000, output=0))
    cached = prices.cost_usd_micros(
        "anthropic", "claude-sonnet-4-5", usage(total_input=100_000, output=0, cache_read=100_000)
    )
    assert plain == 300_000
    assert cached == 30_000


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS.values() if kind.first_model])
def test_the_first_model_of_every_kind_has_a_price_and_a_limit(prices: Prices, kind: str) -> None:
    first = KINDS[kind].first_model
    assert first is not None
    cost = prices.cost_usd_micros(kind, first, SPENT)
    assert cost is not None
    assert cost > 0
    limit = prices.context_limit(kind, first)
    assert limit is None or limit >= 32_000


@pytest.mark.parametrize(
    "kind, model",
    [("openai", "no-such-model"), ("compatible", "gpt-4o"), ("ollama", "llama"), ("?", "gpt-4o")],
)
def test_what_nobody_knows_is_not_priced(prices: Prices, kind: str, model: str) -> None:
    assert prices.cost_usd_micros(kind, model, SPENT) is None
    assert prices.context_limit(kind, model) is None


def test_what_the_provider_charged_counts_more(prices: Prices) -> None:
    assert prices.cost_usd_micros("openrouter", "anything", SPENT, reported_usd=0.00125) == 1250


def test_the_demo_is_free(prices: Prices) -> None:
    assert prices.cost_usd_micros("demo", "demo", SPENT) == 0


@pytest.mark.parametrize("absurd", [-1, 10**18, None, "many", float("nan"), float("inf"), True, [1]])
def test_absurd_counts_cost_nothing(prices: Prices, absurd: object) -> None:
    counted = usage(
        total_input=absurd, output=absurd, cache_read=absurd, cache_write=absurd, reasoning=absurd
    )
    assert counted == Usage()
    assert prices.cost_usd_micros("openai", "gpt-4o", counted) == 0


def test_parts_never_exceed_the_whole() -> None:
    counted = usage(total_input=10, output=5, cache_read=8, cache_write=8, reasoning=9)
    assert (counted.cache_read, counted.cache_write, counted.reasoning) == (8, 2, 5)
