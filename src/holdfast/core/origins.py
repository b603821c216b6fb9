"""Where a chat comes from: a union tagged by `kind`, which never changes. A new kind of chat is a new member
here. Who waits for the chat's end, and whether it is listed, follows from its origin."""

from holdfast.core.ids import CallId, ChatId, FlowRunId, RunId
from holdfast.core.shapes import Record


class _Origin(Record, frozen=True, kw_only=True, tag_field="kind"):
    pass


class FromPerson(_Origin, frozen=True, kw_only=True, tag="person"):
    """Started by a person, by a program in a person's name, or imported."""


class FromChat(_Origin, frozen=True, kw_only=True, tag="chat"):
    """A sub-agent: the chat that started it, and the call that did."""

    chat_id: ChatId
    call_id: CallId | None = None


class FromRun(_Origin, frozen=True, kw_only=True, tag="run"):
    """An agent of a workflow run."""

    run_id: RunId


class FromFlowStep(_Origin, frozen=True, kw_only=True, tag="flow_step"):
    """An agent of a step of a flow's run."""

    flow_run_id: FlowRunId
    step_id: str


class FromFork(_Origin, frozen=True, kw_only=True, tag="fork"):
    """A person's copy of another chat, which may have been deleted since."""

    chat_id: ChatId


Origin = FromPerson | FromChat | FromRun | FromFlowStep | FromFork

PERSON = FromPerson()


def parent_of(origin: Origin) -> ChatId | None:
    return origin.chat_id if isinstance(origin, FromChat) else None


def parent_call_of(origin: Origin) -> CallId | None:
    return origin.call_id if isinstance(origin, FromChat) else None


def run_of(origin: Origin) -> RunId | None:
    """The run it works for, of a workflow or of a flow."""
    if isinstance(origin, FromFlowStep):
        return RunId(origin.flow_run_id)
    return origin.run_id if isinstance(origin, FromRun) else None


def is_agent(origin: Origin) -> bool:
    """Whether something other than a person waits for its end. Such a chat is not in the chat list and uses
    an agent's slot."""
    return isinstance(origin, (FromChat, FromRun, FromFlowStep))
