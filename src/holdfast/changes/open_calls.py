"""Calls that work in a place now. Whatever is different there meanwhile is theirs, also when one of them is
interrupted, or its server dies: the names of open calls stay in a file until somebody has looked."""

from pathlib import Path

import msgspec

from holdfast.core.calls import CallMoment
from holdfast.core.ids import CallId, ChatId

Key = tuple[ChatId, CallId]

_decode = msgspec.json.Decoder(list[CallMoment]).decode


class OpenCalls:
    """Of one place. Blocking, one caller at a time."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "open"
        self._active: dict[Key, CallMoment] = {}
        # They have ended, or their server has, and nobody looked at what they changed.
        self._left: dict[Key, CallMoment] = {_key(at): at for at in self._load()}
        # What was noted for a call before its end.
        self._diffs: dict[Key, str] = {}

    @property
    def left(self) -> CallMoment | None:
        """The newest of those that nobody looked after."""
        return next(reversed(self._left.values()), None)

    @property
    def owner(self) -> CallMoment | None:
        """Whose the changes are that are found now. None: nobody's here."""
        return self.left or next(iter(self._active.values()), None)

    @property
    def is_empty(self) -> bool:
        return not self._active and not self._left

    def begin(self, at: CallMoment) -> None:
        self._active[_key(at)] = at
        self._save()

    def leave(self, at: CallMoment) -> None:
        """It is over, and nobody looks after it."""
        if (found := self._active.pop(_key(at), None)) is not None:
            self._left[_key(at)] = found

    def end(self, at: CallMoment, diff: str) -> str:
        """All that it changed, as text."""
        self._active.pop(_key(at), None)
        self._left.pop(_key(at), None)
        self._save()
        return self._diffs.pop(_key(at), "") + diff

    def noted(self, at: CallMoment, diff: str) -> None:
        """What this call changed until now is noted, and with it whatever was left."""
        for key in self._left:
            self._diffs.pop(key, None)
        self._left.clear()
        if diff and _key(at) in self._active:
            self._diffs[_key(at)] = self._diffs.get(_key(at), "") + diff
        self._save()

    def _load(self) -> list[CallMoment]:
        try:
            return _decode(self._path.read_bytes())
        except (OSError, msgspec.DecodeError):
            return []

    def _save(self) -> None:
        calls = [*self._left.values(), *self._active.values()]
        if not calls:
            self._path.unlink(missing_ok=True)
            return
        temporary = self._path.with_suffix(".new")
        temporary.write_bytes(msgspec.json.encode(calls))
        temporary.replace(self._path)


def _key(at: CallMoment) -> Key:
    return at.chat_id, at.call_id
