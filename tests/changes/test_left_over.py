"""An act on files that is cut off at any file is brought to its end later: never half."""

from collections.abc import Mapping

import pytest

from holdfast.changes import acts as acts_module
from holdfast.changes.entries import Contents, WantedState
from holdfast.changes.placing import put_all
from holdfast.core.ids import ChatId, MessageId
from holdfast.store import chats
from holdfast.workspaces.files.file_root import Tree
from holdfast.workspaces.files.git_guard import Guard
from tests.api.serving import Serving
from tests.changes.test_changes import call, run, started
from tests.changes.trees import tree_of


class Killed(BaseException):
    """Nothing of ours runs after it, as after SIGKILL."""


@pytest.mark.parametrize("written", [0, 1, 2, 3])
async def test_a_rewind_that_was_cut_off_is_ended(
    server: Serving, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    chat_id, root = await started(server)
    before = tree_of(root)
    script = "".join(call("write_file", path=f"new/{n}.txt", content=f"{n}\n") for n in range(3))
    script += call("write_file", path="hello.py", content="changed\n")
    message = await run(server.admin, chat_id, script + "say: done")
    after = tree_of(root)
    control, store = server.parts.toolbox.changes, server.parts.services.store
    chat = await store.read(chats.chat(ChatId(chat_id)))
    assert chat is not None

    def cut_off(
        tree: Tree, wanted: Mapping[str, WantedState], contents: Contents, guard: Guard
    ) -> dict[str, str]:
        some = dict(sorted(wanted.items(), reverse=True)[:written])
        put_all(tree, some, contents, guard)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(acts_module, "put_all", cut_off)
        with pytest.raises(Killed):
            await control.rewind(chat, MessageId(message["id"]), "both", chat.owner_id, preview=False)
    assert tree_of(root) != before
    if not written:
        assert tree_of(root) == after
    assert await control.finish_left_over(0) == 1
    assert tree_of(root) == before
    assert await control.finish_left_over(0) == 0
    listed = (await server.admin.get(f"chats/{chat_id}/changes")).json
    assert {item["state"] for item in listed["items"]} == {"reverted"}
