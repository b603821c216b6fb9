"""Usage adds up; what cannot be added is taken from the later one."""

from functools import reduce
from operator import add

from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.usage import Usage
from tests.core.strategies import of

usages = of(Usage)
SUMS = (
    "input",
    "output",
    "reasoning",
    "cache_read",
    "cache_write",
    "total",
    "cost_usd_micros",
    "unpriced_steps",
)
LATEST = ("context_used", "context_limit", "tokens_per_second")
ANY = ("estimated",)


def test_every_field_is_a_sum_or_the_latest() -> None:
    assert {*SUMS, *LATEST, *ANY} == set(Usage.__struct_fields__)


@given(steps=st.lists(usages, min_size=1, max_size=5))
def test_sums(steps: list[Usage]) -> None:
    total = reduce(add, steps)
    for name in SUMS:
        assert getattr(total, name) == sum(getattr(step, name) for step in steps)
    for name in ANY:
        assert getattr(total, name) == any(getattr(step, name) for step in steps)
    for name in LATEST:
        known = [getattr(step, name) for step in steps if getattr(step, name) is not None]
        assert getattr(total, name) == (known[-1] if known else None)


@given(usage=usages)
def test_nothing_changes_nothing(usage: Usage) -> None:
    assert Usage() + usage == usage
    assert usage + Usage() == usage
