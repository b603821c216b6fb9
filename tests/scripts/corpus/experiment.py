"""Designs an experiment, runs its arms in an order that is mixed by a seed, and tests whether they differ."""

meta = {
    "name": "experiment",
    "description": "Compare prompts by repeated trials with a permutation test on their scores",
    "phases": [{"title": "Trial"}, {"title": "Test"}, {"title": "Conclude"}],
}

import random
import statistics
from functools import partial, reduce
from itertools import product

arms = (args or {}).get("arms", {"plain": "Explain leases.", "story": "Explain leases as a story."})
trials = (args or {}).get("trials", 3)
chance = random.Random((args or {}).get("seed", 2026))
RATING = {
    "type": "object",
    "required": ["clarity", "length"],
    "properties": {
        "clarity": {"type": "integer", "minimum": 4},
        "length": {"type": "integer", "minimum": 90},
    },
}


def permutation_test(first, second, chance, times=200):
    """How often a random split differs at least as much."""
    observed = abs(statistics.fmean(first) - statistics.fmean(second))
    pool, cut = [*first, *second], len(first)
    hits = 0
    for _ in range(times):
        chance.shuffle(pool)
        hits += abs(statistics.fmean(pool[:cut]) - statistics.fmean(pool[cut:])) >= observed
    return hits / times


async def trial(arm, number, *, prompts):
    text = await agent(f"{prompts[arm]} Trial {number}.", label=f"{arm} {number}")
    rating = await agent(f"Rate this text:\n{text}", label=f"rate {arm} {number}", schema=RATING)
    return arm, None if rating is None else rating["clarity"] - rating["length"] / 1000


phase("Trial")
plan = list(product(sorted(arms), range(1, trials + 1)))
chance.shuffle(plan)
log("order: " + " ".join(f"{arm[0]}{number}" for arm, number in plan))
run = partial(trial, prompts=arms)
results = await asyncio.gather(*(run(arm, number) for arm, number in plan))
scores = reduce(
    lambda found, one: {**found, one[0]: [*found.get(one[0], []), one[1]]},
    [one for one in results if one[1] is not None],
    {},
)

phase("Test")
if len(scores) < 2:
    return {"conclusion": "not enough answers", "scores": scores}
(first, a), (second, b), *_ = sorted(scores.items())
p = permutation_test(a, b, chance)

phase("Conclude")
better = first if statistics.fmean(a) > statistics.fmean(b) else second
conclusion = f"{better} is better" if p < 0.05 else "no difference can be seen"
summary = await agent(f"Write one paragraph: {conclusion}, p = {p:.2f}")
return {
    "conclusion": conclusion,
    "p": round(p, 2),
    "scores": {k: len(v) for k, v in scores.items()},
    "summary": summary,
}
