"""Rules for the queue: its order, holds, and what starts when the first item of an idle chat is released."""

from datetime import timedelta

from msgspec.structs import replace

from holdfast.chats.change import Refusal
from holdfast.chats.commands import (
    DeleteQueued,
    EditQueued,
    HoldQueued,
    ItemCommand,
    LapseHolds,
    MoveQueued,
    Promote,
    ReleaseQueued,
)
from holdfast.chats.draft import Draft
from holdfast.chats.view import Queued

HOLD_SECONDS = 120


def append(draft: Draft, item: Queued) -> Queued:
    placed = replace(item, place=draft.queue[-1].place + 1 if draft.queue else 0)
    draft.queue.append(placed)
    return placed


def insert_interrupt(draft: Draft, item: Queued) -> Queued:
    """Behind earlier interrupts, before everything else."""
    position = next((n for n, other in enumerate(draft.queue) if other.busy != "interrupt"), len(draft.queue))
    return _insert(draft, item, position)


def _insert(draft: Draft, item: Queued, position: int) -> Queued:
    draft.queue.insert(position, item)
    # Places are only compared with each other, so the others can be renumbered around it.
    draft.queue = [
        replace(other, place=n) if other.place != n else other for n, other in enumerate(draft.queue)
    ]
    return draft.queue[position]


def missing(draft: Draft, command: ItemCommand) -> Refusal | None:
    """The refusal if the command's item is not in the queue."""
    if command.item_id in [item.id for item in draft.queue]:
        return None
    sent_as = draft.facts.sent.get(command.item_id)
    if sent_as is None:
        return Refusal(code="not_found", text="There is no such queue item.")
    return Refusal(
        code="already_sent", text="This message has been sent already.", data={"message_id": sent_as}
    )


def promote(draft: Draft, command: Promote) -> None:
    item = replace(_item(draft, command), hold_token=None, hold_until=None)
    _replace(draft, item)
    match draft.chat.status:
        case "running" | "interrupting":
            draft.queue.remove(item)
            draft.answer = _insert(draft, replace(item, busy="interrupt"), 0)
            draft.put(status="interrupting")
        case "requires_action":
            draft.settle("replaced")
            draft.end_turn("interrupted")
            # The end of the turn turned steers into plain items: look the item up again.
            draft.answer = draft.enter_item(_item(draft, command))
        case _:
            draft.answer = draft.enter_item(item)


def move(draft: Draft, command: MoveQueued) -> Refusal | None:
    if not 0 <= command.position < len(draft.queue):
        return Refusal(
            code="invalid_input",
            text=f"The position must be between 0 and {len(draft.queue) - 1}.",
            field="position",
        )
    item = _item(draft, command)
    draft.queue.remove(item)
    draft.answer = _insert(draft, item, command.position)
    _start_free_head(draft)
    return None


def edit_queued(draft: Draft, command: EditQueued) -> Refusal | None:
    item = _item(draft, command)
    if not command.parts:
        return Refusal(code="invalid_input", text="A message needs at least one part.", field="content")
    if refusal := _barred(draft, item, command.hold_token):
        return refusal
    draft.answer = _replace(draft, replace(item, parts=command.parts))
    return None


def hold(draft: Draft, command: HoldQueued) -> Refusal | None:
    item = _item(draft, command)
    if refusal := _barred(draft, item, command.hold_token):
        return refusal
    token = command.hold_token or draft.ids.token()
    until = draft.now + timedelta(seconds=HOLD_SECONDS)
    draft.answer = _replace(draft, replace(item, hold_token=token, hold_until=until))
    return None


def release(draft: Draft, command: ReleaseQueued) -> Refusal | None:
    item = _item(draft, command)
    if _is_held(draft, item) and (refusal := _barred(draft, item, command.hold_token)):
        return refusal
    draft.answer = _replace(draft, replace(item, hold_token=None, hold_until=None))
    _start_free_head(draft)
    return None


def delete_queued(draft: Draft, command: DeleteQueued) -> None:
    draft.answer = _item(draft, command)
    draft.queue.remove(draft.answer)
    _start_free_head(draft)


def lapse_holds(draft: Draft, _: LapseHolds) -> None:
    for item in list(draft.queue):
        if item.hold_until is not None and item.hold_until <= draft.now:
            _replace(draft, replace(item, hold_token=None, hold_until=None))
    _start_free_head(draft)


def enter_steers(draft: Draft) -> None:
    """Steers join the turn, in order; held ones keep waiting."""
    for item in [item for item in draft.queue if item.busy == "steer" and not item.held]:
        draft.queue.remove(item)
        draft.insert("user", item.parts, item=item, created_by=item.created_by)


def _start_free_head(draft: Draft) -> None:
    if draft.chat.status == "idle" and draft.queue and not draft.queue[0].held:
        head = draft.queue[0]
        entered = draft.enter_item(head)
        # The item that starts may be another than the caller's.
        if draft.answer == head:
            draft.answer = entered


def _item(draft: Draft, command: ItemCommand) -> Queued:
    (item,) = [item for item in draft.queue if item.id == command.item_id]
    return item


def _replace(draft: Draft, item: Queued) -> Queued:
    draft.queue = [item if other.id == item.id else other for other in draft.queue]
    return item


def _is_held(draft: Draft, item: Queued) -> bool:
    """A lapsed hold does not count, whether the sweep has removed it or not."""
    return item.hold_until is not None and item.hold_until > draft.now


def _barred(draft: Draft, item: Queued, token: str | None) -> Refusal | None:
    """The refusal if the holder of this token (None: no token) may not touch the item."""
    if _is_held(draft, item):
        if token != item.hold_token:
            return Refusal(
                code="wrong_state",
                text="Somebody holds this item; renewing, editing and releasing need its hold_token.",
            )
    elif token is not None:
        return Refusal(code="wrong_state", text="The hold has lapsed; take a new one.")
    return None
