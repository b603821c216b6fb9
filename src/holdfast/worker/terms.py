"""The limits on an agent of a workflow run, besides the settings of its chat: the schema of its answer, how
many steps and tool calls it may make. What it has done so far is counted from its rows once a turn, then
kept."""

from collections.abc import Iterable

from msgspec.structs import replace

from holdfast.chats.commands import NewCall
from holdfast.chats.view import Call
from holdfast.core.calls import STRUCTURED_OUTPUT
from holdfast.core.failures import Failure
from holdfast.core.runs import AgentTerms
from holdfast.tools.contract import Tool
from holdfast.tools.structured_output import CORRECTIONS, answer_tool


class Terms:
    def __init__(self, agreed: AgentTerms, made: Iterable[Call]) -> None:
        self._agreed = agreed
        self._calls = 0
        self._misfits = 0
        for call in made:
            self._count(call.name, call.outcome)

    @property
    def steps(self) -> int | None:
        return self._agreed.max_steps

    @property
    def answer(self) -> Tool | None:
        return None if self._agreed.schema is None else answer_tool(self._agreed.schema)

    @property
    def has_tools(self) -> bool:
        """Whether the agent may use any tool besides the one that it gives its answer with."""
        return self._agreed.max_tool_calls != 0

    @property
    def limit(self) -> Failure | None:
        """Why the turn of this agent has to end. None: it may go on."""
        if self._misfits <= CORRECTIONS:
            return None
        return Failure(
            kind="answer_invalid",
            message=f"The answer did not match its schema, even after {CORRECTIONS} corrections.",
        )

    def judge(self, calls: Iterable[NewCall]) -> tuple[NewCall, ...]:
        """The calls of a step; those beyond the limit are answered at once."""
        judged: list[NewCall] = []
        most = self._agreed.max_tool_calls
        for call in calls:
            if most is not None and call.name != STRUCTURED_OUTPUT and self._calls >= most:
                text = f"You may make {most} tool calls, and they are used up. Answer with what you have."
                call = replace(call, outcome="denied", output=text, waits_for=None, effect="read")
            self._count(call.name, call.outcome)
            judged.append(call)
        return tuple(judged)

    def _count(self, name: str, outcome: str | None) -> None:
        if name == STRUCTURED_OUTPUT:
            self._misfits += outcome == "failed"
        else:
            self._calls += 1
