"""Views, items, calls and commands for tests of the state machine, short to write."""

from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from holdfast.chats.change import Change, Refusal
from holdfast.chats.commands import Command, CommitStep, Fence, NewCall, NewMessage, NewStep
from holdfast.chats.decide import decide
from holdfast.chats.facts import NO_FACTS, Facts
from holdfast.chats.view import Call, CallState, Execution, InboxNotice, Lease, Queued, View
from holdfast.core.chats import Settings, Status
from holdfast.core.clock import to_micros
from holdfast.core.failures import Failure
from holdfast.core.ids import CallId, ChatId, MessageId, NoticeId, QueueItemId, UserId, WorkerId
from holdfast.core.messages import Busy, Message
from holdfast.core.parts import Parts, Text, ToolCall, ToolResult

NOW = datetime(2026, 5, 6, 7, 8, 9, 123_456, tzinfo=UTC)
CHAT = ChatId("019df000-0000-7000-8000-00000000c0de")
PARENT = ChatId("019df000-0000-7000-8000-0000000000aa")
OWNER = UserId("019df000-0000-7000-8000-00000000beef")
WORKER = WorkerId("019df000-0000-7000-8000-0000000000d0")
LATER_WORKER = WorkerId("019df000-0000-7000-8000-0000000000d1")
FAILURE = Failure(kind="server", message="The provider answered 500.")
LIVE_LEASE = Lease(worker_id=WORKER, number=3, expires_at=NOW + timedelta(seconds=10))
EXPIRED_LEASE = replace(LIVE_LEASE, expires_at=NOW - timedelta(seconds=1))
FENCE = Fence(lease_number=3)
SETTINGS = Settings(title="A title")
STEP = NewStep(started_at=NOW)


class CountedIds:
    """Ids that can be foretold: the same after the same `restart`."""

    def __init__(self) -> None:
        self._count = 0

    def restart(self, at: int) -> None:
        """Ids of different restarts differ."""
        self._count = at << 20

    def uuid7(self, now: datetime, after: str | None = None) -> str:
        self._count += 1
        value = (to_micros(now) // 1000) << 80 | 7 << 76 | 2 << 62 | self._count
        if after is not None:
            value = max(value, int(after.replace("-", ""), 16) + 1)
        digits = f"{value:032x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def token(self) -> str:
        self._count += 1
        return f"token-{self._count}"


def numbered(n: int) -> str:
    """The n-th of some ids."""
    return f"019df000-0000-7000-8000-{n:012x}"


def text(content: str) -> Parts:
    return (Text(text=content),)


def view(
    status: Status = "running",
    *,
    queue: tuple[Queued, ...] = (),
    inbox: tuple[InboxNotice, ...] = (),
    calls: tuple[Call, ...] = (),
    **chat: Any,
) -> View:
    """A chat in its second turn. Running and interrupting ones are leased, those in error say why."""
    defaults: dict[str, Any] = {
        "id": CHAT,
        "owner_id": OWNER,
        "root_id": CHAT,
        "status": status,
        "version": 7,
        "history_version": 6,
        "queue_version": 4,
        "retry_version": 2,
        "lease_number": 3,
        "lease": LIVE_LEASE if status in ("running", "interrupting") else None,
        "turn": 2,
        "turn_steps": 1,
        "last_error": FAILURE if status == "error" else None,
        "last_message_id": MessageId(numbered(0x900)),
        "message_count": 4,
        "created_at": NOW - timedelta(hours=2),
        "updated_at": NOW - timedelta(hours=1),
        "active_at": NOW - timedelta(hours=1),
    }
    placed = tuple(replace(item, place=place) for place, item in enumerate(queue))
    return View(chat=Execution(**{**defaults, **chat}), queue=placed, inbox=inbox, calls=calls)


def item(n: int, busy: Busy = "queue", *, held: bool = False, lapsed: bool = False, **more: Any) -> Queued:
    """The n-th queue item; its hold's token is `hold-n`."""
    until = NOW + timedelta(seconds=-1 if lapsed else 60)
    return Queued(
        id=QueueItemId(numbered(0x100 + n)),
        parts=text(f"item {n}"),
        busy=busy,
        place=n,
        hold_token=f"hold-{n}" if held or lapsed else None,
        hold_until=until if held or lapsed else None,
        created_by=OWNER,
        created_at=NOW - timedelta(minutes=30),
        **more,
    )


def notice(n: int, *, wake: bool = True) -> InboxNotice:
    return InboxNotice(
        id=NoticeId(numbered(0x200 + n)),
        source="agent",
        key=f"key-{n}",
        text=f"notice {n}",
        wake=wake,
        created_at=NOW - timedelta(minutes=5),
    )


def call(n: int, state: CallState = "pending", **more: Any) -> Call:
    """The n-th call of the newest step. Started ones run under the present lease, finished ones succeeded."""
    defaults: dict[str, Any] = {
        "call_id": CallId(f"call-{n}"),
        "message_id": MessageId(numbered(0x900)),
        "turn": 2,
        "position": n,
        "name": "execute",
        "state": state,
    }
    if state == "waiting":
        defaults |= {"waits_for": "approval"}
    if state in ("started", "finished"):
        defaults |= {"run": 1, "lease_number": 3, "started_at": NOW - timedelta(seconds=20)}
    if state == "finished":
        defaults |= {
            "outcome": "succeeded",
            "output": f"output {n}",
            "finished_at": NOW - timedelta(seconds=9),
        }
    return Call(**{**defaults, **more})


def uncertain_call(n: int, **more: Any) -> Call:
    """A call whose worker died: somebody must say what to do."""
    return call(
        n,
        "waiting",
        waits_for="uncertain",
        on_uncertain="ask",
        run=1,
        lease_number=2,
        started_at=NOW - timedelta(minutes=3),
        **{"fenced_until": NOW - timedelta(seconds=1), **more},
    )


def message(n: int, parts: Parts, role: Any = "user", **more: Any) -> Message:
    return Message(
        id=MessageId(numbered(0x500 + n)),
        chat_id=CHAT,
        turn=1,
        role=role,
        parts=parts,
        revision=n,
        created_at=NOW - timedelta(hours=1),
        **more,
    )


def tool_call(call_id: str, name: str = "execute", **more: Any) -> ToolCall:
    return ToolCall(call_id=CallId(call_id), name=name, input={}, **more)


def tool_result(call_id: str, output: object = "done") -> ToolResult:
    return ToolResult(call_id=CallId(call_id), name="execute", output=output, outcome="succeeded")


def new_call(call_id: str, **more: Any) -> NewCall:
    return NewCall(call_id=CallId(call_id), name="execute", **more)


def assistant(*call_ids: str, content: str = "hello", **more: Any) -> NewMessage:
    """What a model answers: a text, and calls."""
    parts: Parts = (*text(content), *(tool_call(call_id) for call_id in call_ids))
    return NewMessage(role="assistant", parts=parts, **more)


def step(*calls: NewCall, content: str = "hello") -> CommitStep:
    """The model's answer with these calls."""
    answer = assistant(*(asked.call_id for asked in calls), content=content)
    return CommitStep(step=STEP, messages=(answer,), calls=calls)


def decided(
    before: View | None,
    *commands: Command,
    facts: Facts = NO_FACTS,
    fence: Fence | None = None,
    now: datetime = NOW,
    chat_id: ChatId = CHAT,
) -> Change | Refusal:
    return decide(chat_id, before, commands, fence=fence, facts=facts, now=now, ids=CountedIds())


def changed(
    before: View | None,
    *commands: Command,
    facts: Facts = NO_FACTS,
    fence: Fence | None = None,
    now: datetime = NOW,
) -> Change:
    """The change that these commands make; refusals fail the test."""
    change = decided(before, *commands, facts=facts, fence=fence, now=now)
    assert isinstance(change, Change), change
    return change


def after(
    before: View | None,
    *commands: Command,
    facts: Facts = NO_FACTS,
    fence: Fence | None = None,
    now: datetime = NOW,
) -> View:
    """The view after these commands."""
    view = changed(before, *commands, facts=facts, fence=fence, now=now).after
    assert view is not None
    return view


def refused(
    before: View | None,
    *commands: Command,
    facts: Facts = NO_FACTS,
    fence: Fence | None = None,
    now: datetime = NOW,
) -> Refusal:
    """The refusal that these commands get; changes fail the test."""
    refusal = decided(before, *commands, facts=facts, fence=fence, now=now)
    assert isinstance(refusal, Refusal), refusal
    return refusal


def results_in(change: Change) -> dict[str, ToolResult]:
    """The tool results that entered history, by call."""
    found = [part for inserted in change.messages for part in inserted.parts if isinstance(part, ToolResult)]
    assert len({part.call_id for part in found}) == len(found)
    return {part.call_id: part for part in found}


def texts_in(change: Change) -> list[str]:
    """The texts that entered history, in order; those of results and notices included."""
    return [
        str(part.output) if isinstance(part, ToolResult) else getattr(part, "text", "")
        for inserted in change.messages
        for part in inserted.parts
    ]
