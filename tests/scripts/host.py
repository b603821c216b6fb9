"""A host for scripts that lives in memory: a function answers the agents, and everything said is kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import msgspec

from holdfast.core.runs import Language
from holdfast.core.shapes import Json
from holdfast.scripts.engines.limits import ScriptLimits
from holdfast.scripts.engines.messages import (
    AgentCall,
    Call,
    CallAnswer,
    CallError,
    PauseCall,
    PhaseBegun,
    Said,
    ScriptDone,
    ScriptFailed,
    ScriptLog,
    ScriptStart,
    ScriptTurn,
    ScriptWaiting,
    Warned,
    WorkflowCall,
)
from holdfast.scripts.engines.sandbox import Sandbox
from holdfast.scripts.source import Script, read_script

META = {
    "javascript": "export const meta = {name: 'test', description: 'a test'}\n",
    "python": 'meta = {"name": "test", "description": "a test"}\n',
}
QUICK = ScriptLimits(cpu_seconds=20)

T = TypeVar("T")
Answers = Callable[[Call], Json | CallError]


def echo(call: Call) -> Json | CallError:
    """What an agent says unless a test has it say something else."""
    match call:
        case AgentCall(prompt=prompt):
            return f"<{prompt}>"
        case WorkflowCall(name=name, script_path=path, args=args):
            return {"ran": name or path, "args": None if args is msgspec.UNSET else args}
        case PauseCall():
            return None


def first(calls: Sequence[Call]) -> Call:
    return calls[0]


def last(calls: Sequence[Call]) -> Call:
    return calls[-1]


def agents_first(calls: Sequence[Call]) -> Call:
    """Agents are quicker than the pauses they are raced with."""
    return min(calls, key=lambda call: isinstance(call, PauseCall))


@dataclass
class Ran:
    """A script that has ended."""

    stop: ScriptDone | ScriptFailed
    said: list[Said] = field(default_factory=list[Said])
    turns: list[ScriptTurn] = field(default_factory=list[ScriptTurn])
    answers: list[CallAnswer] = field(default_factory=list[CallAnswer])
    unanswered: list[Call] = field(default_factory=list[Call])

    @property
    def value(self) -> Json:
        assert isinstance(self.stop, ScriptDone), str(self.stop)[:500]
        return self.stop.value

    @property
    def members(self) -> dict[str, Any]:
        """Of a result that is an object."""
        value = self.value
        assert isinstance(value, dict)
        return cast(dict[str, Any], value)

    @property
    def failure(self) -> ScriptFailed:
        assert isinstance(self.stop, ScriptFailed), str(self.stop)[:500]
        return self.stop

    @property
    def agents(self) -> list[AgentCall]:
        return self._of(AgentCall)

    @property
    def prompts(self) -> list[str]:
        return [call.prompt for call in self.agents]

    @property
    def workflows(self) -> list[WorkflowCall]:
        return self._of(WorkflowCall)

    @property
    def pauses(self) -> list[PauseCall]:
        return self._of(PauseCall)

    @property
    def log(self) -> list[str]:
        return [said.text for said in self._of(ScriptLog)]

    @property
    def warnings(self) -> list[str]:
        return [said.text for said in self._of(Warned)]

    @property
    def phases(self) -> list[str]:
        return [said.title for said in self._of(PhaseBegun)]

    def _of(self, kind: type[T]) -> list[T]:
        return [said for said in self.said if isinstance(said, kind)]


async def run_script(
    language: Language,
    body: str,
    *,
    answers: Answers = echo,
    choose: Callable[[Sequence[Call]], Call] = first,
    args: Json | msgspec.UnsetType = msgspec.UNSET,
    budget: int | None = None,
    cost: int = 10,
    nested: bool = False,
    limits: ScriptLimits = QUICK,
    meta: bool = True,
    wall: Sequence[str] = (),
) -> Ran:
    """Answers one open call after the other, each for the same number of tokens."""
    script = read_script(META[language] + body if meta else body, language)
    async with await Sandbox.open(language, wall) as sandbox:
        return await drive(
            sandbox,
            start_of(script, args=args, budget=budget, nested=nested, limits=limits),
            answers=answers,
            choose=choose,
            cost=cost,
        )


def start_of(
    script: Script,
    *,
    args: Json | msgspec.UnsetType = msgspec.UNSET,
    budget: int | None = None,
    nested: bool = False,
    limits: ScriptLimits = QUICK,
) -> ScriptStart:
    return ScriptStart(
        language=script.language,
        program=script.program,
        args=args,
        budget_total=budget,
        nested=nested,
        limits=limits,
    )


async def drive(
    sandbox: Sandbox,
    start: ScriptStart,
    *,
    answers: Answers = echo,
    choose: Callable[[Sequence[Call]], Call] = first,
    cost: int = 10,
) -> Ran:
    turn = await sandbox.start(start)
    waiting: list[Call] = []
    ran = Ran(ScriptDone(value=None))
    while True:
        ran.turns.append(turn)
        ran.said += turn.said
        waiting += [said for said in turn.said if isinstance(said, AgentCall | WorkflowCall | PauseCall)]
        if not isinstance(turn.stop, ScriptWaiting):
            ran.stop, ran.unanswered = turn.stop, waiting
            return ran
        call = choose(waiting)
        waiting.remove(call)
        answer = _answer(call, answers(call), cost * (len(ran.answers) + 1))
        ran.answers.append(answer)
        turn = await sandbox.answer(answer)


def _answer(call: Call, result: Json | CallError, spent: int) -> CallAnswer:
    if isinstance(result, CallError):
        return CallAnswer(call=call.number, spent=spent, error=result)
    return CallAnswer(call=call.number, spent=spent, value=result)
