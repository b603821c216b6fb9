"""Chats that were started as a named agent: which model answers is seen before it does."""

from tests.api.serving import Client

QUICK = {"provider": "demo", "model": "demo", "efforts": ["low", "high"]}


async def as_agent(admin: Client, **more: object) -> tuple[str, str]:
    """An agent with a model of its own, and a chat that runs as it."""
    for name in ("quick", "other"):
        assert (await admin.put(f"model-configs/{name}", QUICK)).status == 200
    agent = await admin.post("agents", {"name": "helper", "model": "quick", "effort": "low"})
    assert agent.status == 201, agent
    chat = await admin.start_chat("say: hi", agent="helper", **more)
    assert (chat["model"], chat["effort"]) == ("quick", "low")
    await admin.until_settled(chat["id"])
    return agent.json["id"], chat["id"]


async def shown(admin: Client, chat_id: str) -> tuple[str | None, str | None]:
    """The same wherever one looks."""
    chat = await admin.chat(chat_id)
    (listed,) = [each for each in (await admin.get("chats")).json["items"] if each["id"] == chat_id]
    assert (listed["model"], listed["effort"]) == (chat["model"], chat["effort"])
    return chat["model"], chat["effort"]


async def test_the_agents_model_is_shown_and_answers(admin: Client) -> None:
    agent, chat_id = await as_agent(admin)
    assert await shown(admin, chat_id) == ("quick", "low")
    answer = (await admin.messages(chat_id))[-1]
    assert (answer["model"], answer["effort"]) == ("quick", "low")
    await admin.patch(f"agents/{agent}", {"model": "other", "effort": None})
    assert await shown(admin, chat_id) == ("other", None)
    await admin.post(f"chats/{chat_id}/messages", {"content": "say: ho"})
    await admin.until_settled(chat_id)
    assert (await admin.messages(chat_id))[-1]["model"] == "other"
    assert (await admin.delete(f"agents/{agent}")).status == 204
    assert await shown(admin, chat_id) == (None, None)


async def test_a_choice_for_the_chat_goes_before_it_and_is_taken_back(admin: Client) -> None:
    _, chat_id = await as_agent(admin)
    path = f"chats/{chat_id}"
    assert (await admin.patch(path, {"title": "x"})).json["model"] == "quick"
    raised = await admin.patch(path, {"effort": "high"})
    assert (raised.json["model"], raised.json["effort"]) == ("quick", "high")
    own = await admin.patch(path, {"model": "other", "effort": None})
    assert (own.json["model"], own.json["effort"]) == ("other", "low")
    assert await shown(admin, chat_id) == ("other", "low")
    back = await admin.patch(path, {"model": None})
    assert (back.json["model"], back.json["effort"]) == ("quick", "low")
    assert await shown(admin, chat_id) == ("quick", "low")
    fork = await admin.post(f"{path}/fork", {})
    assert (fork.json["model"], fork.json["effort"]) == ("quick", "low")


async def test_an_effort_is_one_of_the_agents_model(admin: Client) -> None:
    _, chat_id = await as_agent(admin, effort="low")
    for method, path, body in (
        ("POST", "chats", {"content": "say: hi", "agent": "helper", "effort": "extreme"}),
        ("POST", f"chats/{chat_id}/messages", {"content": "say: hi", "effort": "extreme"}),
        ("PATCH", f"chats/{chat_id}", {"effort": "extreme"}),
    ):
        refused = await admin.request(method, path, body)
        assert (refused.status, refused.json["errors"][0]["field"]) == (422, "effort"), path
        assert "low, high" in refused.json["detail"]
