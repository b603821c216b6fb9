"""A playbook for incidents: many steps with conditions, kept in one long file, as playbooks are."""

meta = {
    "name": "playbook",
    "description": "Walk through a long playbook, skipping what does not apply, and report what was done",
    "phases": [{"title": "Assess"}, {"title": "Act"}, {"title": "Report"}],
}

STEPS = [
    {
        "id": "database-1",
        "kind": "database",
        "do": "For the database: look at the graphs of the last hour.",
        "needs": [],
        "minutes": 3,
    },
    {
        "id": "database-2",
        "kind": "database",
        "do": "For the database: compare with the last deploy.",
        "needs": ["database-1"],
        "minutes": 4,
    },
    {
        "id": "database-3",
        "kind": "database",
        "do": "For the database: find the first error in the logs.",
        "needs": ["database-2"],
        "minutes": 5,
    },
    {
        "id": "database-4",
        "kind": "database",
        "do": "For the database: name who must be told.",
        "needs": ["database-3"],
        "minutes": 6,
    },
    {
        "id": "network-5",
        "kind": "network",
        "do": "For the network: look at the graphs of the last hour.",
        "needs": [],
        "minutes": 2,
    },
    {
        "id": "network-6",
        "kind": "network",
        "do": "For the network: compare with the last deploy.",
        "needs": ["network-5"],
        "minutes": 3,
    },
    {
        "id": "network-7",
        "kind": "network",
        "do": "For the network: find the first error in the logs.",
        "needs": ["network-6"],
        "minutes": 4,
    },
    {
        "id": "network-8",
        "kind": "network",
        "do": "For the network: name who must be told.",
        "needs": ["network-7"],
        "minutes": 5,
    },
    {
        "id": "deploy-9",
        "kind": "deploy",
        "do": "For the deploy: look at the graphs of the last hour.",
        "needs": [],
        "minutes": 6,
    },
    {
        "id": "deploy-10",
        "kind": "deploy",
        "do": "For the deploy: compare with the last deploy.",
        "needs": ["deploy-9"],
        "minutes": 2,
    },
    {
        "id": "deploy-11",
        "kind": "deploy",
        "do": "For the deploy: find the first error in the logs.",
        "needs": ["deploy-10"],
        "minutes": 3,
    },
    {
        "id": "deploy-12",
        "kind": "deploy",
        "do": "For the deploy: name who must be told.",
        "needs": ["deploy-11"],
        "minutes": 4,
    },
    {
        "id": "queue-13",
        "kind": "queue",
        "do": "For the queue: look at the graphs of the last hour.",
        "needs": [],
        "minutes": 5,
    },
    {
        "id": "queue-14",
        "kind": "queue",
        "do": "For the queue: compare with the last deploy.",
        "needs": ["queue-13"],
        "minutes": 6,
    },
    {
        "id": "queue-15",
        "kind": "queue",
        "do": "For the queue: find the first error in the logs.",
        "needs": ["queue-14"],
        "minutes": 2,
    },
    {
        "id": "queue-16",
        "kind": "queue",
        "do": "For the queue: name who must be told.",
        "needs": ["queue-15"],
        "minutes": 3,
    },
    {
        "id": "cache-17",
        "kind": "cache",
        "do": "For the cache: look at the graphs of the last hour.",
        "needs": [],
        "minutes": 4,
    },
    {
        "id": "cache-18",
        "kind": "cache",
        "do": "For the cache: compare with the last deploy.",
        "needs": ["cache-17"],
        "minutes": 5,
    },
    {
        "id": "cache-19",
        "kind": "cache",
        "do": "For the cache: find the first error in the logs.",
        "needs": ["cache-18"],
        "minutes": 6,
    },
    {
        "id": "cache-20",
        "kind": "cache",
        "do": "For the cache: name who must be told.",
        "needs": ["cache-19"],
        "minutes": 2,
    },
    {
        "id": "login-21",
        "kind": "login",
        "do": "For the login: look at the graphs of the last hour.",
        "needs": [],
        "minutes": 3,
    },
    {
        "id": "login-22",
        "kind": "login",
        "do": "For the login: compare with the last deploy.",
        "needs": ["login-21"],
        "minutes": 4,
    },
    {
        "id": "login-23",
        "kind": "login",
        "do": "For the login: find the first error in the logs.",
        "needs": ["login-22"],
        "minutes": 5,
    },
    {
        "id": "login-24",
        "kind": "login",
        "do": "For the login: name who must be told.",
        "needs": ["login-23"],
        "minutes": 6,
    },
    {
        "id": "payments-25",
        "kind": "payments",
        "do": "For the payments: look at the graphs of the last hour.",
        "needs": [],
        "minutes": 2,
    },
    {
        "id": "payments-26",
        "kind": "payments",
        "do": "For the payments: compare with the last deploy.",
        "needs": ["payments-25"],
        "minutes": 3,
    },
    {
        "id": "payments-27",
        "kind": "payments",
        "do": "For the payments: find the first error in the logs.",
        "needs": ["payments-26"],
        "minutes": 4,
    },
    {
        "id": "payments-28",
        "kind": "payments",
        "do": "For the payments: name who must be told.",
        "needs": ["payments-27"],
        "minutes": 5,
    },
    {
        "id": "search-29",
        "kind": "search",
        "do": "For the search: look at the graphs of the last hour.",
        "needs": [],
        "minutes": 6,
    },
    {
        "id": "search-30",
        "kind": "search",
        "do": "For the search: compare with the last deploy.",
        "needs": ["search-29"],
        "minutes": 2,
    },
    {
        "id": "search-31",
        "kind": "search",
        "do": "For the search: find the first error in the logs.",
        "needs": ["search-30"],
        "minutes": 3,
    },
    {
        "id": "search-32",
        "kind": "search",
        "do": "For the search: name who must be told.",
        "needs": ["search-31"],
        "minutes": 4,
    },
    {
        "id": "files-33",
        "kind": "files",
        "do": "For the files: look at the graphs of the last hour.",
        "needs": [],
        "minutes": 5,
    },
    {
        "id": "files-34",
        "kind": "files",
        "do": "For the files: compare with the last deploy.",
        "needs": ["files-33"],
        "minutes": 6,
    },
    {
        "id": "files-35",
        "kind": "files",
        "do": "For the files: find the first error in the logs.",
        "needs": ["files-34"],
        "minutes": 2,
    },
    {
        "id": "files-36",
        "kind": "files",
        "do": "For the files: name who must be told.",
        "needs": ["files-35"],
        "minutes": 3,
    },
    {
        "id": "mail-37",
        "kind": "mail",
        "do": "For the mail: look at the graphs of the last hour.",
        "needs": [],
        "minutes": 4,
    },
    {
        "id": "mail-38",
        "kind": "mail",
        "do": "For the mail: compare with the last deploy.",
        "needs": ["mail-37"],
        "minutes": 5,
    },
    {
        "id": "mail-39",
        "kind": "mail",
        "do": "For the mail: find the first error in the logs.",
        "needs": ["mail-38"],
        "minutes": 6,
    },
    {
        "id": "mail-40",
        "kind": "mail",
        "do": "For the mail: name who must be told.",
        "needs": ["mail-39"],
        "minutes": 2,
    },
]

ASSESS = {
    "type": "object",
    "required": ["kinds"],
    "properties": {"kinds": {"type": "array", "items": {"enum": ["database", "deploy"]}}},
}
DONE = {
    "type": "object",
    "required": ["ok", "note"],
    "properties": {"ok": {"type": "boolean"}, "note": {"type": "string"}},
}

phase("Assess")
told = (args or {}).get("incident", "Checkout answers with 502 since ten past nine.")
assessed = await agent(f"Which parts may be involved?\n{told}", schema=ASSESS)
kinds = set(assessed["kinds"]) if assessed else {step["kind"] for step in STEPS[:4]}
wanted = [step for step in STEPS if step["kind"] in kinds]
by_id = {step["id"]: step for step in wanted}
done = {}


async def perform(step):
    for need in step["needs"]:
        await tasks[need]
        if not done[need]:
            log(f"{step['id']} is skipped: {need} did not work")
            done[step["id"]] = False
            return
    answer = await agent(step["do"], label=step["id"], schema=DONE, timeout=step["minutes"] * 60)
    done[step["id"]] = bool(answer and answer["ok"])


phase("Act")
tasks = {}
for step in wanted:
    tasks[step["id"]] = asyncio.create_task(perform(step))
await asyncio.gather(*tasks.values())

phase("Report")
worked = [name for name in by_id if done[name]]
report = await agent(f"Report: {len(worked)} of {len(wanted)} steps worked.\n{told}")
return {"kinds": sorted(kinds), "worked": len(worked), "of": len(wanted), "report": report}
