"""An act on files that is cut off at any write is brought to its end later: never half."""

from collections.abc import Mapping
from typing import Any

import pytest

from holdfast.changes import acts as acts_module
from holdfast.changes.control import ChangeControl
from holdfast.changes.entries import Contents, WantedState
from holdfast.changes.placing import put_all
from holdfast.changes.selection import ChangeSelection
from holdfast.core.chats import Chat
from holdfast.core.ids import ChatId, MessageId
from holdfast.store import chats
from holdfast.workspaces.files.file_root import Tree
from holdfast.workspaces.files.git_guard import Guard
from tests.api.serving import Serving
from tests.changes.test_changes import call, changes, run, started
from tests.changes.test_review import drafting
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


class Guillotine:
    """Lets so many writes of the database through, and is a SIGKILL at the next one: before or after it."""

    def __init__(self, patched: pytest.MonkeyPatch, store: Any, left: int, *, after: bool) -> None:
        self.left = left
        for name in ("write", "transition"):
            patched.setattr(store, name, self._watched(getattr(store, name), after))

    def _watched(self, real: Any, after: bool) -> Any:
        async def write(*given: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left < 0 and not after:
                raise Killed
            done = await real(*given, **named)
            if self.left < 0:
                raise Killed
            return done

        return write


async def chat_of(server: Serving, chat_id: str) -> Chat:
    chat = await server.parts.services.store.read(chats.chat(ChatId(chat_id)))
    assert chat is not None
    return chat


async def cut_off(server: Serving, monkeypatch: pytest.MonkeyPatch, act: Any, left: int, after: bool) -> bool:
    """Whether it was; if not, it came to its end by itself. Then what is left over is ended."""
    control: ChangeControl = server.parts.toolbox.changes
    with monkeypatch.context() as patched:
        blade = Guillotine(patched, server.parts.services.store, left, after=after)
        try:
            await act(control)
        except Killed:
            pass
    await control.finish_left_over(0)
    assert await control.finish_left_over(0) == 0
    return blade.left < 0


async def test_a_rewind_killed_at_any_write_of_the_database(
    server: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files and conversation go back together, or neither does; and both can be brought back."""
    admin = server.admin
    chat_id, root = await started(server)
    before, spoken = tree_of(root), len(await admin.messages(chat_id))
    text = call("write_file", path="new.txt", content="new\n") + call("delete_file", path="hello.py")
    await run(admin, chat_id, text + "say: done")
    after, longer = tree_of(root), len(await admin.messages(chat_id))
    for at in range(20):
        # A rewind that was taken back has copied its messages: they have other ids.
        message = [one for one in await admin.messages(chat_id) if one["role"] == "user"][-1]
        chat = await chat_of(server, chat_id)

        async def rewind(control: ChangeControl, chat: Chat = chat, message: Any = message) -> None:
            await control.rewind(chat, MessageId(message["id"]), "both", chat.owner_id, preview=False)

        more = await cut_off(server, monkeypatch, rewind, at // 2, at % 2 == 1)
        said = len(await admin.messages(chat_id))
        assert (tree_of(root), said) in ((before, spoken), (after, longer)), at
        if said == spoken:
            kept = (await admin.get(f"chats/{chat_id}/changes")).json["checkpoints"]
            body = {"checkpoint": next(one["id"] for one in kept if one["kind"] == "rewind")}
            undone = await admin.post(f"chats/{chat_id}/changes/undo", body)
            assert undone.json["conflicts"] == [], at
            assert (tree_of(root), len(await admin.messages(chat_id))) == (after, longer), at
        if not more:
            break
    else:
        pytest.fail("the rewind never came to its end")


@pytest.mark.parametrize("verb", ["apply", "reject"])
async def test_a_review_killed_at_any_write_of_the_database(
    server: Serving, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """Everything that was decided counts, or nothing does; the list says which."""
    chat_id, root = await drafting(server)
    for at in range(20):
        before = tree_of(root)
        text = call("write_file", path="new.txt", content=f"{at}\n")
        await run(server.admin, chat_id, text + call("write_file", path=f"{at}", content="x") + "say: done")
        chat = await chat_of(server, chat_id)

        async def decide(control: ChangeControl, chat: Chat = chat) -> None:
            await getattr(control, verb)(chat, ChangeSelection(everything=True), chat.owner_id)

        more = await cut_off(server, monkeypatch, decide, at // 2, at % 2 == 1)
        listed = {one["path"]: one["state"] for one in await changes(server.admin, chat_id)}
        decided = listed[f"{at}"] != "pending"
        written = tree_of(root) != before
        draft = server.data / "drafts" / chat_id
        if verb == "apply":
            assert decided == written, at
            assert not decided or tree_of(root, without_git=True) == tree_of(draft, without_git=True)
        else:
            assert not written
            assert decided == (not (draft / f"{at}").exists()), at
        if not more:
            break
    else:
        pytest.fail("the review never came to its end")
