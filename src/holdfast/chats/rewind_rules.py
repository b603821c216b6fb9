"""Rules that take a chat back to before a user message, and that take this back. Nothing is deleted: removed
messages stay readable, and a restore copies them."""

from msgspec.structs import replace

from holdfast.chats.change import Refusal
from holdfast.chats.commands import Restore, Rewind
from holdfast.chats.draft import Draft
from holdfast.chats.family_rules import copy_in
from holdfast.chats.message_rules import not_a_target, stop_children


def rewind(draft: Draft, command: Rewind) -> Refusal | None:
    if (refusal := not_a_target(draft, "A chat is rewound to a message of a user.")) is not None:
        return refusal
    draft.removed_from = command.message_id
    draft.queue = []
    draft.drop_lease()
    draft.put(status="idle", last_error=None, retry=None, attempt=0)
    stop_children(draft)
    return None


def restore(draft: Draft, command: Restore) -> Refusal | None:
    """Only while nothing was said since: the messages would stand in another place than they did."""
    if draft.chat.history_version != command.rewound_at:
        return Refusal(
            code="wrong_state",
            text="The conversation went on since it was rewound, so the removed messages stay removed. "
            "They can still be read, and exported.",
        )
    if not draft.facts.removed_there:
        return Refusal(code="not_found", text="No message was removed there.")
    for message in draft.facts.removed_there:
        copy_in(draft, replace(message, removed=False))
    draft.put(attempt=0, retry=None)
    return None
