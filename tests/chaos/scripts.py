"""Messages of the load. Each carries its own script for the model and a tag by which it is found again; a
command has a tag too, which it writes into the ledger when it runs."""

import itertools
import json
import re
from random import Random

LEDGER = "ledger.txt"
MESSAGE_TAG = re.compile(r"\[(m\d+)\]")
CALL_TAG = re.compile(r"\b(e\d+)\b")
# What the model says begins and ends with its own word.
SAID = re.compile(r"<<(s\d+)(?: [\w→]+)* \1>>")
WORDS = ("one", "two", "three", "four", "fivé", "six", "seven", "→", "nine", "ten", "eleven", "twelve")


class Tags:
    """Counted on from one round to the next."""

    def __init__(self) -> None:
        self.messages, self.calls, self.says = (itertools.count(1) for _ in range(3))


class Scripts:
    """Of one play: what chance decides in it does not depend on what others do meanwhile."""

    def __init__(self, tags: Tags, chance: Random) -> None:
        self._tags = tags
        self._chance = chance

    def message(self, *steps: str) -> tuple[str, str]:
        """The text with these steps and a last word, and its tag."""
        tag = f"m{next(self._tags.messages)}"
        return "\n".join((f"[{tag}]", *steps, self.say())), tag

    def say(self, seconds: float = 0.0) -> str:
        """Something unique; streamed for about so long."""
        tag = f"s{next(self._tags.says)}"
        said = f"<<{tag} {' '.join(self._chance.choices(WORDS, k=24))} {tag}>>"
        # The provider sends twelve characters at a time.
        pace = round(seconds / (len(said) / 12), 3)
        return f"pace: {pace}\nsay slowly: {said}" if pace else f"say: {said}"

    def command(self, before: float = 0.0, after: float = 0.0) -> str:
        """A call with an effect that must not be repeated: one line in the ledger."""
        tag = f"e{next(self._tags.calls)}"
        shell = f"sleep {before:.2f}; echo {tag} >> {LEDGER}; sleep {after:.2f}; echo done {tag}"
        return f"execute {json.dumps({'command': shell})}"

    def some_call(self, longest: float = 0.3) -> str:
        """One of every kind of effect: unsafe, idempotent, read."""
        chance = self._chance
        match chance.randrange(4):
            case 0:
                return f'write_file {{"path": "note{chance.randrange(5)}.txt", "content": "x"}}'
            case 1:
                return 'list {"path": "."}'
            case _:
                return self.command(chance.uniform(0, longest), chance.uniform(0, longest))

    def agent(self, label: str) -> str:
        """A call that starts a sub-agent, which runs a command of its own."""
        text, _ = self.message(f"call: {self.command(0, 0.2)}")
        return f"spawn_agent {json.dumps({'prompt': text, 'label': label})}"


def call(given: str) -> str:
    return f"call: {given}"


def calls(*given: str) -> str:
    return "calls: " + "; ".join(given)


def tag_of(parts: list[dict[str, str]]) -> str:
    """The tag of a message; empty if it has none."""
    text = "\n".join(part.get("text", "") for part in parts if part.get("type") == "text")
    found = MESSAGE_TAG.search(text)
    return found[1] if found else ""
