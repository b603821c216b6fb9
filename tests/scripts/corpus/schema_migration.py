"""Plans a change of a database schema: steps with dependencies, ordered, each checked for a way back."""

meta = {
    "name": "schema-migration",
    "description": "Propose migration steps, order them by dependency, check reversibility, simulate",
    "phases": [{"title": "Plan"}, {"title": "Order"}, {"title": "Check"}, {"title": "Simulate"}],
}

import heapq
from dataclasses import asdict, dataclass
from graphlib import CycleError, TopologicalSorter

STEPS = {
    "type": "object",
    "required": ["steps"],
    "properties": {
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["sql", "locks"],
                "properties": {"sql": {"type": "string"}, "locks": {"enum": ["row", "table"]}},
            },
        }
    },
}
BACK = {
    "type": "object",
    "required": ["reversible", "down"],
    "properties": {"reversible": {"type": "boolean"}, "down": {"type": "string"}},
}


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    sql: str
    locks: str

    def __lt__(self, other):
        return (self.locks, self.name) < (other.locks, other.name)


phase("Plan")
goals = (args or {}).get("goals", ["split name into two columns", "drop the old column"])
plans = await parallel(
    [lambda goal=goal: agent(f"Which steps: {goal}?", schema=STEPS, label=goal) for goal in goals]
)
steps = {}
graph = {}
previous = []
for number, plan in enumerate(plans, 1):
    names = []
    for place, step in enumerate((plan or {"steps": []})["steps"], 1):
        name = f"{number}.{place}"
        steps[name] = Step(name, step["sql"], step["locks"])
        graph[name] = {*previous, *names[-1:]}
        names.append(name)
    previous = names

phase("Order")
try:
    sorter = TopologicalSorter(graph)
    sorter.prepare()
except CycleError as error:
    raise RuntimeError(f"the steps depend on each other: {error.args[1]}") from error
order = []
ready = []
while sorter.is_active():
    for name in sorter.get_ready():
        heapq.heappush(ready, steps[name])
    step = heapq.heappop(ready)
    order.append(step)
    sorter.done(step.name)

phase("Check")
backs = await pipeline(
    order,
    lambda step: agent(f"How is this undone?\n{step.sql}", label=step.name, schema=BACK),
    lambda back, step, index: {
        **asdict(step),
        "index": index,
        "down": back["down"] if back["reversible"] else None,
    },
)

phase("Simulate")
simulated = (
    await agent("Walk through:\n" + "\n".join(f"{step.name}: {step.sql}" for step in order))
    if order
    else None
)
return {
    "order": [step.name for step in order],
    "irreversible": [b["name"] for b in backs if b and not b["down"]],
    "said": simulated,
}
