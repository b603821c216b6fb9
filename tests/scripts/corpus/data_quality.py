"""Checks tables of a warehouse by rules that agents propose; rules that find nothing wrong are kept as guards."""

meta = {
    "name": "data-quality",
    "description": "Propose checks per table, run them, keep guards, report violations",
    "phases": [{"title": "Propose"}, {"title": "Run"}, {"title": "Report"}],
}

import itertools
import statistics
from typing import NamedTuple


class Check(NamedTuple):
    table: str
    rule: str
    column: str


class NoTables(ValueError):
    def __init__(self, given):
        super().__init__(f"no tables in {given!r}", given)
        self.given = given


RULES = {
    "type": "object",
    "required": ["rules"],
    "properties": {
        "rules": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["rule", "column"],
                "properties": {"rule": {"type": "string"}, "column": {"type": "string"}},
            },
        }
    },
}
RUN = {
    "type": "object",
    "required": ["violations", "rows"],
    "properties": {
        "violations": {"type": "integer", "minimum": 0},
        "rows": {"type": "integer", "minimum": 100},
    },
}

tables = args["tables"] if args and "tables" in args else ["orders", "customers"]
if not tables:
    raise NoTables(args)

phase("Propose")
proposed = await pipeline(
    tables,
    lambda table: agent(f"Which rules must hold in {table}?", label=table, schema=RULES),
    lambda answer, table: [Check(table, rule["rule"], rule["column"]) for rule in answer["rules"]],
)
checks = list(itertools.chain.from_iterable(one for one in proposed if one))
log(f"{len(checks)} checks for {len(tables)} tables")

phase("Run")
semaphore = asyncio.Semaphore(2)


async def run(check):
    async with semaphore:
        return check, await agent(
            f"Run on {check.table}.{check.column}: {check.rule}", label=check.rule, schema=RUN
        )


guards, violations, rates = [], [], []
for done in asyncio.as_completed([run(check) for check in checks]):
    check, answer = await done
    if answer is None:
        continue
    rates.append(answer["violations"] / answer["rows"])
    (violations if answer["violations"] else guards).append(check._asdict())

phase("Report")
worst = max(violations, key=lambda check: check["rule"], default=None)
mean = statistics.fmean(rates) if rates else None
return {"guards": sorted(guards, key=str), "violations": len(violations), "worst": worst, "mean": mean}
