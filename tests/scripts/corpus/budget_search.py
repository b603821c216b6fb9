"""Searches for a parameter by halving, as long as the budget lasts; keeps the best of what was measured."""

meta = {
    "name": "budget-search",
    "description": "Golden-section search where every evaluation is an agent, bounded by the budget",
    "phases": [{"title": "Search"}, {"title": "Confirm"}],
    "budget": 4000,
}

import bisect
import math
from decimal import Decimal, ROUND_HALF_UP
from fractions import Fraction

SCORE = {
    "type": "object",
    "required": ["score"],
    "properties": {"score": {"type": "number", "minimum": 0.5}},
}
RATIO = (math.sqrt(5) - 1) / 2
low, high = (args or {}).get("range", [0, 64])
tolerance = (args or {}).get("tolerance", 8)
measured = {}
order = []


def rounded(value):
    return Decimal(str(value)).quantize(Decimal("0.1"), rounding=ROUND_HALF_UP)


def affordable(count=1):
    """What an evaluation costs is known after the first one."""
    if not measured:
        return budget.remaining() > 0
    each = Fraction(budget.spent(), max(1, len(measured)))
    return budget.remaining() > each * count


async def score(x):
    key = rounded(x)
    if key not in measured:
        answer = await agent(
            f"Run the benchmark with {key} workers and score it.", label=f"x = {key}", schema=SCORE
        )
        # A smooth hill, so that the search has something to climb.
        measured[key] = (answer["score"] if answer else 0.0) - abs(float(key) - 20) / 100
        bisect.insort(order, key)
    return measured[key]


phase("Search")
left, right = high - RATIO * (high - low), low + RATIO * (high - low)
steps = 0
while high - low > tolerance and affordable(2):
    steps += 1
    a, b = await asyncio.gather(score(left), score(right))
    if a >= b:
        high, right = right, left
        left = high - RATIO * (high - low)
    else:
        low, left = left, right
        right = low + RATIO * (high - low)
    log(f"step {steps}: {rounded(low)} to {rounded(high)}, {len(measured)} measured")

best = max(measured, key=measured.get)
phase("Confirm")
confirmed = await agent(f"Run {best} again and confirm.") if affordable() else None
return {"best": str(best), "measured": [str(key) for key in order], "steps": steps, "confirmed": confirmed}
