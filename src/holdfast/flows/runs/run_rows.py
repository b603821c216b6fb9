"""The rows of one run while it is driven: what was read, what the next write will contain, and the version
it is based on."""

from collections.abc import Iterable
from datetime import datetime

from holdfast.chats.commands import DeliveryKey
from holdfast.core.flow_runs import FlowDetails, FlowLine, FlowRun, FlowStep
from holdfast.core.ids import ChatId, RunId
from holdfast.core.text import one_line
from holdfast.store.flow_rows import FlowEnding, FlowEntries, StepMove

MAX_LINES = 2000
LINE_LENGTH = 4000


class RunRows:
    def __init__(self, details: FlowDetails) -> None:
        self.run: FlowRun = details.run
        self.version = details.run.version
        self.spent = details.run.budget.spent_tokens, details.run.budget.spent_usd_micros
        self.steps: dict[str, FlowStep] = {row.id: row for row in details.steps}
        self._stored = dict(self.steps)
        self._lines = max((line.number for line in details.lines), default=0)
        self._said: list[FlowLine] = []
        self._taken: list[DeliveryKey] = []
        self._touched: set[str] = set()

    def put(self, row: FlowStep) -> None:
        self.steps[row.id] = row

    def touch(self, step_id: str) -> None:
        """Writes the row unchanged, so that watchers look at it again."""
        self._touched.add(step_id)

    def take(self, keys: Iterable[DeliveryKey]) -> None:
        self._taken += keys

    def say(self, now: datetime, text: str, *, step_id: str | None = None, warning: bool = False) -> None:
        if self._lines >= MAX_LINES:
            return
        self._lines += 1
        said = text if len(text) <= LINE_LENGTH else one_line(text, LINE_LENGTH)
        kind = "warning" if warning else "log"
        self._said.append(FlowLine(number=self._lines, kind=kind, text=said, at=now, step_id=step_id))

    @property
    def changed(self) -> list[FlowStep]:
        """Steps that the next write contains."""
        return [row for row in self.steps.values() if row != self._stored[row.id] or row.id in self._touched]

    @property
    def moved(self) -> list[FlowStep]:
        """Steps whose state or attempt has changed since the last write."""
        before = self._stored
        return [
            row
            for row in self.steps.values()
            if (row.state, row.attempt) != (before[row.id].state, before[row.id].attempt)
        ]

    def unwritten(
        self, key: str, *, ending: FlowEnding | None = None, waits: bool = False, wake_at: int | None = None
    ) -> FlowEntries | None:
        """What to write; None if nothing has changed."""
        moves = tuple(StepMove(before=self._stored[row.id], after=row) for row in self.changed)
        if not (moves or self._said or self._taken or ending or waits):
            return None
        return FlowEntries(
            key=key,
            moves=moves,
            lines=tuple(self._said),
            taken=tuple(self._taken),
            spent=self.spent,
            ending=ending,
            waits=waits,
            wake_at_micros=wake_at,
        )

    def written(self, version: int) -> None:
        self.version = version
        self._stored = dict(self.steps)
        self._said, self._taken, self._touched = [], [], set()

    def step_of_chat(self, chat_id: ChatId) -> FlowStep | None:
        """The running step that this chat is the current attempt of."""
        return next(
            (row for row in self.steps.values() if row.state == "running" and row.chat_id == chat_id), None
        )

    def step_of_run(self, run_id: RunId) -> FlowStep | None:
        return next(
            (row for row in self.steps.values() if row.state == "running" and row.workflow_run_id == run_id),
            None,
        )

    @property
    def budget_is_spent(self) -> bool:
        tokens = self.run.budget.tokens
        return tokens is not None and self.spent[0] >= tokens
