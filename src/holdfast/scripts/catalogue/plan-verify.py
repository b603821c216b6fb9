meta = {
    "name": "plan-verify",
    "description": "Plans a task, has the plan attacked, does it, and checks the result against the plan",
    "when_to_use": "A task that is too large to be done in one go and too important to be done twice",
    "phases": [
        {"title": "Plan"},
        {"title": "Attack", "detail": "Two agents look for what the plan forgets"},
        {"title": "Work", "detail": "One step after the other"},
        {"title": "Verify", "detail": "Each criterion by an agent that did not do the work"},
    ],
    "args": {
        "type": "object",
        "properties": {"task": {"type": "string", "minLength": 1}},
        "required": ["task"],
        "additionalProperties": False,
    },
}

task = args["task"]
PLAN = {
    "type": "object",
    "properties": {
        "steps": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 12},
        "criteria": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 12},
    },
    "required": ["steps", "criteria"],
}
VERDICT = {
    "type": "object",
    "properties": {"met": {"type": "boolean"}, "evidence": {"type": "string"}},
    "required": ["met", "evidence"],
}

phase("Plan")
plan = await agent(
    f"Plan this task: the steps in order, each small enough for one agent, and the criteria by which somebody else can "
    f"tell that it is done. Look at the code first; change nothing.\n\nTask: {task}",
    label="plan",
    schema=PLAN,
)
if not plan:
    raise ValueError("no plan was made")

phase("Attack")
doubts = await parallel(
    [
        lambda side=side: agent(
            f"Find what is wrong with this plan. You look at {side}. Be brief, and say so when nothing is wrong.\n\n"
            f"Task: {task}\n\nPlan: {json.dumps(plan)}",
            label=side,
        )
        for side in ["what it forgets", "what could break that works today"]
    ]
)
better = await agent(
    f"Revise the plan where these doubts are right.\n\nTask: {task}\n\nPlan: {json.dumps(plan)}\n\nDoubts: "
    + "\n---\n".join([doubt for doubt in doubts if doubt]),
    label="revise",
    schema=PLAN,
)
plan = better or plan

phase("Work")
done = []
for number, step in enumerate(plan["steps"], 1):
    report = await agent(
        f"Do step {number} of {len(plan['steps'])} of this task, and nothing beyond it. Say what you changed.\n\n"
        f"Task: {task}\n\nStep: {step}\n\nDone before: {json.dumps(done)}",
        label=f"{number}. {step[:50]}",
    )
    if not report:
        raise ValueError(f"step {number} did not end well: {step}")
    done.append(report)

phase("Verify")
verdicts = await parallel(
    [
        lambda criterion=criterion: agent(
            f"Check whether this criterion is met. Run what proves it; trust no report.\n\nTask: {task}\n\n"
            f"Criterion: {criterion}",
            label=criterion[:60],
            schema=VERDICT,
        )
        for criterion in plan["criteria"]
    ]
)
checked = [
    {"criterion": criterion, "met": bool(verdict and verdict["met"]), "evidence": verdict["evidence"] if verdict else None}
    for criterion, verdict in zip(plan["criteria"], verdicts)
]
return {"done": all([check["met"] for check in checked]), "criteria": checked, "steps": done}
