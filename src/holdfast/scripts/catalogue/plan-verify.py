meta = {
    "name": "plan-verify",
    "description": "Plans a task, has the plan attacked, does it, and checks the result against the plan",
    "when_to_use": "A task that is too large to be done in one go and too important to be done twice",
    "phases": [
        {"title": "Plan"},
        {"title": "Attack", "detail": "Two agents look for what the plan forgets"},
        {"title": "Work", "detail": "One step after the other"},
        {"title": "Verify", "detail": "Each criterion by an agent that did not do the work; what is not met is repaired once"},
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


async def work(number, step, note):
    return await agent(
        f"Do step {number} of {len(plan['steps'])} of this task, and nothing beyond it. Say what you changed.\n\n"
        f"Task: {task}\n\nStep: {step}\n\nDone before: {json.dumps(done)}{note}",
        label=f"{number}. {step[:50]}",
    )


async def check(criterion):
    verdict = await agent(
        f"Check whether this criterion is met. Run what proves it; trust no report.\n\nTask: {task}\n\n"
        f"Criterion: {criterion}",
        label=criterion[:60],
        schema=VERDICT,
        phase="Verify",
    )
    evidence = verdict["evidence"] if verdict else "nobody could check it"
    return {"criterion": criterion, "met": bool(verdict and verdict["met"]), "evidence": evidence}


phase("Work")
done = []
failed = []
for number, step in enumerate(plan["steps"], 1):
    report = await work(number, step, "")
    if not report:
        report = await work(number, step, "\n\nA first try at this step failed: look at what is there before you begin.")
    if report:
        done.append(report)
    else:
        # The others may still be worth it, and the check says what is missing.
        failed.append(step)
        done.append(f"Step {number} failed twice and is not done: {step}")
        log(f"step {number} failed twice: {step}")
    if len(failed) == 2:
        raise ValueError(f"two steps did not end well: {'; '.join(failed)}")

phase("Verify")
checked = await parallel([lambda criterion=criterion: check(criterion) for criterion in plan["criteria"]])
missing = [one for one in checked if one and not one["met"]]

if missing:
    repaired = await agent(
        f"A task was done, and the checks below say what is still wrong. Repair exactly that, then say what you changed.\n\n"
        f"Task: {task}\n\nDone: {json.dumps(done)}\n\nNot met: {json.dumps(missing)}",
        label="repair",
        phase="Work",
    )
    if repaired:
        done.append(repaired)
        again = await parallel([lambda one=one: check(one["criterion"]) for one in missing])
        news = {one["criterion"]: one for one in again if one}
        checked = [news.get(one["criterion"], one) if one else one for one in checked]

checked = [one for one in checked if one]
met = len(checked) == len(plan["criteria"]) and all([one["met"] for one in checked])
return {"done": met, "criteria": checked, "steps": done, "failed_steps": failed}
