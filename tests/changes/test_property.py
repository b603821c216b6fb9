"""Random edits by an agent and a person, and random acts that take the agent's back: not a byte of the
person's is lost, and without a person's edits the tree is again what it was."""

import os
import tempfile
from itertools import count
from pathlib import Path
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.changes.entries import WantedState
from holdfast.changes.placing import put_all, state_at
from holdfast.changes.reversing import reverse
from holdfast.changes.shadow import Shadow
from holdfast.core.changes import FileChange
from holdfast.core.clock import SystemClock
from holdfast.core.ids import ChatId
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.git_guard import Guard
from tests.changes.trees import tree_of

NAMES = ("a.txt", "dir/b.txt", "dir/deep/c.txt", "ü x.txt", "crlf.txt")
Who = Literal["agent", "person"]
Edit = tuple[Who, str, str, int]

EDITS = st.lists(
    st.tuples(
        st.sampled_from(("agent", "agent", "person")),
        st.sampled_from(NAMES),
        st.sampled_from(("insert", "replace", "remove", "delete", "create", "mode", "link")),
        st.integers(0, 30),
    ),
    max_size=12,
)


class Desk:
    """A workspace with its shadow, a person and an agent."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "work"
        self.path.mkdir()
        for name in NAMES:
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            end = "\r\n" if name == "crlf.txt" else "\n"
            file.write_bytes("".join(f"line {n}{end}" for n in range(30)).encode())
        self.root = Root(self.path)
        self.shadow = Shadow(directory / "shadow")
        self.rows: list[FileChange] = []
        self._numbers = count()
        self._clock = SystemClock()
        self.look("person")

    def look(self, who: Who) -> None:
        found = self.shadow.look(self.root)
        if who == "agent":
            self.rows += [
                FileChange(
                    id=f"{next(self._numbers):08}",
                    checkpoint_id="",
                    chat_id=ChatId("c"),
                    place="p",
                    turn=1,
                    step=1,
                    call_id=None,
                    path=each.path,
                    before=each.before,
                    after=each.after,
                    state="applied",
                    created_at=self._clock.now(),
                )
                for each in found.differences
            ]
        self.shadow.keep()

    def edit(self, who: Who, name: str, kind: str, at: int) -> None:
        self.look("person")
        file, token = self.path / name, f"{who} {next(self._numbers)}"
        if kind == "create" or not file.exists() or file.is_symlink():
            if file.is_symlink() or not file.exists():
                file.unlink(missing_ok=True)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(f"{token}\n")
        elif kind == "delete":
            file.unlink()
        elif kind == "mode":
            file.chmod(0o700)
        elif kind == "link" and who == "agent":
            file.unlink()
            os.symlink(token, file)
        else:
            lines = file.read_bytes().decode().splitlines(keepends=True)
            at = min(at, max(len(lines) - 1, 0))
            lines[at : at + (kind != "insert")] = [] if kind == "remove" else [f"{token}\n"]
            file.write_bytes("".join(lines).encode())
        self.look(who)

    def take_back(self, rows: list[FileChange]) -> set[str]:
        """The paths that were left alone."""
        objects = self.shadow.objects
        with self.root.open() as tree:
            reversal = reverse(rows, lambda path: state_at(tree, path, objects), objects)
            wanted = {each.path: WantedState(state=each.after) for each in reversal.files}
            assert put_all(tree, wanted, objects.get, Guard(self.path)) == {}
        self.look("person")
        return {action.path for action in reversal.actions if action.conflict is not None}

    def persons_lines(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for name in NAMES:
            file = self.path / name
            if file.is_file() and not file.is_symlink():
                lines = file.read_bytes().decode().splitlines()
                found[name] = {line for line in lines if line.startswith("person")}
        return found


@settings(max_examples=60, deadline=None)
@given(edits=EDITS, chosen=st.sets(st.sampled_from(NAMES)))
def test_no_line_of_a_person_is_lost(edits: list[Edit], chosen: set[str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        desk = Desk(Path(directory))
        for edit in edits:
            desk.edit(*edit)
        before = desk.persons_lines()
        desk.take_back([row for row in desk.rows if row.path in chosen])
        after = desk.persons_lines()
        for name, lines in before.items():
            assert lines <= after.get(name, set()), name


@settings(max_examples=60, deadline=None)
@given(edits=EDITS)
def test_without_a_person_the_tree_is_what_it_was(edits: list[Edit]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        desk = Desk(Path(directory))
        before = tree_of(desk.path)
        for _, name, kind, at in edits:
            desk.edit("agent", name, kind, at)
        assert desk.take_back(desk.rows) == set()
        assert tree_of(desk.path) == before
