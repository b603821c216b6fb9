"""How messages, queue items, notices, calls, steps, turns and deliveries map to rows and back, once for both
engines. A row has the columns of its list, in that order. Chats are in `chat_rows`."""

import msgspec

from holdfast.chats.change import FullOutput, TurnEnd
from holdfast.chats.view import Call, Delivery, InboxNotice, Queued
from holdfast.core.calls import Approval, Trait
from holdfast.core.clock import from_micros, to_micros
from holdfast.core.failures import Failure
from holdfast.core.ids import ChatId
from holdfast.core.messages import HistoryEntry, Message
from holdfast.core.parts import Parts
from holdfast.core.segments import SegmentChange, StepCache
from holdfast.core.shapes import encode_text
from holdfast.core.steps import Step, Turn
from holdfast.core.usage import Usage
from holdfast.store.columns import Written, columns, micros, moment, text
from holdfast.store.query import Row

_parts = msgspec.json.Decoder(Parts).decode
_usage = msgspec.json.Decoder(Usage).decode
_entries = msgspec.json.Decoder(tuple[HistoryEntry, ...]).decode
_failure = msgspec.json.Decoder(Failure).decode
_failures = msgspec.json.Decoder(tuple[Failure, ...]).decode
_approval = msgspec.json.Decoder(Approval).decode
_segments = msgspec.json.Decoder(SegmentChange).decode
_cache = msgspec.json.Decoder(StepCache).decode
decode_json = msgspec.json.Decoder().decode

# --- messages ---

MESSAGE = columns(
    "chat_id id turn role revision visibility model effort usage removed interrupted "
    "compaction queue_item_id created_by created_at parts"
)


def message_row(message: Message) -> Written:
    return (
        message.chat_id,
        message.id,
        message.turn,
        message.role,
        message.revision,
        message.visibility,
        message.model,
        message.effort,
        text(message.usage),
        message.removed,
        message.interrupted,
        message.compaction,
        message.queue_item_id,
        message.created_by,
        to_micros(message.created_at),
        encode_text(message.parts),
    )


def message_of(row: Row) -> Message:
    return Message(
        chat_id=row[0],
        id=row[1],
        turn=row[2],
        role=row[3],
        revision=row[4],
        visibility=row[5],
        model=row[6],
        effort=row[7],
        usage=None if row[8] is None else _usage(row[8]),
        removed=bool(row[9]),
        interrupted=bool(row[10]),
        compaction=bool(row[11]),
        queue_item_id=row[12],
        created_by=row[13],
        created_at=from_micros(row[14]),
        parts=_parts(row[15]),
    )


# A history entry as a line of JSON, in the order of its fields: the long one comes last, or it would be
# copied with each field after it.
ENTRY = """
'[' || turn || ',"' || role
|| CASE WHEN compaction AND visibility = 'model' THEN '",true' ELSE '",false' END
|| CASE WHEN interrupted THEN ',true,' ELSE ',false,' END
|| coalesce(CAST(to_json(model) AS text), 'null') || ',' || coalesce(usage, 'null') || ',' || parts
|| ',"' || id || '"]'
"""


def entries_of(lines: str | None) -> tuple[HistoryEntry, ...]:
    """Lines of entries, joined with commas."""
    return () if lines is None else _entries(f"[{lines}]")


def parts_of(value: str) -> Parts:
    return _parts(value)


# --- queue, inbox ---

QUEUED = columns(
    "chat_id id busy place hold_token hold_until model effort created_by created_at parts trace_parent"
)


def queued_row(chat_id: ChatId, item: Queued) -> Written:
    return (
        chat_id,
        item.id,
        item.busy,
        item.place,
        item.hold_token,
        micros(item.hold_until),
        item.model,
        item.effort,
        item.created_by,
        to_micros(item.created_at),
        encode_text(item.parts),
        item.trace_parent,
    )


def queued_of(row: Row) -> Queued:
    return Queued(
        id=row[1],
        busy=row[2],
        place=row[3],
        hold_token=row[4],
        hold_until=moment(row[5]),
        model=row[6],
        effort=row[7],
        created_by=row[8],
        created_at=from_micros(row[9]),
        parts=_parts(row[10]),
        trace_parent=row[11],
    )


# A row also has `taken_version`, which is only set when the notice is taken.
NOTICE = columns("chat_id id source key wake created_at text data")


def notice_row(chat_id: ChatId, notice: InboxNotice) -> Written:
    return (
        chat_id,
        notice.id,
        notice.source,
        notice.key,
        notice.wake,
        to_micros(notice.created_at),
        notice.text,
        encode_text(notice.data),
    )


def notice_of(row: Row) -> InboxNotice:
    return InboxNotice(
        id=row[1],
        source=row[2],
        key=row[3],
        wake=bool(row[4]),
        created_at=from_micros(row[5]),
        text=row[6],
        data=decode_json(row[7]),
    )


# --- calls ---

CALL = columns(
    "chat_id call_id message_id turn position name effect reach traits on_uncertain state waits_for "
    "deadline_seconds deadline_at run lease_number fenced_until outcome truncated "
    "abandoned started_at finished_at approval output diff revision source input"
)


def call_row(chat_id: ChatId, call: Call) -> Written:
    return (
        chat_id,
        call.call_id,
        call.message_id,
        call.turn,
        call.position,
        call.name,
        call.effect,
        call.reach,
        " ".join(call.traits),
        call.on_uncertain,
        call.state,
        call.waits_for,
        call.deadline_seconds,
        micros(call.deadline_at),
        call.run,
        call.lease_number,
        micros(call.fenced_until),
        call.outcome,
        call.truncated,
        call.abandoned,
        micros(call.started_at),
        micros(call.finished_at),
        text(call.approval),
        encode_text(call.output),
        call.diff,
        call.revision,
        call.source,
        None if call.input is None else encode_text(call.input),
    )


def has_trait(calls: str, trait: Trait) -> str:
    """A condition on the table alias in `calls`. No trait's name contains another's."""
    return f"replace({calls}.traits, '{trait}', '') <> {calls}.traits"


def call_of(row: Row) -> Call:
    return Call(
        call_id=row[1],
        message_id=row[2],
        turn=row[3],
        position=row[4],
        name=row[5],
        effect=row[6],
        reach=row[7],
        traits=tuple(row[8].split()),
        on_uncertain=row[9],
        state=row[10],
        waits_for=row[11],
        deadline_seconds=row[12],
        deadline_at=moment(row[13]),
        run=row[14],
        lease_number=row[15],
        fenced_until=moment(row[16]),
        outcome=row[17],
        truncated=bool(row[18]),
        abandoned=bool(row[19]),
        started_at=moment(row[20]),
        finished_at=moment(row[21]),
        approval=None if row[22] is None else _approval(row[22]),
        output=decode_json(row[23]),
        diff=row[24],
        revision=row[25],
        source=row[26],
        input=None if row[27] is None else decode_json(row[27]),
    )


FULL_OUTPUT = columns("chat_id call_id run text")


def full_output_row(chat_id: ChatId, output: FullOutput) -> Written:
    return (chat_id, output.call_id, output.run, output.text)


# --- steps, turns, deliveries ---

STEP = columns(
    "chat_id turn number id kind message_id model provider response_id attempts usage "
    "started_at first_part_at finished_at outcome failures revision segments cache"
)


def step_row(chat_id: ChatId, step: Step) -> Written:
    return (
        chat_id,
        step.turn,
        step.number,
        step.id,
        step.kind,
        step.message_id,
        step.model,
        step.provider,
        step.response_id,
        step.attempts,
        encode_text(step.usage),
        to_micros(step.started_at),
        micros(step.first_part_at),
        to_micros(step.finished_at),
        step.outcome,
        encode_text(step.failures),
        step.revision,
        text(step.segments),
        text(step.cache),
    )


def step_of(row: Row) -> Step:
    return Step(
        turn=row[1],
        number=row[2],
        id=row[3],
        kind=row[4],
        message_id=row[5],
        model=row[6],
        provider=row[7],
        response_id=row[8],
        attempts=row[9],
        usage=_usage(row[10]),
        started_at=from_micros(row[11]),
        first_part_at=moment(row[12]),
        finished_at=from_micros(row[13]),
        outcome=row[14],
        failures=_failures(row[15]),
        revision=row[16],
        segments=None if row[17] is None else _segments(row[17]),
        cache=None if row[18] is None else _cache(row[18]),
    )


def failure_of(written: str | None) -> Failure | None:
    return None if written is None else _failure(written)


TURN = columns("chat_id number kind message_id started_at finished_at outcome failure revision trace_parent")


def turn_row(chat_id: ChatId, turn: Turn) -> Written:
    return (
        chat_id,
        turn.number,
        turn.kind,
        turn.message_id,
        to_micros(turn.started_at),
        micros(turn.finished_at),
        turn.outcome,
        text(turn.failure),
        turn.revision,
        turn.trace_parent,
    )


def turn_end_row(chat_id: ChatId, end: TurnEnd) -> Written:
    """chat_id, number, then finished_at, outcome, failure, revision."""
    return (
        chat_id,
        end.number,
        to_micros(end.finished_at),
        end.outcome,
        text(end.failure),
        end.revision,
    )


def turn_of(row: Row) -> Turn:
    return Turn(
        number=row[1],
        kind=row[2],
        message_id=row[3],
        started_at=from_micros(row[4]),
        finished_at=moment(row[5]),
        outcome=row[6],
        failure=failure_of(row[7]),
        revision=row[8],
        trace_parent=row[9],
    )


# A row also has `taken`.
DELIVERY = columns("child_id turn parent_id run_id outcome answer_id created_at failure")


def delivery_row(delivery: Delivery) -> Written:
    return (
        delivery.child_id,
        delivery.turn,
        delivery.parent_id,
        delivery.run_id,
        delivery.outcome,
        delivery.answer_id,
        to_micros(delivery.created_at),
        text(delivery.failure),
    )


def delivery_of(row: Row) -> Delivery:
    return Delivery(
        child_id=row[0],
        turn=row[1],
        parent_id=row[2],
        run_id=row[3],
        outcome=row[4],
        answer_id=row[5],
        created_at=from_micros(row[6]),
        failure=failure_of(row[7]),
    )
