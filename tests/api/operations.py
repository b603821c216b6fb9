"""Every operation that the OpenAPI document names, with ids of things that exist."""

from typing import Any

from holdfast.api.app import document
from tests.api.serving import Client


class Ids(dict[str, str]):
    """Of things that exist, and of nothing where there is none."""

    def __missing__(self, name: str) -> str:
        return "01890000-0000-7000-8000-000000000000"


def operations(ids: Ids) -> list[tuple[str, str, bool]]:
    """The method, the path, and whether it takes a body. What deletes comes last."""
    paths: dict[str, dict[str, Any]] = document()["paths"]
    found = [
        (method.upper(), path.format_map(ids), "requestBody" in operation)
        for path, item in paths.items()
        for method, operation in item.items()
        if method in ("get", "post", "put", "patch", "delete")
    ]
    return sorted(found, key=lambda one: one[0] == "DELETE")


async def a_chat_and_all(admin: Client) -> Ids:
    chat = await admin.start_chat('call: todo {"items": []}\nsay: hi')
    await admin.until_settled(chat["id"])
    messages = await admin.messages(chat["id"])
    agent = await admin.post("agents", {"name": "mine"})
    script = "meta = {'name': 'x', 'description': 'y'}\nreturn 1"
    run = await admin.post("workflow-runs", {"script": script, "language": "python"})
    flow = "{name: f, description: d, steps: [{id: a, kind: approval, text: ok?}]}"
    flow_run = await admin.post("flow-runs", {"flow": flow})
    me = await admin.get("session")
    token = await admin.post("tokens", {"name": "spare", "scopes": ["chats:read"]})
    return Ids(
        chat_id=chat["id"],
        message_id=messages[0]["id"],
        call_id=messages[1]["parts"][0]["call_id"],
        item_id=messages[0]["id"],
        span_id="turn-1",
        agent_id=agent.json["id"],
        run_id=run.json["id"],
        flow_run_id=flow_run.json["id"],
        step_id="a",
        user_id=me.json["user"]["id"],
        token_id=token.json["token"]["id"],
        name="nothing",
    )
