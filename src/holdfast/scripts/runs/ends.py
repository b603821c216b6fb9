"""What the end of an agent's turn means for the call that started it: a pure function of what the agent was
asked for and what it answered."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.core.calls import STRUCTURED_OUTPUT
from holdfast.core.runs import CallError, Ended
from holdfast.scripts.engines.messages import AgentCall
from holdfast.store.agent_ends import AgentEnd, Answered
from holdfast.tools.structured_output import CORRECTIONS


@dataclass(frozen=True, slots=True)
class CallFinished:
    """The call has ended; `remark` is what people should know about how."""

    ended: Ended
    remark: str | None = None


@dataclass(frozen=True, slots=True)
class Remind:
    """It has not answered through the tool: it is reminded, once."""


@dataclass(frozen=True, slots=True)
class KeepWaiting:
    """Its sub-agents are still working, and it continues when they have ended; or it already does."""


Meaning = CallFinished | Remind | KeepWaiting

# The answer of an agent that was stopped, skipped or deleted.
SKIPPED = Ended(outcome="cancelled")


def meaning(call: AgentCall, end: AgentEnd, answers: Sequence[Answered]) -> Meaning:
    name = name_of(call)
    match end.outcome:
        case "failed":
            reason = end.failure.message if end.failure else "no reason is known."
            return CallFinished(Ended(outcome="failed"), f"{name} failed: {reason}")
        case "interrupted":
            what = "deleted" if end.failure else "stopped"
            return CallFinished(SKIPPED, f"{name} was {what}.")
        case "finished":
            pass
    if call.options.schema is not None:
        return _structured(name, end, answers)
    if end.busy_below or end.goes_on:
        return KeepWaiting()
    if end.notice is not None and not end.said:
        return CallFinished(Ended(outcome="failed"), _limited(name, end))
    return CallFinished(Ended(outcome="succeeded", value=end.said), _limited(name, end))


def _structured(name: str, end: AgentEnd, answers: Sequence[Answered]) -> Meaning:
    good = [answer for answer in answers if answer.outcome == "succeeded"]
    if good:
        return CallFinished(Ended(outcome="succeeded", value=good[-1].value))
    misfits = sum(answer.outcome == "failed" for answer in answers)
    if misfits > CORRECTIONS:
        return _thrown(f"{name} gave no answer that fits its schema, also after {CORRECTIONS} corrections")
    if end.busy_below or end.goes_on:
        return KeepWaiting()
    if end.asked < 2:
        return Remind()
    return _thrown(f"{name} did not answer through {STRUCTURED_OUTPUT}, also after a reminder")


def _thrown(text: str) -> CallFinished:
    return CallFinished(Ended(outcome="failed", error=CallError(kind="failed", message=text)), f"{text}.")


def _limited(name: str, end: AgentEnd) -> str | None:
    return None if end.notice is None else f"{name} was ended by a limit: {end.notice.text}"


def name_of(call: AgentCall) -> str:
    return f"The agent “{call.options.label}”" if call.options.label else f"Agent {call.number}"
