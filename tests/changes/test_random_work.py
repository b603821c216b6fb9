"""Random work in one workspace: an agent whose changes wait for review, a second agent that writes directly,
a person; random applies, rejects, undos and rewinds, some of them killed at a write. Not a line of the
person's is lost, and a draft that is applied as a whole is what the workspace then is."""

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from holdfast.changes import acts as acts_module
from holdfast.changes.control import ChangeControl
from holdfast.changes.entries import Contents, WantedState
from holdfast.changes.placing import put_all
from holdfast.changes.selection import ChangeSelection
from holdfast.core.errors import HoldfastError
from holdfast.core.ids import MessageId
from holdfast.workspaces.files.file_root import Tree
from holdfast.workspaces.files.git_guard import Guard
from tests.api.serving import Serving
from tests.api.test_workspaces import workspace
from tests.changes.test_changes import call, run, walled
from tests.changes.test_left_over import Guillotine, Killed, chat_of
from tests.changes.trees import tree_of

NAMES = ("a.txt", "dir/b.txt", "ü x.txt", "crlf.txt")
ACTS = 20
MANY = range(100, 130)


class RandomWork:
    """`review` is the chat with a draft, `direct` the one that writes into the workspace."""

    def __init__(
        self, server: Serving, root: Path, review: str, direct: str, patch: pytest.MonkeyPatch, seed: int
    ) -> None:
        self.server = server
        self.root = root
        self.draft = server.data / "drafts" / review
        self.review = review
        self.direct = direct
        self.random = Random(seed)
        self.done: list[str] = []
        self._patch = patch
        self._number = 0

    def token(self, who: str) -> str:
        self._number += 1
        return f"{who} {self._number}"

    # --- who writes ---

    def person(self) -> None:
        """Adds lines, replaces those that are not their own, makes files."""
        token = self.token("person")
        file = self.root / self.random.choice((*NAMES[:1] * 4, *NAMES, f"{token}.txt"))
        lines = file.read_bytes().splitlines(keepends=True) if file.exists() else []
        end = "\r\n" if file.name == "crlf.txt" else "\n"
        at = self.random.randint(0, len(lines))
        replaces = at < len(lines) and not lines[at].startswith(b"person") and self.random.random() < 0.5
        lines[at : at + replaces] = [f"{token}{end}".encode()]
        file.write_bytes(b"".join(lines))

    def script(self, who: str, place: Path) -> str:
        """Something that an agent does who sees `place`."""
        token, name = self.token(who), self.random.choice((*NAMES[:1] * 4, *NAMES))
        file = place / name
        text = file.read_bytes().decode() if file.exists() else ""
        lines = [line for line in text.splitlines() if text.count(line) == 1]
        match self.random.choice(("edit", "edit", "edit", "create", "command", "mode", "delete")):
            case "edit" if lines:
                line = self.random.choice(lines)
                new = token if line.startswith("base") else f"{line}\n{token}"
                edit = {"path": name, "old": line, "new": new}
                return call("read_file", path=name) + call("edit_files", edits=[edit])
            case "command":
                return call("execute", command=f"printf '%s\\n' '{token}' >> 'dir/by command.txt'")
            case "mode":
                return call("execute", command=f"chmod {self.random.choice(('700', '644'))} {NAMES[0]}")
            case "delete" if made := [one for one in place.glob("new/*") if one.read_text().startswith(who)]:
                return call("delete_file", path=f"new/{self.random.choice(made).name}")
            case _:
                return call("write_file", path=f"new/{token}.txt", content=f"{token}\n")

    async def agent(self, who: str) -> None:
        chat_id = self.review if who == "review" else self.direct
        place = self.draft if who == "review" and self.draft.exists() else self.root
        calls = "".join(self.script(who, place) for _ in range(2))
        await run(self.server.admin, chat_id, calls + "say: done")

    # --- what is decided ---

    async def decide(self, verbs: tuple[str, ...]) -> None:
        """An act that may be killed, and what is left over ended."""
        verb = self.random.choice(verbs)
        chat_id = self.direct if verb == "rewind" else self.random.choice((self.review, self.direct))
        chat = await chat_of(self.server, self.review if verb in ("apply", "reject") else chat_id)
        chosen = ChangeSelection(everything=True)
        if self.random.random() < 0.6:
            listed = (await self.server.admin.get(f"chats/{chat.id}/changes")).json["items"]
            if listed:
                chosen = ChangeSelection(paths=(self.random.choice(listed)["path"],))
        said = [one for one in await self.server.admin.messages(chat_id) if one["role"] == "user"]
        message = MessageId(self.random.choice(said)["id"])
        control: ChangeControl = self.server.parts.toolbox.changes
        with self._patch.context() as patched:
            self._maybe_kill(patched)
            try:
                if verb == "rewind":
                    await control.rewind(chat, message, "files", chat.owner_id, preview=False)
                else:
                    await getattr(control, verb)(chat, chosen, chat.owner_id)
            except Killed:
                verb = f"{verb}, killed"
            except HoldfastError as error:
                verb = f"{verb}, refused: {error.text}"
        self.done.append(verb)
        await control.finish_left_over(0)
        assert await control.finish_left_over(0) == 0

    def _maybe_kill(self, patched: pytest.MonkeyPatch) -> None:
        match self.random.choice(("nowhere", "files", "rows")):
            case "files":
                written = self.random.randint(0, 3)

                def some(
                    tree: Tree, wanted: Mapping[str, WantedState], contents: Contents, guard: Guard
                ) -> dict[str, str]:
                    put_all(tree, dict(sorted(wanted.items())[:written]), contents, guard)
                    raise Killed

                patched.setattr(acts_module, "put_all", some)
            case "rows":
                store: Any = self.server.parts.services.store
                Guillotine(patched, store, self.random.randint(0, 3), after=self.random.random() < 0.5)
            case _:
                pass

    def persons_lines(self) -> dict[str, set[bytes]]:
        return {
            str(file.relative_to(self.root)): {
                line for line in file.read_bytes().splitlines() if line.startswith(b"person")
            }
            for file in self.root.rglob("*")
            if ".git" not in file.parts and file.is_file()
        }


async def begun(server: Serving, patch: pytest.MonkeyPatch, seed: int) -> RandomWork:
    if not walled(server):
        pytest.skip("without a wall there are no drafts")
    workspace_id, root = await workspace(server)
    for name in NAMES:
        file = root / name
        file.parent.mkdir(exist_ok=True)
        end = "\r\n" if name == "crlf.txt" else "\n"
        file.write_bytes("".join(f"base {n} of {name}{end}" for n in range(4)).encode())
    chats = [
        await server.admin.start_chat("say: hello", workspace_id=workspace_id, writes=writes)
        for writes in ("review", "direct")
    ]
    for chat in chats:
        await server.admin.until_settled(chat["id"])
    return RandomWork(server, root, chats[0]["id"], chats[1]["id"], patch, seed)


async def work_together(server: Serving, patch: pytest.MonkeyPatch, seed: int) -> None:
    work = await begun(server, patch, seed)
    for _ in range(ACTS):
        what = work.random.choice(("person", "review", "direct", "decide"))
        work.done.append(what)
        before = work.persons_lines()
        match what:
            case "person":
                work.person()
            case "decide":
                await work.decide(("apply", "apply", "reject", "undo", "rewind"))
            case who:
                await work.agent(who)
        after = work.persons_lines()
        for path, lines in before.items():
            assert lines <= after.get(path, set()), (path, work.done)


async def review_alone(server: Serving, patch: pytest.MonkeyPatch, seed: int) -> None:
    work = await begun(server, patch, seed)
    for _ in range(ACTS):
        if work.random.random() < 0.6:
            await work.agent("review")
        else:
            await work.decide(("apply", "reject"))
    await work.agent("review")
    control: ChangeControl = server.parts.toolbox.changes
    chat = await chat_of(server, work.review)
    applied = await control.apply(chat, ChangeSelection(everything=True), chat.owner_id)
    assert applied.conflicts == (), work.done
    assert tree_of(work.root, without_git=True) == tree_of(work.draft, without_git=True), work.done


@pytest.mark.heavy
async def test_no_line_of_a_person_is_lost(server: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    await work_together(server, monkeypatch, 103)


@pytest.mark.heavy
async def test_the_draft_applied_is_the_workspace(server: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    await review_alone(server, monkeypatch, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
async def test_no_line_of_a_person_is_lost_ever(
    server: Serving, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    await work_together(server, monkeypatch, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
async def test_the_draft_applied_is_always_the_workspace(
    server: Serving, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    await review_alone(server, monkeypatch, seed)
