"""A tour through a code base for newcomers: stops, each explained and checked by a newcomer who asks back."""

meta = {
    "name": "code-tour",
    "description": "Choose stops, explain each, let a newcomer ask, answer, and put the tour together",
    "phases": [{"title": "Plan"}, {"title": "Explain"}, {"title": "Ask"}, {"title": "Bind"}],
    "when_to_use": "Somebody new joins",
}

import html
import json
from contextlib import ExitStack, contextmanager
from io import StringIO
from urllib.parse import quote

STOPS = {
    "type": "object",
    "required": ["stops"],
    "properties": {
        "stops": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["file", "why"],
                "properties": {"file": {"type": "string"}, "why": {"type": "string"}},
            },
        }
    },
}
indent = 0


@contextmanager
def section(out, title):
    global indent
    indent += 1
    print("#" * indent, title, file=out)
    try:
        yield
    finally:
        indent -= 1
        print(file=out)


def link(path, *, base="/files/"):
    return f"[{html.escape(path)}]({base}{quote(path)})"


phase("Plan")
plan = await agent(f"Choose stops for a tour of {json.dumps((args or {}).get('root', '.'))}.", schema=STOPS)
stops = plan["stops"] if plan else []
assert isinstance(stops, list), "the plan is no list"

explained = await pipeline(
    stops,
    lambda stop: agent(
        f"Explain {stop['file']} to a newcomer: {stop['why']}", label=stop["file"], phase="Explain"
    ),
    lambda text, stop: parallel(
        [
            lambda: agent(f"You are new. What do you not understand?\n{text}", label="newcomer", phase="Ask"),
            lambda: text,
        ]
    ),
    lambda pair, stop: {"stop": stop["file"], "question": pair[0], "text": pair[1]},
)

phase("Bind")
out = StringIO()
with ExitStack() as stack:
    stack.enter_context(section(out, "The tour"))
    for entry in filter(None, explained):
        with section(out, link(entry["stop"])):
            print(entry["text"], entry["question"], sep="\n> ", file=out)
del plan
return {"stops": len(stops), "tour": out.getvalue(), "lines": out.getvalue().count("\n"), "depth": indent}
