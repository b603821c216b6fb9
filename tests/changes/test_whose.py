"""Whose a change is: of calls that run at the same time, of one that was interrupted, of one whose server
died."""

import json

import pytest

from holdfast.changes.checkpoints import Checkpoints
from holdfast.core.calls import CallMoment
from holdfast.core.ids import CallId, ChatId, WorkspaceId
from holdfast.store import changes as stored
from holdfast.store import chats
from tests.api.serving import Serving
from tests.changes.test_changes import changes, run, started, walled
from tests.changes.trees import tree_of
from tests.workspaces.rooms import until


async def test_calls_at_the_same_time_lose_nothing(server: Serving) -> None:
    admin = server.admin
    chat_id, root = await started(server)
    before = tree_of(root)
    writes = [f'write_file {{"path": "{n}.txt", "content": "{n}"}}' for n in range(8)]
    message = await run(admin, chat_id, f"calls: {'; '.join(writes)}\n" * 2 + "say: done")
    assert {item["path"] for item in await changes(admin, chat_id)} == {f"{n}.txt" for n in range(8)}
    rewind = {"message_id": message["id"], "what": "files"}
    assert (await admin.post(f"chats/{chat_id}/changes/rewind", rewind)).status == 200
    assert tree_of(root) == before


async def test_what_an_interrupted_command_changed_is_rewound(server: Serving) -> None:
    if not walled(server):
        pytest.skip("without a wall commands ask")
    admin = server.admin
    chat_id, root = await started(server)
    before = tree_of(root)
    command = "echo half > half.txt; sleep 60"
    sent = await admin.post(
        f"chats/{chat_id}/messages", {"content": f"call: execute {json.dumps({'command': command})}\nsay: x"}
    )
    await until((root / "half.txt").exists, "the command writes")
    await admin.post(f"chats/{chat_id}/interrupt")
    await admin.until_settled(chat_id)
    assert [item["path"] for item in await changes(admin, chat_id)] == ["half.txt"]
    rewind = {"message_id": sent.json["message"]["id"], "what": "files"}
    await admin.post(f"chats/{chat_id}/changes/rewind", rewind)
    assert tree_of(root) == before


class Killed(BaseException):
    """Nothing of ours runs after it, as after SIGKILL."""


@pytest.mark.parametrize("written", [False, True])
async def test_what_a_killed_server_did_not_note_is_noted_later_and_once(
    server: Serving, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    """Killed at the write of the checkpoint: before it, and after it but before the look counts as seen."""
    chat_id, root = await started(server)
    store, workspaces = server.parts.services.store, server.parts.services.workspaces
    clock, ids = server.parts.services.clock, server.parts.services.ids
    chat = await store.read(chats.chat(ChatId(chat_id)))
    assert chat is not None

    def moment(call_id: str) -> CallMoment:
        return CallMoment(
            chat_id=chat.id,
            owner_id=chat.owner_id,
            workspace_id=WorkspaceId(chat.workspace_id or ""),
            call_id=CallId(call_id),
            turn=2,
            step=1,
        )

    first = Checkpoints(store, workspaces, server.data, clock, ids)
    await first.before(moment("one"))
    (root / "new.txt").write_text("new\n")
    real = store.write

    async def killed(*given: object) -> None:
        if written:
            await real(*given)  # pyright: ignore[reportArgumentType]
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(store, "write", killed)
        with pytest.raises(Killed):
            await first.after(moment("one"))
    # Another process: a person wrote meanwhile, and cannot be told apart; nothing is lost, or listed twice.
    second = Checkpoints(store, workspaces, server.data, clock, ids)
    await second.before(moment("two"))
    (root / "later.txt").write_text("later\n")
    await second.after(moment("two"))
    rows = await store.read(stored.of_family(chat.id))
    noted = [(row.path, row.call_id) for row in rows]
    assert noted == [("new.txt", "one"), ("later.txt", "two")]
    assert not (server.data / "shadow" / str(chat.workspace_id) / "open").exists()
