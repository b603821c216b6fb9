"""Searching and reading the owner's other chats: found by words, in pages, and nobody else's."""

from typing import Any

import pytest

from holdfast.core.ids import CallId, ChatId, UserId
from holdfast.tools.approval import ApprovalRules
from holdfast.tools.chats import PAGE_MESSAGES, chat_tools
from holdfast.tools.contract import ToolAnswer, ToolContext, ToolError
from tests.providers.replies import say
from tests.tools.families import Scene
from tests.worker.engine import OWNER

HERE = ChatId("01890000-0000-7000-8000-0000000000ff")


async def ask(scene: Scene, name: str, owner: UserId = OWNER, **given: Any) -> dict[str, Any]:
    tool = next(tool for tool in chat_tools(scene.engine.store) if tool.name == name)
    assert tool.run is not None
    context = ToolContext(chat_id=HERE, owner_id=owner, workspace_id=None, call_id=CallId("c"), run=1)
    answer = tool.run(context, tool.parse(given))
    assert not isinstance(answer, ToolAnswer)
    output: Any = (await answer).output
    return output


async def talk(scene: Scene) -> ChatId:
    """A chat about a zebra, with its answer."""
    scene.start()
    chat_id = await scene.engine.create(f"the zebra crossing {scene.script(say('striped indeed'))}")
    await scene.engine.idle(chat_id)
    return chat_id


async def test_a_chat_is_found_by_its_words_and_read_in_pages(scene_everywhere: Scene) -> None:
    scene = scene_everywhere
    chat_id = await talk(scene)
    found = await ask(scene, "search_chats", query="striped")
    assert [(one["chat_id"], one["line"]) for one in found["chats"]] == [(chat_id, "striped indeed")]
    assert [one["chat_id"] for one in (await ask(scene, "search_chats", query="zebra"))["chats"]] == [chat_id]
    assert (await ask(scene, "search_chats", query="giraffe"))["chats"] == []
    read = await ask(scene, "read_chat", chat_id=chat_id)
    assert [(one["role"], one["text"]) for one in read["messages"]] == [
        ("user", "the zebra crossing [script 1]"),
        ("assistant", "striped indeed"),
    ]
    assert read["next"] is None


async def test_chats_of_others_are_not_there(scene: Scene) -> None:
    chat_id = await talk(scene)
    stranger = UserId("01890000-0000-7000-8000-0000000000aa")
    assert (await ask(scene, "search_chats", stranger, query="zebra"))["chats"] == []
    for wanted in (chat_id, "nonsense", "01890000-0000-7000-8000-0000000000bb"):
        with pytest.raises(ToolError, match="There is no chat"):
            await ask(scene, "read_chat", stranger, chat_id=wanted)


async def test_a_person_is_asked_first(scene: Scene) -> None:
    for tool in chat_tools(scene.engine.store):
        assert ApprovalRules(walled=True).judge(tool)[0] == "ask"
    assert PAGE_MESSAGES < 50
