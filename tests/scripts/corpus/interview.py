"""Interviews a made-up user about a feature; follow-up questions depend on the answers, until nothing is open."""

meta = {
    "name": "interview",
    "description": "Ask personas about a feature with follow-up questions, then write requirements",
    "phases": [{"title": "Ask"}, {"title": "Follow up"}, {"title": "Write"}],
}

from collections import ChainMap, deque
from string import Template

PERSONAS = ChainMap(
    (args or {}).get("personas", {}), {"nurse": "works at night", "clerk": "types without looking"}
)
QUESTION = Template("You are a $who ($what). $question Answer in two sentences.")
OPEN = {
    "type": "object",
    "required": ["questions", "done"],
    "properties": {
        "questions": {"type": "array", "items": {"type": "string"}},
        "done": {"enum": [False, True]},
    },
}
MOST = 3


class Interview:
    def __init__(self, who, what):
        self.who, self.what = who, what
        self.said = []
        self._queue = deque(["What annoys you most today?"])

    def __aiter__(self):
        return self

    async def __anext__(self):
        if not self._queue or len(self.said) >= MOST:
            raise StopAsyncIteration
        question = self._queue.popleft()
        answer = await agent(
            QUESTION.substitute(who=self.who, what=self.what, question=question), label=self.who
        )
        self.said.append((question, answer or "(no answer)"))
        return question, answer

    async def follow_up(self):
        told = "\n".join(f"Q: {question}\nA: {answer}" for question, answer in self.said)
        found = await agent(
            f"What is still unclear?\n{told}", label=f"open: {self.who}", phase="Follow up", schema=OPEN
        )
        if found and not found["done"]:
            self._queue.extend(found["questions"][:1])


async def talk(who, what):
    interview = Interview(who, what)
    async for _question, _answer in interview:
        await interview.follow_up()
    return interview


phase("Ask")
async with asyncio.TaskGroup() as group:
    tasks = [group.create_task(talk(who, what)) for who, what in sorted(PERSONAS.items())]
interviews = [task.result() for task in tasks]
for interview in interviews:
    log(f"{interview.who:>8}: {len(interview.said)} answers")

phase("Write")
everything = "\n\n".join(f"{i.who}: {answer}" for i in interviews for _, answer in i.said)
requirements = await agent(f"Write requirements from this:\n{everything}")
return {
    "asked": sum(len(i.said) for i in interviews),
    "requirements": requirements,
    "who": [i.who for i in interviews],
}
