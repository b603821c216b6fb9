"""A change in the making. Rules edit a draft; `finish` turns it into a Change. The counters are moved only
here, and so are the moves that all rules share: a message enters history, a turn starts, open calls are
answered, a turn ends."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from holdfast.chats.change import Change, FullOutput, TurnEnd
from holdfast.chats.commands import DeliveryKey, NewMessage, NewStep
from holdfast.chats.events import events_of
from holdfast.chats.facts import Facts
from holdfast.chats.states import State, state_of
from holdfast.chats.synthetic import Ending, answers, result_of
from holdfast.chats.view import Call, Delivery, Execution, InboxNotice, Queued, View
from holdfast.core.chats import Settings
from holdfast.core.failures import Failure
from holdfast.core.ids import CallId, ChatId, Ids, MessageId, NoticeId, QueueItemId, StepId, UserId
from holdfast.core.messages import Message, Role
from holdfast.core.parts import Notice, Parts
from holdfast.core.steps import Step, Turn, TurnKind, TurnOutcome

# Clocks closer than this are considered equal.
SAME_CLOCK = timedelta(seconds=0.5)
# From here on, by version, are attempts that were given up after their turn had ended.
LATE = 2_000_000


class Draft:
    # Set from the moment the chat exists.
    chat: Execution
    # The rows to write. Most changes have few of them: whatever a rule does not touch keeps the default
    # below.
    created: Settings | None = None
    removed_from: MessageId | None = None
    notices_new: tuple[InboxNotice, ...] = ()
    notices_taken: tuple[NoticeId, ...] = ()
    calls_closed: tuple[Call, ...] = ()
    full_outputs: tuple[FullOutput, ...] = ()
    steps: tuple[Step, ...] = ()
    turns: tuple[Turn, ...] = ()
    turns_ended: tuple[TurnEnd, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    deliveries_taken: tuple[DeliveryKey, ...] = ()
    deleted: tuple[ChatId, ...] = ()
    others: tuple[Change, ...] = ()
    answer: Message | Queued | None = None

    def __init__(self, chat_id: ChatId, view: View | None, facts: Facts, now: datetime, ids: Ids) -> None:
        self.chat_id = chat_id
        self.before = view
        self.facts = facts
        self.now = now
        self.ids = ids
        self.exists = view is not None
        if view is not None:
            self.chat = view.chat
        self.queue: list[Queued] = list(view.queue) if view else []
        self.inbox: list[InboxNotice] = list(view.inbox) if view else []
        self.calls: list[Call] = list(view.calls) if view else []
        self.version = (view.chat.version if view else 0) + 1
        self.messages: list[Message] = []

    def found(self, chat: Execution, settings: Settings) -> None:
        """Creates the chat in this draft."""
        self.chat, self.created, self.exists = chat, settings, True

    def gone(self, subtree: Iterable[ChatId]) -> None:
        self.deleted = (self.chat_id, *sorted(subtree))
        self.exists = False

    def put(self, **changes: Any) -> None:
        self.chat = replace(self.chat, **changes)

    @property
    def state(self) -> State:
        return state_of(self) if self.exists else State.NONE

    # --- history ---

    def insert(
        self,
        role: Role,
        parts: Parts,
        *,
        like: NewMessage | None = None,
        item: Queued | None = None,
        created_by: UserId | None = None,
        model: str | None = None,
        effort: str | None = None,
        removed: bool = False,
    ) -> Message:
        """A message enters history. Ids increase with every insert, whatever the clock says."""
        chat = self.chat
        message = Message(
            id=MessageId(self.ids.uuid7(self.now, chat.last_message_id)),
            chat_id=self.chat_id,
            turn=chat.turn,
            role=role,
            parts=parts,
            revision=self.version,
            visibility=like.visibility if like else "both",
            model=like.model if like else model,
            effort=like.effort if like else effort,
            usage=like.usage if like else None,
            removed=removed,
            interrupted=like.interrupted if like else False,
            compaction=like.compaction if like else False,
            queue_item_id=item.id if item else None,
            created_by=created_by,
            created_at=self.now,
        )
        self.messages.append(message)
        answers = role == "assistant" and not message.compaction
        self.put(
            last_message_id=message.id,
            answer_id=message.id if answers else chat.answer_id,
            message_count=chat.message_count + 1,
            attempt=0,
            retry=None,
        )
        return message

    def insert_notice(self, notice: Notice) -> Message:
        return self.insert("system", (notice,))

    def enter_inbox(self) -> None:
        """All waiting notices enter history, in order."""
        for notice in self.inbox:
            self.insert_notice(Notice(code=notice.source, text=notice.text, data=notice.data))
            self.notices_taken += (notice.id,)
        self.inbox = []

    def insert_all(self, messages: Iterable[NewMessage]) -> list[Message]:
        return [self.insert(message.role, message.parts, like=message) for message in messages]

    def record(self, step: NewStep, message_id: MessageId | None, *, turn: int | None = None) -> None:
        """The step's row, which is also its span; its usage joins the chat's. With `turn` it may be of one
        that is over."""
        chat = self.chat
        late = turn is not None and turn != chat.turn
        number = LATE + self.version if late else chat.turn_steps + 1
        step_id = step.id or StepId(self.ids.uuid7(self.now))
        # The step's times may come from another clock than the decision's: only its duration is certain.
        took = self.now - step.started_at if step.seconds is None else timedelta(seconds=step.seconds)
        shift = self.now - max(took, timedelta()) - step.started_at
        if abs(shift) < SAME_CLOCK:
            shift = timedelta()
        self.steps += (
            Step(
                id=step_id,
                turn=chat.turn if turn is None else turn,
                number=number,
                kind=step.kind,
                message_id=message_id,
                model=step.model,
                provider=step.provider,
                response_id=step.response_id,
                attempts=step.attempts,
                failures=step.failures,
                usage=step.usage,
                started_at=step.started_at + shift,
                first_part_at=None if step.first_part_at is None else step.first_part_at + shift,
                finished_at=max(self.now, step.started_at + shift),
                outcome=step.outcome,
                revision=self.version,
                segments=step.segments,
                cache=step.cache,
            ),
        )
        # A step that was not shown the history does not tell how full the context is.
        aside = late or message_id is None
        spent = replace(step.usage, context_used=None, context_limit=None) if aside else step.usage
        self.put(turn_steps=chat.turn_steps if late else number, usage=chat.usage + spent)

    # --- calls ---

    def call(self, call_id: CallId) -> Call | None:
        for call in self.calls:
            if call.call_id == call_id:
                return call
        return None

    def open_calls(self) -> list[Call]:
        """The calls whose results are to enter history."""
        return [call for call in self.calls if not call.abandoned]

    def close(self, call: Call) -> None:
        """Removes the call from the view. Its row stays in the database."""
        self.calls = [other for other in self.calls if other.call_id != call.call_id]
        self.calls_closed += (replace(call, revision=self.version),)

    def put_call(self, call: Call) -> None:
        call = replace(call, revision=self.version)
        self.calls = [call if other.call_id == call.call_id else other for other in self.calls]

    # --- turns ---

    def start_turn(
        self,
        kind: TurnKind,
        model: str | None = None,
        effort: str | None = None,
        trace_parent: str | None = None,
    ) -> None:
        """From idle or error, or on to the next message. The turn's row names the message that follows."""
        self.put(
            status="running",
            turn=self.chat.turn + 1,
            turn_kind=kind,
            turn_model=model,
            turn_effort=effort,
            turn_steps=0,
            answer_id=None,
            last_error=None,
            active_at=self.now,
        )
        self.turns += (
            Turn(
                number=self.chat.turn,
                kind=kind,
                started_at=self.now,
                revision=self.version,
                trace_parent=trace_parent,
            ),
        )

    def enter(
        self,
        parts: Parts,
        created_by: UserId,
        model: str | None,
        effort: str | None,
        item: Queued | None = None,
        trace_parent: str | None = None,
    ) -> Message:
        """A user message starts a turn."""
        self.start_turn("message", model, effort, trace_parent)
        message = self.insert("user", parts, item=item, created_by=created_by, model=model, effort=effort)
        *earlier, turn = self.turns
        self.turns = (*earlier, replace(turn, message_id=message.id))
        return message

    def enter_item(self, item: Queued) -> Message:
        self.queue.remove(item)
        return self.enter(
            item.parts, item.created_by, item.model, item.effort, item, trace_parent=item.trace_parent
        )

    def wake(self) -> None:
        """Notices start a turn without a user message."""
        self.start_turn("notice")
        self.enter_inbox()

    def settle(self, ending: Ending, *, removed: bool = False) -> None:
        """Every open call gets its one result, in one message: the real one if there is one, else a sentence
        about what happened. When its history is being removed, a call that is still running stays open on its
        row alone, to record its real outcome."""
        open_calls = self.open_calls()
        if not open_calls:
            return
        results = [result_of(call, ending) for call in open_calls]
        self.insert("tool", answers(open_calls, results), removed=removed)
        for call, result in zip(open_calls, results, strict=True):
            if removed and call.state == "started":
                self.put_call(replace(call, abandoned=True))
            else:
                self.close(
                    replace(
                        call,
                        state="answered",
                        outcome=result.outcome,
                        output=result.output,
                        finished_at=call.finished_at or self.not_before(call.started_at),
                    )
                )

    def end_turn(self, outcome: TurnOutcome, failure: Failure | None = None) -> None:
        """The turn is over: its parent is told once, and steers that came too late become plain items."""
        chat = self.chat
        # It moved when the turn started.
        finished_at = self.not_before(chat.active_at)
        self.turns_ended += (
            TurnEnd(
                number=chat.turn,
                finished_at=finished_at,
                outcome=outcome,
                failure=failure,
                revision=self.version,
            ),
        )
        self.deliver(outcome, failure)
        self.unmark_steers()
        self.put(compaction=None, retry=None, active_at=finished_at)

    def not_before(self, start: datetime | None) -> datetime:
        """The end time of something that started at `started_at`, perhaps by another clock."""
        return self.now if start is None else max(self.now, start)

    def unmark_steers(self) -> None:
        """There is no turn left to join: steers become plain items in their place."""
        self.queue = [replace(item, busy="queue") if item.busy == "steer" else item for item in self.queue]

    def deliver(self, outcome: TurnOutcome, failure: Failure | None) -> None:
        """The parent is told how the turn ended; a compaction is not part of any task."""
        chat = self.chat
        if chat.turn_kind == "compaction" or not chat.is_agent:
            return
        self.deliveries += (
            Delivery(
                child_id=self.chat_id,
                turn=chat.turn,
                parent_id=chat.parent_id,
                run_id=chat.run_id,
                outcome=outcome,
                answer_id=chat.answer_id,
                failure=failure,
                created_at=self.now,
            ),
        )

    def waits(self, key: DeliveryKey) -> bool:
        """Whether the child's end has not been delivered yet."""
        return key in self.facts.deliveries and key not in self.deliveries_taken

    def hand_over(self, key: DeliveryKey) -> None:
        """A call's result reports the child's end, so a waiting notice about it is withdrawn. An end that was
        already delivered is not delivered again."""
        if self.waits(key):
            self.deliveries_taken += (key,)
        for notice in [notice for notice in self.inbox if notice.key == key.notice_key]:
            self.inbox.remove(notice)
            self.notices_taken += (notice.id,)

    def drop_lease(self) -> None:
        """Nobody owns the chat from here on."""
        self.close_abandoned()
        self.put(lease=None)

    def close_abandoned(self) -> None:
        """Closes calls that were still running when their history was removed: the worker that could say how
        they ended has lost the chat."""
        for call in [call for call in self.calls if call.abandoned]:
            finished_at = self.not_before(call.started_at)
            self.close(replace(call, state="answered", outcome="uncertain", finished_at=finished_at))

    def rest(self, *, heed_notices: bool = False) -> None:
        """After a turn: the first item of the queue starts the next one, unless it is held. A notice that
        came after the turn's last model call starts one too, because nothing else would; except after an
        interrupt, when somebody wanted the chat to stop."""
        if self.queue and not self.queue[0].held:
            self.enter_item(self.queue[0])
        elif heed_notices and any(notice.wake for notice in self.inbox):
            self.wake()
        else:
            self.drop_lease()
            self.put(status="idle")

    # --- the result ---

    def finish(self) -> Change:
        before = self.before
        if self.deleted:
            return Change(
                chat_id=self.chat_id,
                owner_id=self.chat.owner_id,
                before=self.version - 1,
                after=None,
                deleted=self.deleted,
                deliveries=self.deliveries,
            )
        chat, old = self.chat, before.chat if before else None
        queue, old_queue = tuple(self.queue), before.queue if before else ()
        queue_moved = queue != old_queue
        calls_put = (*self.calls_closed, *[call for call in self.calls if call.revision == self.version])
        if chat == old and not (queue_moved or calls_put or self.notices_new or self.removed_from):
            after = before
        else:
            version = self.version
            chat = replace(
                chat,
                version=version,
                history_version=version if self.messages or self.removed_from else chat.history_version,
                queue_version=version if queue_moved else chat.queue_version,
                retry_version=version if (old.retry if old else None) != chat.retry else chat.retry_version,
                updated_at=self.now,
            )
            after = View(chat=chat, queue=queue, inbox=tuple(self.inbox), calls=tuple(self.calls))
        assert after is not None
        return Change(
            events=events_of(before, after, self.messages, calls_put, self.turns_ended, self.now),
            chat_id=self.chat_id,
            owner_id=chat.owner_id,
            before=self.version - 1,
            after=after,
            created=self.created,
            removed_from=self.removed_from,
            messages=tuple(self.messages),
            queue_put=tuple([item for item in queue if item not in old_queue]) if queue_moved else (),
            queue_dropped=_dropped(old_queue, queue) if queue_moved else (),
            inbox_put=self.notices_new,
            inbox_taken=self.notices_taken,
            calls_put=calls_put,
            full_outputs=self.full_outputs,
            steps=self.steps,
            turns=self.turns,
            turns_ended=self.turns_ended,
            deliveries=self.deliveries,
            deliveries_taken=self.deliveries_taken,
            others=self.others,
            answer=self.answer,
        )


def _dropped(before: Iterable[Queued], after: Iterable[Queued]) -> tuple[QueueItemId, ...]:
    kept = [item.id for item in after]
    return tuple([item.id for item in before if item.id not in kept])
