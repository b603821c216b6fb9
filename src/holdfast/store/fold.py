"""Consecutive changes of one chat joined into one: written when many commands for the same chat are decided
in one transaction. Each keeps its own version; only the rows are joined."""

from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.chats.change import Change


def may_follow(change: Change) -> bool:
    """Whether another command may be decided on top of this change before it is written. Not if a look-up in
    the database would have to see the change: removed history, other chats, a deleted chat."""
    return (
        change.after is not None
        and change.removed_from is None
        and not change.others
        and not change.deliveries_taken
        and not change.inbox_put
        and not change.inbox_taken
    )


def folded(changes: Sequence[Change]) -> Change:
    first, last = changes[0], changes[-1]
    if len(changes) == 1:
        return first
    queued = {item.id: item for change in changes for item in change.queue_put}
    dropped = {item_id for change in changes for item_id in change.queue_dropped}
    calls = {call.call_id: call for change in changes for call in change.calls_put}
    return replace(
        last,
        before=first.before,
        created=first.created,
        messages=tuple(message for change in changes for message in change.messages),
        queue_put=tuple(item for item in queued.values() if item.id not in dropped),
        queue_dropped=tuple(dropped),
        inbox_put=tuple(notice for change in changes for notice in change.inbox_put),
        inbox_taken=tuple(notice for change in changes for notice in change.inbox_taken),
        calls_put=tuple(calls.values()),
        full_outputs=tuple(output for change in changes for output in change.full_outputs),
        steps=tuple(step for change in changes for step in change.steps),
        turns=tuple(turn for change in changes for turn in change.turns),
        turns_ended=tuple(end for change in changes for end in change.turns_ended),
        deliveries=tuple(delivery for change in changes for delivery in change.deliveries),
        events=tuple(event for change in changes for event in change.events),
        deliveries_taken=tuple(key for change in changes for key in change.deliveries_taken),
    )
