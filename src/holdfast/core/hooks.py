"""Hooks: programs and addresses that are told of what happens in a chat, and what one run of them came to."""

from datetime import datetime
from typing import Literal, get_args

from holdfast.core.ids import CallId, ChatId, UserId
from holdfast.core.shapes import Json, Record

EventName = Literal[
    "user_prompt", "pre_tool", "post_tool", "turn_end", "agent_end", "needs_you", "pre_compact", "run_end"
]
EVENTS: tuple[EventName, ...] = get_args(EventName)
# passed: nothing to say.  changed: it changed the input or added something.  blocked: it objected.
HookOutcome = Literal["passed", "changed", "blocked", "failed", "timed_out"]
Ruling = Literal["none", "allow", "ask", "deny"]


class HappenedEvent(Record, frozen=True, kw_only=True):
    """Something that happened, for those that are told afterwards. Its id is made from what happened, so it
    is stored once."""

    id: str
    event: EventName
    owner_id: UserId
    chat_id: ChatId | None
    data: dict[str, Json]
    created_at: datetime


class HookVerdict(Record, frozen=True, kw_only=True):
    """What a hook wants. `input` is a changed input, in the words the hook was asked in."""

    ruling: Ruling = "none"
    reason: str = ""
    input: dict[str, Json] | None = None
    # For the model.
    context: str = ""
    # For the person.
    message: str = ""
    # The turn is to end.
    stop: bool = False
    # Why its answer does not count.
    failure: str | None = None


class HookRun(Record, frozen=True, kw_only=True):
    """One run of a hook. `key` names what it was about, and with the hook and `part` it is unique in a chat:
    a run that is recorded is not repeated. `part` counts the pieces of one call that were asked about."""

    id: str
    owner_id: UserId
    chat_id: ChatId | None
    turn: int
    key: str
    hook_id: str
    part: int = 0
    event: EventName
    name: str
    call_id: CallId | None = None
    outcome: HookOutcome
    verdict: HookVerdict = HookVerdict()
    exit_code: int | None = None
    # The beginning of what it printed, or of what was wrong.
    output: str = ""
    started_at: datetime
    finished_at: datetime
    revision: int = 0
