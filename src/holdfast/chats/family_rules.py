"""Rules that start, end or repair a chat, or concern its whole family; and notices, which pass between
chats."""

from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.chats import synthetic
from holdfast.chats.change import Refusal
from holdfast.chats.commands import Archive, Create, Delete, Fork, Import, Notify, Reconcile, Unarchive
from holdfast.chats.draft import Draft
from holdfast.chats.states import flaw, state_of
from holdfast.chats.table import TABLE
from holdfast.chats.view import Execution, InboxNotice
from holdfast.core.chats import BUILD
from holdfast.core.failures import Failure
from holdfast.core.ids import MessageId, NoticeId
from holdfast.core.messages import Message
from holdfast.core.origins import PERSON, FromFork, Origin
from holdfast.core.parts import Parts


def create(draft: Draft, command: Create) -> Refusal | None:
    if not command.parts:
        return Refusal(code="invalid_input", text="A chat starts with a message of at least one part.")
    chat = Execution(
        id=draft.chat_id,
        owner_id=command.owner_id,
        origin=command.origin,
        root_id=command.root_id or draft.chat_id,
        status="idle",
        mode=command.mode,
        writes=command.writes,
        created_at=draft.now,
        updated_at=draft.now,
        active_at=draft.now,
    )
    draft.found(chat, command.settings)
    draft.answer = draft.enter(
        command.parts,
        command.owner_id,
        command.model,
        command.effort,
        trace_parent=command.trace_parent,
    )
    return None


def fork(draft: Draft, command: Fork) -> Refusal | None:
    history = draft.facts.history
    if history is None:
        return Refusal(code="not_found", text="There is no such chat or message to fork from.")
    _found_with(draft, command, history, synthetic.FORKED, FromFork(chat_id=command.source_id))
    return None


def import_chat(draft: Draft, command: Import) -> Refusal | None:
    if not command.messages:
        return Refusal(code="invalid_input", text="An imported chat has at least one message.")
    _found_with(draft, command, command.messages, synthetic.IMPORTED, PERSON)
    return None


def _found_with(
    draft: Draft, command: Fork | Import, history: Sequence[Message], unanswered: str, origin: Origin
) -> None:
    """An idle chat that starts with this history; unanswered calls are answered with `output`."""
    chat = Execution(
        id=draft.chat_id,
        owner_id=command.owner_id,
        origin=origin,
        root_id=draft.chat_id,
        status="idle",
        mode=BUILD if isinstance(command, Import) else command.mode,
        writes="direct" if isinstance(command, Import) else command.writes,
        turn=max((message.turn for message in history), default=0),
        created_at=draft.now,
        updated_at=draft.now,
        active_at=draft.now,
    )
    draft.found(chat, command.settings)
    for message, missing in synthetic.heal(history, unanswered):
        copy_in(draft, message)
        # Removed messages are shown to no model, so they may stay as they are.
        if missing and not message.removed:
            copy_in(draft, message, missing)


def copy_in(draft: Draft, message: Message, results: Parts | None = None) -> None:
    """The message under a new id, or, in its place, the results that its calls lack."""
    copied = replace(
        message,
        id=MessageId(draft.ids.uuid7(draft.now, draft.chat.last_message_id)),
        chat_id=draft.chat_id,
        revision=draft.version,
        queue_item_id=None,
    )
    if results is not None:
        copied = replace(
            copied,
            role="tool",
            parts=results,
            usage=None,
            model=None,
            effort=None,
            interrupted=False,
            created_by=None,
        )
    draft.messages.append(copied)
    draft.put(last_message_id=copied.id, message_count=draft.chat.message_count + 1)


def archive(draft: Draft, _: Archive) -> Refusal | None:
    return _set_archived(draft, archived=True)


def unarchive(draft: Draft, _: Unarchive) -> Refusal | None:
    return _set_archived(draft, archived=False)


def _set_archived(draft: Draft, *, archived: bool) -> Refusal | None:
    """The whole family or nothing, and only from its root."""
    if draft.chat.parent_id is not None:
        return Refusal(
            code="wrong_state",
            text="A sub-agent is archived with its family: use the root chat.",
            data={"root_id": draft.chat.root_id},
        )
    allowed = TABLE["archive" if archived else "unarchive"]
    others = [member for member in draft.facts.family if member.chat.archived is not archived]
    busy = [member.chat.id for member in others if state_of(member) not in allowed]
    if busy:
        return Refusal(
            code="wrong_state",
            text=f"{len(busy)} chats of the family are busy or hold a waiting message; stop them first.",
            data={"busy": busy},
        )
    draft.put(archived=archived)
    for member in others:
        below = Draft(member.chat.id, member, draft.facts, draft.now, draft.ids)
        below.put(archived=archived)
        draft.others += (below.finish(),)
    return None


def delete(draft: Draft, _: Delete) -> None:
    if draft.chat.status in ("running", "interrupting", "requires_action"):
        # Its parent must not wait for an end that will never come.
        draft.deliver("interrupted", Failure(kind="deleted", message="The chat was deleted."))
    draft.gone(draft.facts.subtree)


def reconcile(draft: Draft, _: Reconcile) -> None:
    wrong = flaw(draft)
    if wrong is None:
        return
    failure = Failure(
        kind="reconciled",
        message="The chat was in an invalid state and was repaired.",
        detail=f"What was wrong: {wrong}.",
    )
    draft.settle("reconciled")
    if draft.chat.status in ("running", "interrupting", "requires_action"):
        draft.end_turn("failed", failure)
    draft.unmark_steers()
    draft.drop_lease()
    draft.put(status="error", last_error=failure)


def notify(draft: Draft, command: Notify) -> None:
    if draft.facts.key_seen or any(notice.key == command.key for notice in draft.notices_new):
        return
    if command.delivery is not None:
        if not draft.waits(command.delivery):
            return
        draft.deliveries_taken += (command.delivery,)
    notice = InboxNotice(
        id=NoticeId(draft.ids.uuid7(draft.now, max((notice.id for notice in draft.inbox), default=None))),
        source=command.source,
        key=command.key,
        text=command.text,
        data=command.data,
        wake=command.wake,
        created_at=draft.now,
    )
    draft.inbox.append(notice)
    draft.notices_new += (notice,)
    if draft.chat.status != "idle" or draft.chat.archived:
        return
    if command.wake and not draft.facts.over_budget and not draft.facts.stopped:
        draft.wake()
    elif command.enter:
        draft.enter_inbox()
