"""Exported chats for tests: as small as they may be, and with everything in them."""

from typing import Any

CHAT_ID = "01890000-0000-7000-8000-000000000001"
OWNER_ID = "01890000-0000-7000-8000-0000000000ff"
AT = "2026-01-02T03:04:05.678Z"


def message_id(number: int) -> str:
    return f"01890000-0000-7000-8000-{number + 0x100:012x}"


def a_message(number: int, *parts: dict[str, Any], role: str = "user", **more: Any) -> dict[str, Any]:
    return {
        "id": message_id(number),
        "chat_id": CHAT_ID,
        "turn": 1,
        "role": role,
        "parts": list(parts),
        "revision": number + 1,
        "created_at": AT,
    } | more


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def call(call_id: str, name: str = "todo", **more: Any) -> dict[str, Any]:
    return {"type": "tool_call", "call_id": call_id, "name": name, "input": {"items": "none"}} | more


def result(call_id: str, name: str = "todo", **more: Any) -> dict[str, Any]:
    return {
        "type": "tool_result",
        "call_id": call_id,
        "name": name,
        "output": "done",
        "outcome": "succeeded",
    } | more


def an_export(*messages: dict[str, Any], **chat: Any) -> dict[str, Any]:
    return {
        "holdfast_export": 1,
        "chat": {"id": CHAT_ID, "title": "Kept", "owner_id": OWNER_ID} | chat,
        "messages": list(messages)
        or [a_message(0, text("hello")), a_message(1, text("hi"), role="assistant")],
    }
