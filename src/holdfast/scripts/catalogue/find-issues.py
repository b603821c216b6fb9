meta = {
    "name": "find-issues",
    "description": "Searches a code base for problems in rounds, until two rounds in a row find nothing new",
    "when_to_use": "A code base nobody has looked through for a while",
    "phases": [{"title": "Search", "detail": "At most 5 rounds"}, {"title": "Rank"}],
    "args": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where to look (the whole workspace)"},
            "kind": {"type": "string", "description": "What counts as a problem (bugs)"},
            "rounds": {"type": "integer", "minimum": 1, "maximum": 5},
        },
        "additionalProperties": False,
    },
}

options = args or {}
path = options.get("path", "the whole workspace")
kind = options.get("kind", "bugs: code that does the wrong thing for some input or at some moment")
most_rounds = options.get("rounds", 5)

ISSUES = {
    "type": "object",
    "properties": {
        "issues": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "title": {"type": "string"},
                    "file": {"type": "string"},
                    "line": {"type": "integer"},
                    "why": {"type": "string"},
                },
                "required": ["title", "file", "why"],
            },
        }
    },
    "required": ["issues"],
}
# Each looks in its own way, so that a round is more than the same search three times.
WAYS = [
    "Follow the data: where does input come in, and what happens to it that nobody expects?",
    "Follow the errors: what fails, who notices, and what state is left behind?",
    "Read the least tested and the most changed files line by line.",
]


def key(issue):
    return (issue["file"], issue.get("line", 0) // 10, issue["title"].lower()[:40])


def known_list(issues):
    return "\n".join([f"- {issue['file']}: {issue['title']}" for issue in issues]) or "- none yet"


phase("Search")
found = []
seen = {("", 0, "")}
quiet = 0
rounds = 0
while rounds < most_rounds and quiet < 2:
    rounds += 1
    answers = await parallel(
        [
            lambda way=way: agent(
                f"Look for {kind} in {path}. {way}\nReport only what you have confirmed in the code and what is not "
                f"in this list:\n{known_list(found)}",
                label=f"round {rounds}: {way.split(':')[0].lower()}",
                schema=ISSUES,
            )
            for way in WAYS
        ]
    )
    new = []
    for answer in answers:
        for issue in answer["issues"] if answer else []:
            if key(issue) not in seen:
                seen.add(key(issue))
                new.append(issue)
    found = found + new
    quiet = 0 if new else quiet + 1
    log(f"round {rounds}: {len(new)} new")

if not found:
    return {"issues": [], "rounds": rounds}

phase("Rank")
ranked = await agent(
    "Order these by how much harm they do to users, worst first. Drop those that are the same as another.\n\n"
    + json.dumps(found),
    label="rank",
    schema=ISSUES,
)
return {"issues": ranked["issues"] if ranked else found, "rounds": rounds}
