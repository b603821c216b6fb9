"""What fills a chat's context, and what changed between two requests."""

from pathlib import Path

from holdfast.providers.configs import ModelConfig, ProviderConfig
from tests.api.serving import Serving, config_for, serving


async def test_what_fills_the_context(server: Serving) -> None:
    admin = server.admin
    chat = await admin.start_chat('call: todo {"items": []}\nsay: Done.')
    await admin.until_settled(chat["id"])
    context = (await admin.get(f"chats/{chat['id']}/context")).json
    kinds = [segment["kind"] for segment in context["segments"]]
    assert kinds[0] == "system"
    assert "tools" in kinds
    # The last answer came after the last request, and fills the next one.
    assert [segment["label"] for segment in context["segments"] if segment["kind"] == "message"][-1] == (
        "assistant: Done."
    )
    assert context["used"] == sum(segment["tokens"] for segment in context["segments"])
    assert context["threshold"] == 70


async def test_what_changed_since_the_request_before(server: Serving) -> None:
    admin = server.admin
    chat = await admin.start_chat('call: todo {"items": []}\nsay: Done.')
    await admin.until_settled(chat["id"])
    path = f"chats/{chat['id']}/context/diff"
    diff = (await admin.get(f"{path}?after=step-1-2")).json
    assert [segment["label"] for segment in diff["added"]] == ["assistant: todo", "tool: todo"]
    assert diff["dropped"] == []
    assert (await admin.get(path)).json == diff
    assert "todo" in diff["added"][0]["text"]
    assert (await admin.get(f"{path}?after=step-1-2&before=step-1-1")).json == diff
    first = (await admin.get(f"{path}?after=model-1-1")).json
    assert (first["kept"], first["added"][0]["kind"]) == (0, "system")
    back = (await admin.get(f"{path}?after=step-1-1&before=step-1-2")).json
    assert [segment["label"] for segment in back["dropped"]] == ["assistant: todo", "tool: todo"]


async def test_steps_that_there_are_not(server: Serving) -> None:
    admin = server.admin
    chat = await admin.start_chat("say: Hello.")
    await admin.until_settled(chat["id"])
    path = f"chats/{chat['id']}/context/diff"
    assert (await admin.get(f"{path}?after=step-9-9")).status == 404
    assert (await admin.get(f"{path}?after=step-1-1&before=step-9-9")).status == 404
    assert (await admin.get(f"{path}?after=call-x")).status == 422


async def test_the_threshold_is_the_models(tmp_path: Path) -> None:
    config = config_for(
        tmp_path / "data",
        providers=(ProviderConfig(name="demo", kind="demo"),),
        models=(
            ModelConfig(name="default", provider="demo", model="demo"),
            ModelConfig(name="short", provider="demo", model="demo", compaction_threshold=30),
        ),
    )
    async with serving(config) as server:
        for model, threshold in ((None, 70), ("short", 30)):
            chat = await server.admin.start_chat("say: Hello.", **({} if model is None else {"model": model}))
            await server.admin.until_settled(chat["id"])
            context = (await server.admin.get(f"chats/{chat['id']}/context")).json
            assert context["threshold"] == threshold
