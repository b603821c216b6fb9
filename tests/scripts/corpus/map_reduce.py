"""Reads a long text in pieces, notes what is said in each, and folds the notes until they fit into one answer."""

meta = {
    "name": "map-reduce",
    "description": "Split a text, summarise the pieces, fold the summaries pairwise into one",
    "phases": [{"title": "Map"}, {"title": "Reduce"}, {"title": "Answer"}],
    "reuse": "always",
}

import re
import textwrap
from collections import deque

TEXT = (args or {}).get("text") or "\n\n".join(
    f"Chapter {n}. " + "Something happened, and it mattered. " * 12 for n in range(1, 6)
)
SIZE = (args or {}).get("size", 300)
HEADING = re.compile(r"^Chapter (?P<number>\d+)\.", re.MULTILINE)


def pieces(text, size):
    """Paragraphs, joined as long as they fit."""
    begun = []
    for paragraph in text.split("\n\n"):
        if begun and sum(map(len, begun)) + len(paragraph) > size:
            yield "\n\n".join(begun)
            begun = []
        begun.append(paragraph)
    if begun:
        yield "\n\n".join(begun)


def titled(text):
    numbers = [match["number"] for match in HEADING.finditer(text)]
    match numbers:
        case []:
            return "no chapter"
        case [only]:
            return f"chapter {only}"
        case [first, *_, last]:
            return f"chapters {first} to {last}"


parts = list(pieces(TEXT, SIZE))
phase("Map")
notes = await parallel(
    [
        lambda part=part: agent(
            textwrap.dedent(
                f"""\
                Note what matters in {titled(part)}, in three lines.

                {textwrap.shorten(part, 200)}
                """
            ),
            label=titled(part),
            tools=[],
        )
        for part in parts
    ]
)
waiting = deque(note for note in notes if note)
lost = len(notes) - len(waiting)

phase("Reduce")
folds = 0
while len(waiting) > 1:
    first, second = waiting.popleft(), waiting.popleft()
    folded = await agent(
        f"Make one note of these two:\n- {first}\n- {second}", label=f"fold {(folds := folds + 1)}"
    )
    waiting.append(folded or f"{first} {second}")

phase("Answer")
answer = await agent(f"What is the text about?\n{waiting[0]}") if waiting else None
clean = re.sub(r"\b(\w)(\w*)\b", lambda m: m[1].upper() + m[2], titled(TEXT))
return {"pieces": len(parts), "folds": folds, "lost": lost, "title": clean, "answer": answer}
