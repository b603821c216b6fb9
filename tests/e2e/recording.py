"""Feeds of real chats as a browser receives them, written down for the page's reducer to replay:
`web/src/feed/replay.test.ts` reads what is written here."""

import http.client
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from tests.e2e.server import PATIENCE_SECONDS, Person

Event = dict[str, Any]
# What a feed is recorded until: a rest with everything told.
RESTS = ("idle", "error", "requires_action")


class Recording(msgspec.Struct, kw_only=True):
    """What was told on each connection, in order; and the history as REST has it in the end."""

    name: str
    connections: list[list[Event]]
    messages: list[dict[str, Any]]
    status: str


def record(
    who: Person,
    name: str,
    content: str,
    *,
    cut_after: tuple[int, ...] = (),
    meanwhile: Callable[[str, Event], None] | None = None,
) -> Recording:
    """Starts a chat and watches it until it rests. After so many events each the connection is cut, and
    resumed at the last event; `meanwhile` is called with every event."""
    chat_id: str = who.start_chat(content)["id"]
    connections: list[list[Event]] = []
    cursor: str | None = None
    for most in (*cut_after, None):
        told: list[Event] = []
        for event in _events(who, chat_id, cursor):
            told.append(event)
            cursor = event["id"] or cursor
            if meanwhile is not None:
                meanwhile(chat_id, event)
            if len(told) == most or (most is None and _is_over(told)):
                break
        connections.append(told)
    messages = who.get(f"chats/{chat_id}/messages?limit=200")["items"]
    status = who.get(f"chats/{chat_id}")["status"]
    return Recording(name=name, connections=connections, messages=messages, status=status)


def write(recording: Recording, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{recording.name}.feed.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(recording), indent=1) + b"\n")


def _is_over(told: list[Event]) -> bool:
    """It rests, and everything that was there when the connection began has been told."""
    if not any(one["event"] == "caught_up" for one in told):
        return False
    states = [one["data"]["status"] for one in told if one["event"] == "status"]
    return bool(states) and states[-1] in RESTS


def _events(who: Person, chat_id: str, cursor: str | None) -> Iterator[Event]:
    address = urlsplit(who.server.address)
    connection = http.client.HTTPConnection(address.netloc, timeout=PATIENCE_SECONDS)
    query = "" if cursor is None else f"?cursor={quote(cursor)}"
    try:
        connection.request(
            "GET", f"/api/v1/chats/{chat_id}/feed{query}", headers={"Authorization": f"Bearer {who.token}"}
        )
        response = connection.getresponse()
        assert response.status == 200, response.read()
        fields: dict[str, str] = {}
        for line in response:
            if text := line.decode().rstrip("\n"):
                name, _, value = text.partition(":")
                fields[name] = value.removeprefix(" ")
            elif "data" in fields:
                data = msgspec.json.decode(fields["data"])
                yield {"event": fields["event"], "id": fields.get("id"), "data": data}
                fields = {}
    finally:
        connection.close()
