"""A workspace with something outside it that nobody may reach, and the calls of a chat in it."""

import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.core.errors import HoldfastError
from holdfast.core.ids import ChatId
from holdfast.workspaces.files.chat_files import ChatFiles, FileOutcome
from holdfast.workspaces.files.edits import PassageEdit
from holdfast.workspaces.files.file_root import Root, Tree
from holdfast.workspaces.files.openat2 import Open, kernel_open
from holdfast.workspaces.files.read_state import SeenFiles
from holdfast.workspaces.search.search_process import SearchFound, SearchRefused, SearchRequest, answer

SECRET = "the secret that must stay outside"
CHAT = ChatId("0199c000-0000-7000-8000-000000000001")
OTHER_CHAT = ChatId("0199c000-0000-7000-8000-000000000002")


class Stage:
    def __init__(self, base: Path) -> None:
        self.inside = base / "inside"
        self.outside = base / "outside"
        self.inside.mkdir()
        self.outside.mkdir()
        (self.outside / "secret.txt").write_text(SECRET)
        self.root = Root(self.inside)
        self.seen = SeenFiles()

    def files(self, chat_id: ChatId = CHAT, *, repeated: bool = False) -> ChatFiles:
        return ChatFiles(self.root, self.seen, chat_id, repeated=repeated)

    def read(self, path: str, first: int | None = None, last: int | None = None) -> str:
        return self.files().read(path, first, last).text

    def write(self, path: str, content: str) -> FileOutcome:
        return self.files().write(path, content)

    def edit(self, path: str, old: str, new: str, **more: bool) -> FileOutcome:
        return self.files().edit([(path, PassageEdit(old=old, new=new, **more))])

    def grep(self, pattern: str, path: str = ".", *, glob: str | None = None, context: int = 0) -> list[str]:
        return self._search(
            SearchRequest(parts=self.root.parse(path), pattern=pattern, glob=glob, context=context, limit=300)
        )

    def glob(self, pattern: str, path: str = ".") -> list[str]:
        return self._search(SearchRequest(parts=self.root.parse(path), pattern=None, glob=pattern, limit=300))

    def grep_apart(self, pattern: str) -> str:
        """As the searching process does it, with its alarm; how that process ended. It is a fork of this one,
        which must have no other threads: another user may not be able to start an interpreter."""
        request = SearchRequest(parts=(), pattern=pattern, glob=None, limit=300)
        child = os.fork()
        if not child:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            with self.root.open() as tree:
                for _ in answer(tree, request, lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)):
                    pass
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return {0: "answered", -signal.SIGALRM: "given up"}.get(code, f"ended with {code}")

    def _search(self, request: SearchRequest) -> list[str]:
        """In this process: what the searching process does, without starting it."""
        with self.root.open() as tree:
            events = list(answer(tree, request, lambda _: None))
        for event in events:
            if isinstance(event, SearchRefused):
                raise HoldfastError(event.text)
        return [event.text for event in events if isinstance(event, SearchFound)]

    def link(self, name: str, target: str | Path) -> None:
        path = self.inside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def kept_outside(self) -> None:
        assert (self.outside / "secret.txt").read_text() == SECRET
        assert os.listdir(self.outside) == ["secret.txt"]


@contextmanager
def tree_of(root: Root, *, kernel: bool) -> Generator[Tree]:
    """By the kernel's way or name by name."""
    way: Open | None = kernel_open() if kernel else None
    descriptor = os.open(root.path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield Tree(descriptor, way)
    finally:
        os.close(descriptor)


def refusal(what: object, *args: object) -> str:
    """The sentence with which something is refused."""
    assert callable(what)
    with pytest.raises(HoldfastError) as error:
        what(*args)
    told = error.value.text
    assert told.replace("\n", "").isprintable()
    return told
