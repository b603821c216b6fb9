"""Tries a task with more and more effort until a check is satisfied, and says how far it had to go."""

meta = {
    "name": "retry-ladder",
    "description": "Escalate from cheap to expensive attempts until a verifier accepts the answer",
    "phases": [{"title": "Try"}, {"title": "Verify"}],
    "budget": 50000,
}

from contextlib import asynccontextmanager
from types import SimpleNamespace

LADDER = [
    SimpleNamespace(effort="low", tools=[], tries=1),
    SimpleNamespace(effort="medium", tools=None, tries=2),
    SimpleNamespace(effort="high", tools=None, tries=1),
]
CHECK = {
    "type": "object",
    "required": ["accepted", "complaint"],
    "properties": {"accepted": {"enum": [False, True]}, "complaint": {"type": "string"}},
}


class NotGoodEnough(Exception):
    """The verifier said no."""

    def __init__(self, complaint, effort):
        super().__init__(complaint)
        self.effort = effort


class OutOfLadder(NotGoodEnough):
    pass


@asynccontextmanager
async def noted(name):
    log(f"-> {name}")
    try:
        yield name
    except NotGoodEnough as error:
        log(f"<- {name}: {error} ({error.effort})")
        raise
    else:
        log(f"<- {name}: accepted")


async def attempt(task, rung, complaints):
    phase("Try")
    told = "".join(f"\nNot like this: {one}" for one in complaints)
    options = {} if rung.tools is None else {"tools": rung.tools}
    answer = await agent(f"{task}{told}", effort=rung.effort, **options)
    phase("Verify")
    check = await agent(f"Is this good?\n{answer}", schema=CHECK, label=f"verify {rung.effort}")
    if not (check and check["accepted"]):
        raise NotGoodEnough(check["complaint"] if check else "nobody looked", rung.effort)
    return answer


async def climb(task):
    complaints = []
    for rung in LADDER:
        for number in range(rung.tries):
            if budget.remaining() < 20:
                raise OutOfLadder("the budget is nearly spent", rung.effort)
            try:
                async with noted(f"{rung.effort} {number + 1}"):
                    return await attempt(task, rung, complaints), complaints
            except NotGoodEnough as error:
                complaints.append(str(error))
    raise OutOfLadder("; ".join(complaints), LADDER[-1].effort)


try:
    answer, complaints = await climb((args or {}).get("task", "Write a haiku about leases"))
except OutOfLadder as error:
    return {"answer": None, "why": str(error), "last": error.effort, "kind": type(error).__name__}
return {"answer": answer, "complaints": complaints}
