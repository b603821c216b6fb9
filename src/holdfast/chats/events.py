"""What happened in a change, for hooks that are told afterwards. It is written with the change, so it is told
exactly if it happened."""

from collections.abc import Callable, Sequence
from datetime import datetime

from holdfast.chats.change import TurnEnd
from holdfast.chats.view import Call, View
from holdfast.core.hooks import EventName, HappenedEvent
from holdfast.core.messages import Message
from holdfast.core.parts import Text
from holdfast.core.shapes import Json


def events_of(
    before: View | None,
    after: View,
    messages: Sequence[Message],
    calls_put: Sequence[Call],
    turns_ended: Sequence[TurnEnd],
    now: datetime,
) -> tuple[HappenedEvent, ...]:
    if not (calls_put or turns_ended or after.chat.status == "requires_action" or messages):
        return ()
    found: list[HappenedEvent] = []
    chat = after.chat

    def add(event: EventName, about: str, data: dict[str, Json]) -> None:
        found.append(
            HappenedEvent(
                id=f"{event}-{chat.id}-{about}",
                event=event,
                owner_id=chat.owner_id,
                chat_id=chat.id,
                data={"turn": chat.turn, **data},
                created_at=now,
            )
        )

    if chat.status != "idle" and not chat.is_agent:
        for message in messages:
            if message.role == "user" and message.created_by is not None and not message.removed:
                texts = [part.text for part in message.parts if isinstance(part, Text)]
                add("user_prompt", message.id, {"message_id": message.id, "prompt": "\n".join(texts)})
    if calls_put:
        known = {call.call_id: call for call in before.calls} if before else {}
        for call in calls_put:
            _add_call(add, known.get(call.call_id), call)
    for end in turns_ended:
        data: dict[str, Json] = {"turn": end.number, "outcome": end.outcome, "answer_id": chat.answer_id}
        if end.failure is not None:
            data["reason"] = end.failure.message
        add("agent_end" if chat.is_agent else "turn_end", str(end.number), data)
    asks = chat.status == "requires_action"
    if asks and (before is None or before.chat.status != "requires_action"):
        waiting: list[Json] = [
            {"call_id": call.call_id, "kind": call.waits_for, "tool": call.name}
            for call in after.calls
            if call.state == "waiting" and not call.abandoned
        ]
        add("needs_you", str(chat.version), {"calls": waiting})
    return tuple(found)


def _add_call(
    add: Callable[[EventName, str, dict[str, Json]], None], before: Call | None, call: Call
) -> None:
    if before is None and call.state not in ("finished", "answered"):
        add("pre_tool", call.call_id, {"call_id": call.call_id, "tool": call.name, "input": None})
    ended = call.state in ("finished", "answered") and call.run > 0 and call.outcome is not None
    if ended and (before is None or before.state not in ("finished", "answered")):
        add(
            "post_tool",
            call.call_id,
            {
                "call_id": call.call_id,
                "tool": call.name,
                "input": call.input,
                "output": call.output,
                "outcome": call.outcome,
            },
        )
