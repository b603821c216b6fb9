"""The rows of changes, by table, ready for one statement. A row appears once, whatever happened to it within
a change: a turn that started and ended is one insert, and so is a notice that arrived and was taken."""

from collections.abc import Iterable

from holdfast.chats.change import Change
from holdfast.core.errors import Bug
from holdfast.store.chat_rows import identity_row, indexed_row, moving_row
from holdfast.store.outbox import event_row
from holdfast.store.postgres.statement import FOLLOWING, statement
from holdfast.store.rows import (
    call_row,
    delivery_row,
    full_output_row,
    message_row,
    notice_row,
    queued_row,
    step_row,
    turn_end_row,
    turn_row,
)
from holdfast.store.settings_rules import distinct_labels, title_words, written

Row = tuple[object, ...]


class Rows:
    """Fill it with `add`; then `arguments` belong to `sql`."""

    def __init__(self) -> None:
        # Of the values that may be large: messages and tool outputs.
        self.characters = 0
        self.moved: list[Row] = []
        self.created: list[Row] = []
        self.settings: list[Row] = []
        self.labels: list[Row] = []
        self.removals: list[Row] = []
        self.messages: list[Row] = []
        self.queue_put: list[Row] = []
        self.queue_dropped: list[Row] = []
        self.inbox_put: list[Row] = []
        self.inbox_taken: list[Row] = []
        self.calls: list[Row] = []
        self.full_outputs: list[Row] = []
        self.steps: list[Row] = []
        self.turns: list[Row] = []
        self.turns_ended: list[Row] = []
        self.deliveries: list[Row] = []
        self.deliveries_taken: list[Row] = []
        self.events: list[Row] = []
        self.following = (
            self.settings,
            self.labels,
            self.removals,
            # The debug record of what is removed: twice the same rows.
            self.removals,
            self.removals,
            self.messages,
            self.queue_put,
            self.queue_dropped,
            self.inbox_put,
            self.inbox_taken,
            self.calls,
            self.full_outputs,
            self.steps,
            self.turns,
            self.turns_ended,
            self.deliveries,
            self.deliveries_taken,
            self.events,
        )
        assert len(self.following) == len(FOLLOWING)

    def add(self, change: Change) -> None:
        """Without its `others`, which are separate changes."""
        after = change.after
        if after is None:
            raise Bug("a deletion is not written like other changes")
        chat_id, version = change.chat_id, after.chat.version
        state = (*moving_row(after), *indexed_row(after.chat))
        if change.created is None:
            self.moved.append((chat_id, change.before, *state))
        else:
            *identity, _, created_at = identity_row(after.chat, 0)
            self.created.append((*identity, created_at, *state))
            self.settings.append((*written(chat_id, change.created), list(title_words(change.created))))
            self.labels += [(chat_id, label) for label in distinct_labels(change.created)]
        if change.removed_from is not None:
            self.removals.append((chat_id, change.removed_from, version))
        for message in change.messages:
            row = message_row(message)
            self.messages.append(row)
            self.characters += _characters(row)
        if change.calls_put:
            self.calls += [call_row(chat_id, call) for call in change.calls_put]
        if change.steps:
            self.steps += [step_row(chat_id, step) for step in change.steps]
        for output in change.full_outputs:
            self.full_outputs.append(full_output_row(chat_id, output))
            self.characters += len(output.text)
        if change.queue_put or change.queue_dropped:
            self.queue_put += [queued_row(chat_id, item) for item in change.queue_put]
            self.queue_dropped += [(chat_id, item, version) for item in change.queue_dropped]
        if change.inbox_put or change.inbox_taken:
            self._add_notices(change, version)
        if change.turns or change.turns_ended:
            self._add_turns(change)
        if change.deliveries or change.deliveries_taken:
            self.deliveries += [delivery_row(delivery) for delivery in change.deliveries]
            self.deliveries_taken += [(chat_id, key.child_id, key.turn) for key in change.deliveries_taken]

        if change.events:
            self.events += [event_row(event) for event in change.events]

    def _add_notices(self, change: Change, version: int) -> None:
        put, taken = {notice.id for notice in change.inbox_put}, set(change.inbox_taken)
        self.inbox_put += [
            (*notice_row(change.chat_id, notice), version if notice.id in taken else None)
            for notice in change.inbox_put
        ]
        self.inbox_taken += [
            (change.chat_id, notice, version) for notice in change.inbox_taken if notice not in put
        ]

    def _add_turns(self, change: Change) -> None:
        ended = {end.number: turn_end_row(change.chat_id, end) for end in change.turns_ended}
        for turn in change.turns:
            row = turn_row(change.chat_id, turn)
            end = ended.pop(turn.number, None)
            self.turns.append(row if end is None else (*row[:5], *end[2:], row[9]))
        self.turns_ended += ended.values()

    def split_messages(self, most: int) -> list[list[Row]]:
        """Keeps about this many characters of messages; the rest, in portions, is for separate statements."""
        portions: list[list[Row]] = [[]]
        size = 0
        for row in self.messages:
            if portions[-1] and size + _characters(row) > most:
                portions.append([])
                size = 0
            portions[-1].append(row)
            size += _characters(row)
        self.messages[:] = portions[0]
        return portions[1:]

    def sql(self, *, locked: bool) -> str:
        following = tuple(kind for kind, rows in enumerate(self.following) if rows)
        return statement(bool(self.moved), bool(self.created), following, locked=locked)

    def arguments(self) -> Iterable[list[Row]]:
        return [rows for rows in (self.moved, self.created, *self.following) if rows]


def _characters(message: Row) -> int:
    return len(str(message[-1]))


def rows_of(changes: Iterable[Change]) -> Rows:
    rows = Rows()
    for change in changes:
        rows.add(change)
    return rows
