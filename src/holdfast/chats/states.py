"""The fourteen states a chat can be in, and how to recognise them from a view. Anything else is INVALID and
needs `reconcile`."""

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from holdfast.chats.view import Call, Execution, Queued


class State(Enum):
    NONE = "none"
    IDLE = "idle"
    IDLE_HELD = "idle with held queue"
    ERROR = "error"
    ERROR_QUEUE = "error with queue"
    RUNNING = "running"
    RUNNING_QUEUE = "running with queue"
    INTERRUPTING = "interrupting"
    INTERRUPTING_QUEUE = "interrupting with queue"
    ACTION = "requires_action"
    ACTION_QUEUE = "requires_action with queue"
    ARCHIVED_IDLE = "archived idle"
    ARCHIVED_ERROR = "archived error"
    ARCHIVED_ERROR_QUEUE = "archived error with queue"
    INVALID = "invalid"

    # Members are singletons: identity is enough, and far faster than hashing the name at each look-up.
    __hash__ = object.__hash__


class Looked(Protocol):
    """What determines the state: a view, or the draft of its change."""

    @property
    def chat(self) -> Execution: ...

    @property
    def queue(self) -> Sequence[Queued]: ...

    @property
    def calls(self) -> Sequence[Call]: ...


VALID = tuple(state for state in State if state is not State.INVALID)


def state_of(view: Looked | None) -> State:
    if view is None:
        return State.NONE
    chat = view.chat
    if chat.status == "running" and not chat.archived:
        # The usual case; nothing can be wrong with it.
        return State.RUNNING_QUEUE if view.queue else State.RUNNING
    state = _BY_STATUS.get((chat.status, bool(view.queue), chat.archived), State.INVALID)
    return State.INVALID if flaw(view) else state


def flaw(view: Looked) -> str | None:
    """What makes a view invalid, in words; None if it is valid."""
    chat = view.chat
    match chat.status:
        case "idle" | "error":
            if any(not call.abandoned for call in view.calls):
                return f"it is {chat.status} with unanswered calls"
            if chat.lease is not None:
                return f"it is {chat.status} and owned by a worker"
            if chat.status == "idle" and view.queue and not view.queue[0].held:
                return "it is idle while a message waits"
            if chat.status == "error" and chat.last_error is None:
                return "it is in error without a reason"
        case "requires_action":
            if not any(call.state == "waiting" and not call.abandoned for call in view.calls):
                return "it waits for an action that nobody is asked for"
            if chat.lease is not None:
                return "it waits for an action and is owned by a worker"
        case "running" | "interrupting":
            pass
    if (chat.status, bool(view.queue), chat.archived) not in _BY_STATUS:
        return "it is archived " + ("with a queue" if chat.status == "idle" else "and busy")
    return None


_BY_STATUS = {
    ("idle", False, False): State.IDLE,
    ("idle", True, False): State.IDLE_HELD,
    ("error", False, False): State.ERROR,
    ("error", True, False): State.ERROR_QUEUE,
    ("running", False, False): State.RUNNING,
    ("running", True, False): State.RUNNING_QUEUE,
    ("interrupting", False, False): State.INTERRUPTING,
    ("interrupting", True, False): State.INTERRUPTING_QUEUE,
    ("requires_action", False, False): State.ACTION,
    ("requires_action", True, False): State.ACTION_QUEUE,
    ("idle", False, True): State.ARCHIVED_IDLE,
    ("error", False, True): State.ARCHIVED_ERROR,
    ("error", True, True): State.ARCHIVED_ERROR_QUEUE,
}
