"""Sorts reports: each is classified, duplicates are found, the urgent ones are looked into, all within a time."""

meta = {
    "name": "triage",
    "description": "Classify reports, find duplicates, look into what is urgent",
    "phases": [{"title": "Classify"}, {"title": "Group"}, {"title": "Look"}],
}

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import Enum


class Severity(Enum):
    LOW = 1
    HIGH = 2
    URGENT = 3

    @classmethod
    def read(cls, text):
        return cls[text.upper()]


@dataclass(order=True)
class Report:
    severity_value: int
    text: str = field(compare=False)
    area: str = field(compare=False, default="unknown")

    @property
    def urgent(self):
        return self.severity_value >= Severity.URGENT.value


CLASS = {
    "type": "object",
    "required": ["severity", "area"],
    "properties": {"severity": {"enum": ["urgent", "high", "low"]}, "area": {"enum": ["billing", "login"]}},
}
reports = (args or {}).get("reports", ["I was charged twice", "The button is grey", "I cannot sign in"])

phase("Classify")
answers = await parallel(
    [
        lambda text=text: agent(f"Classify this report:\n{text}", label=text[:30], schema=CLASS)
        for text in reports
    ]
)
found = [
    Report(Severity.read(answer["severity"]).value, text, answer["area"])
    for text, answer in zip(reports, answers, strict=True)
    if answer
]

phase("Group")
groups = defaultdict(list)
for report in sorted(found, reverse=True):
    groups[report.area].append(report)
log("areas:", dict(Counter(report.area for report in found)))

phase("Look")


async def look(report):
    try:
        return await asyncio.wait_for(agent(f"Find the cause of: {report.text}", effort="high"), timeout=600)
    except TimeoutError:
        return "took too long"


causes = await asyncio.gather(*(look(report) for report in found if report.urgent))
return {
    "reports": len(reports),
    "areas": {area: [report.text for report in members] for area, members in groups.items()},
    "causes": causes,
}
