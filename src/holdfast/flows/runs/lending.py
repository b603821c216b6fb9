"""Answers of an earlier run that a new run may reuse, found by the hash of everything that determines them.
Answers of agents that can read the workspace are reused only while it is as the earlier run left it."""

from dataclasses import dataclass, field
from typing import Self

from holdfast.core.flow_runs import FlowDetails, FlowRun, FlowStep
from holdfast.scripts.engines.messages import AgentCall
from holdfast.scripts.runs.reuse import is_as_left, reads_workspace


@dataclass
class Lent:
    steps: dict[str, list[FlowStep]] = field(default_factory=dict[str, list[FlowStep]])
    is_as_left: bool = True
    # How many answers could not be reused because the workspace has changed.
    withheld: int = 0

    @classmethod
    def of(cls, lender: FlowDetails, run: FlowRun) -> Self:
        made = cls(is_as_left=is_as_left(run, lender.run))
        for row in lender.steps:
            if row.kind == "agent" and row.state == "succeeded" and row.hash is not None:
                made.steps.setdefault(row.hash, []).append(row)
        return made

    def take(self, run: FlowRun, call: AgentCall, found: str) -> FlowStep | None:
        """Each answer is used once: two steps with the same request get two answers."""
        rows = self.steps.get(found)
        if not rows:
            return None
        if not self.is_as_left and reads_workspace(run, call):
            self.withheld += 1
            return None
        return rows.pop(0)
