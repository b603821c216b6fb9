"""What each chat has seen of files, so that a write notices changes by somebody else since. Kept in memory
and bounded: what is forgotten (a restart, many files) counts as never seen, and edits, which match by text,
are safe all the same."""

import threading
from collections import OrderedDict

from holdfast.core.errors import WrongState
from holdfast.core.ids import ChatId
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.paths import Parts, shown_path

REMEMBERED = 20_000

_Key = tuple[ChatId, Root, Parts]


class SeenFiles:
    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._fingerprints: OrderedDict[_Key, str] = OrderedDict()
        self._remembered = remembered
        # Tools write from threads.
        self._lock = threading.Lock()

    def note(self, chat_id: ChatId, root: Root, parts: Parts, fingerprint: str) -> None:
        key = (chat_id, root, parts)
        with self._lock:
            self._fingerprints[key] = fingerprint
            self._fingerprints.move_to_end(key)
            while len(self._fingerprints) > self._remembered:
                self._fingerprints.popitem(last=False)

    def forget(self, chat_id: ChatId, root: Root, parts: Parts) -> None:
        with self._lock:
            self._fingerprints.pop((chat_id, root, parts), None)

    def stale(self, root: Root, parts: Parts, fingerprint: str | None) -> set[ChatId]:
        """The chats whose last look at this file showed something else."""
        with self._lock:
            return {
                chat_id
                for (chat_id, where, what), known in self._fingerprints.items()
                if what == parts and where == root and known != fingerprint
            }

    def check(self, chat_id: ChatId, root: Root, parts: Parts, fingerprint: str | None) -> None:
        """Raises WrongState if the file is not what this chat last saw. None: it does not exist."""
        with self._lock:
            known = self._fingerprints.get((chat_id, root, parts))
        if known is None or known == fingerprint:
            return
        what = "was deleted" if fingerprint is None else "was changed"
        if fingerprint is None:
            self.forget(chat_id, root, parts)  # told once; writing it again is then intended
        raise WrongState(
            f"{shown_path(parts)} {what} since you last read it, by somebody else or by a command. Nothing "
            "was written. Read it again, then repeat what still fits."
        )
