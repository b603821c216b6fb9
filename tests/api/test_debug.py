"""The debug record over HTTP: switching it on, reading it, hearing of it, and whose it is."""

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from holdfast.config.sections import Config
from tests.api.serving import Client, Serving, config_for, serving
from tests.api.watching import Watcher, watching

TWO_STEPS = 'call: todo {"items": []}\nsay: Done.'


def told(watcher: Watcher) -> list[dict[str, Any]]:
    """The runs of the debug events that came."""
    return [data["debug_run"] for name, _, data in watcher.events if name == "debug"]


async def recorded(client: Client, chat_id: str) -> list[dict[str, Any]]:
    """Its runs, when the newest turn is written. The feed tells of it."""
    async with watching(client, chat_id) as watcher:
        await watcher.until(lambda _: any(run["status"] == "completed" for run in told(watcher)))
    return (await client.get(f"chats/{chat_id}/debug/runs")).json["items"]


async def test_a_chat_that_is_switched_on(server: Serving) -> None:
    admin = server.admin
    silent = await admin.start_chat("say: Nothing of this is recorded.")
    assert silent["debug"] is False
    await admin.until_settled(silent["id"])
    changed = await admin.patch(f"chats/{silent['id']}", {"debug": True})
    assert (changed.status, changed.json["debug"]) == (200, True)
    assert (await admin.get(f"chats/{silent['id']}")).json["debug"] is True
    await admin.post(f"chats/{silent['id']}/messages", {"content": "say: But this is."})
    (run,) = await recorded(admin, silent["id"])
    assert (run["turn"], run["summary"]["first_message"]) == (2, "say: But this is.")


async def test_a_record_is_read_step_by_step(server: Serving) -> None:
    admin = server.admin
    chat = await admin.start_chat(TWO_STEPS, debug=True)
    (run,) = await recorded(admin, chat["id"])
    path = f"chats/{chat['id']}/debug/runs/{run['id']}"
    whole = (await admin.get(path)).json
    assert {name: value for name, value in whole.items() if name in run} == run
    assert [step["number"] for step in whole["steps"]] == [1, 2]
    assert whole["next_step"] is None
    first = (await admin.get(f"{path}?limit=1")).json
    assert (first["steps"], first["next_step"]) == (whole["steps"][:1], 2)
    assert (await admin.get(f"{path}?first_step=2&limit=1")).json["steps"] == whole["steps"][1:]
    assert (await admin.get(f"{path}?first_step=0")).status == 422
    # Only what is not in history is known by the record alone.
    diff = (await admin.get(f"chats/{chat['id']}/context/diff?after=step-1-1")).json
    texts = {segment["kind"]: segment["text"] for segment in diff["added"]}
    assert texts["system"]
    assert "apply_changes" in texts["tools"]


async def test_everybody_who_watches_hears_of_it(server: Serving) -> None:
    admin = server.admin
    chat = await admin.start_chat("say: One.", debug=True)
    await recorded(admin, chat["id"])
    async with watching(admin, chat["id"]) as one, watching(admin, chat["id"], "websocket") as other:
        await admin.post(f"chats/{chat['id']}/messages", {"content": "say: Two."})
        await one.until(lambda _: any(run["turn"] == 2 and run["finished_at"] for run in told(one)))
        await other.until(lambda _: any(run["turn"] == 2 and run["finished_at"] for run in told(other)))


async def test_pages(server: Serving) -> None:
    admin = server.admin
    chat = await admin.start_chat("say: 1", debug=True)
    await admin.until_settled(chat["id"])
    for number in (2, 3):
        await admin.post(f"chats/{chat['id']}/messages", {"content": f"say: {number}"})
        await admin.until_settled(chat["id"])
    async with watching(admin, chat["id"]) as watcher:
        await watcher.until(
            lambda _: {run["turn"] for run in told(watcher) if run["status"] == "completed"} == {1, 2, 3}
        )
    path = f"chats/{chat['id']}/debug/runs"
    page = (await admin.get(f"{path}?limit=2")).json
    rest = (await admin.get(f"{path}?limit=2&cursor={page['next_cursor']}")).json
    assert [run["turn"] for run in (*page["items"], *rest["items"])] == [3, 2, 1]
    assert rest["next_cursor"] is None
    assert (await admin.get(f"{path}?cursor=nonsense")).status == 422


async def test_nobody_else_reads_it(server: Serving) -> None:
    admin, member = server.admin, await server.member()
    chat = await admin.start_chat("say: Mine.", debug=True)
    (run,) = await recorded(admin, chat["id"])
    path = f"chats/{chat['id']}/debug/runs"
    own = await member.start_chat("say: Theirs.")
    for wrong in (path, f"{path}/{run['id']}", f"chats/{own['id']}/debug/runs/{run['id']}"):
        assert (await member.get(wrong)).status == 404
    assert (await admin.get(f"{path}/{chat['id']}")).status == 404
    assert (await admin.get(f"{path}/x")).status == 404


async def test_a_person_switches_it_on_for_all_their_chats(server: Serving) -> None:
    admin, member = server.admin, await server.member()
    await member.patch("settings", {"debug": True})
    chat = await member.start_chat("say: Recorded.")
    assert len(await recorded(member, chat["id"])) == 1
    of_another = await admin.start_chat("say: Not recorded.")
    await admin.until_settled(of_another["id"])
    assert (await admin.get(f"chats/{of_another['id']}/debug/runs")).json["items"] == []


async def test_a_server_that_has_none(tmp_path: Path) -> None:
    section = replace(Config().debug, mode="off")
    async with serving(config_for(tmp_path / "data", debug=section)) as server:
        refused = await server.admin.post("chats", {"content": "say: Hello.", "debug": True})
        assert (refused.status, refused.json["errors"][0]["field"]) == (422, "debug")
        chat = await server.admin.start_chat("say: Hello.")
        await server.admin.until_settled(chat["id"])
        assert (await server.admin.patch(f"chats/{chat['id']}", {"debug": True})).status == 422
        assert (await server.admin.patch(f"chats/{chat['id']}", {"debug": False})).status == 200
