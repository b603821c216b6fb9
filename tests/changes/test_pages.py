"""The list of changes is bounded: pages of it, and so many lines in one answer."""

import pytest

from holdfast.changes import looking
from tests.api.serving import Serving
from tests.changes.test_changes import call, run, started


async def test_many_changes_come_in_pages_and_with_so_many_lines(
    server: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = server.admin
    chat_id, _ = await started(server)
    names = [f"{number}.txt" for number in range(5)]
    script = "".join(call("write_file", path=name, content="a line\n" * 20) for name in names)
    await run(admin, chat_id, script + "say: done")
    path = f"chats/{chat_id}/changes"
    whole = (await admin.get(path)).json
    assert [item["path"] for item in whole["items"]] == names
    assert (whole["next_cursor"], any(item["diff_left_out"] for item in whole["items"])) == (None, False)
    assert whole["checkpoints"]

    found: list[str] = []
    cursor = ""
    page = whole
    for _ in range(3):
        page = (await admin.get(f"{path}?limit=2{cursor}")).json
        found += [item["path"] for item in page["items"]]
        # Checkpoints are told once.
        assert bool(page["checkpoints"]) == (cursor == "")
        cursor = f"&cursor={page['next_cursor']}"
    assert (found, page["next_cursor"]) == (names, None)
    # A page goes on where it was, also when its last file was changed meanwhile.
    first = (await admin.get(f"{path}?limit=2")).json
    edit = {"path": "1.txt", "content": "again\n"}
    await run(admin, chat_id, call("write_file", **edit) + "say: done")
    rest = (await admin.get(f"{path}?cursor={first['next_cursor']}")).json["items"]
    assert [item["path"] for item in rest] == names[1:]
    assert (await admin.get(f"{path}?cursor=nonsense")).code == "invalid_input"
    assert (await admin.get(f"{path}?limit=201")).code == "invalid_input"

    monkeypatch.setattr(looking, "DIFFS_CHARACTERS", 400)
    cut = (await admin.get(path)).json["items"]
    assert sum(len(item["diff"]) for item in cut) <= 400
    left_out = [item for item in cut if item["diff_left_out"]]
    assert [item["diff"] for item in left_out] == [""] * len(left_out)
    assert left_out[-1]["additions"] == 20
    one = await admin.get(f"{path}/{left_out[-1]['id']}")
    assert one.json == {**left_out[-1], "diff": one.json["diff"], "diff_left_out": False}
    assert one.json["diff"].count("+a line") == 20
    member = await server.member("mona")
    assert (await member.get(f"{path}/{left_out[-1]['id']}")).status == 404
    assert (await admin.get(f"{path}/nothing")).status == 404
    # What a decision answers is bounded too.
    undone = await admin.post(f"{path}/undo", {"all": True})
    assert sum(len(item["diff"]) for item in undone.json["items"]) <= 400
    assert len(undone.json["items"]) == 5
