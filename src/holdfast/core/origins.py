"""Where a chat comes from, tagged by `kind`. It never changes. A chat of a new kind is a new member here; who
waits for the chat's end, and whether it is listed, follows from it."""

from holdfast.core.ids import CallId, ChatId, RunId
from holdfast.core.shapes import Record


class _Origin(Record, frozen=True, kw_only=True, tag_field="kind"):
    pass


class FromPerson(_Origin, frozen=True, kw_only=True, tag="person"):
    """A person, or a program in a person's name; also what was imported."""


class FromChat(_Origin, frozen=True, kw_only=True, tag="chat"):
    """A sub-agent: the chat that started it, and the call that did."""

    chat_id: ChatId
    call_id: CallId | None = None


class FromRun(_Origin, frozen=True, kw_only=True, tag="run"):
    """An agent of a workflow's run."""

    run_id: RunId


class FromFork(_Origin, frozen=True, kw_only=True, tag="fork"):
    """A person's copy of another chat, which may be gone by now."""

    chat_id: ChatId


Origin = FromPerson | FromChat | FromRun | FromFork

PERSON = FromPerson()


def parent_of(origin: Origin) -> ChatId | None:
    return origin.chat_id if isinstance(origin, FromChat) else None


def parent_call_of(origin: Origin) -> CallId | None:
    return origin.call_id if isinstance(origin, FromChat) else None


def run_of(origin: Origin) -> RunId | None:
    return origin.run_id if isinstance(origin, FromRun) else None


def is_agent(origin: Origin) -> bool:
    """Whether somebody else than a person waits for its end: it is not in the list of chats, and counts as an
    agent where capacity is counted."""
    return isinstance(origin, (FromChat, FromRun))
