"""A tournament of answers: pairs are judged, winners go on, until one is left; the way there is kept."""

meta = {
    "name": "tournament",
    "description": "Generate many answers, let them compete in pairs, return the winner and the bracket",
    "phases": [{"title": "Generate"}, {"title": "Compete"}],
    "args": {"type": "object", "properties": {"task": {"type": "string"}, "players": {"type": "integer"}}},
}

import functools
import math
import random
from contextlib import suppress

task = (args or {}).get("task", "Name a library for durable agents")
players = (args or {}).get("players", 5)
# The same order in every continuation: the seed is written down.
dice = random.Random(7)
PICK = {
    "type": "object",
    "required": ["winner", "because"],
    "properties": {"winner": {"enum": ["first", "second"]}, "because": {"type": "string"}},
}


def rounds_for(count):
    return max(0, math.ceil(math.log2(count))) if count else 0


@functools.lru_cache(maxsize=None)
def style(number):
    return ["short", "playful", "plain", "technical"][number % 4]


class Player:
    def __init__(self, number, text):
        self.number = number
        self.text = text
        self.wins = []

    def __repr__(self):
        return f"<{self.number}: {len(self.wins)} wins>"


phase("Generate")
texts = await parallel(
    [lambda n=n: agent(f"{task}. Be {style(n)}. Variant {n}.", label=f"player {n}") for n in range(players)]
)
field = [Player(number, text) for number, text in enumerate(texts) if text]
dice.shuffle(field)
bracket = []


async def match(first, second):
    answer = await agent(f"Which is better?\n1: {first.text}\n2: {second.text}", schema=PICK, label="judge")
    winner = first if answer is None or answer["winner"] == "first" else second
    winner.wins.append((second if winner is first else first).number)
    return winner


phase("Compete")
expected = rounds_for(len(field))
while len(field) > 1:
    pairs = list(zip(field[::2], field[1::2]))
    winners = await asyncio.gather(*[match(*pair) for pair in pairs])
    bracket.append([[a.number, b.number] for a, b in pairs])
    field = [*winners, *field[len(pairs) * 2 :]]
    log(f"round {len(bracket)} of {expected}: {field}")
champion = None
with suppress(IndexError):
    champion = field[0]
return {
    "champion": champion and champion.number,
    "text": champion and champion.text,
    "rounds": len(bracket) == expected,
    "bracket": bracket,
}
