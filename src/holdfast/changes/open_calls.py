"""The calls that may be changing files in one directory now. Every difference found meanwhile is theirs, even
if a call is interrupted or its server dies: open calls are listed in a file until their changes have been
recorded."""

from pathlib import Path

import msgspec

from holdfast.core.calls import CallMoment
from holdfast.core.ids import CallId, ChatId

Key = tuple[ChatId, CallId]

_decode = msgspec.json.Decoder(list[CallMoment]).decode


class OpenCalls:
    """The open calls of one directory. Blocking, one caller at a time."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "open"
        self._active: dict[Key, CallMoment] = {}
        # Calls that ended, or whose server died, before their changes were recorded.
        self._left: dict[Key, CallMoment] = {_key(at): at for at in self._load()}
        # The part of the diff that was already recorded for a call that still runs.
        self._diffs: dict[Key, str] = {}

    @property
    def left(self) -> CallMoment | None:
        """The newest call whose changes were not recorded when it ended."""
        return next(reversed(self._left.values()), None)

    @property
    def owner(self) -> CallMoment | None:
        """The call that changes found now belong to. None: no call of ours."""
        return self.left or next(iter(self._active.values()), None)

    @property
    def is_empty(self) -> bool:
        return not self._active and not self._left

    def begin(self, at: CallMoment) -> None:
        self._active[_key(at)] = at
        self._save()

    def leave(self, at: CallMoment) -> None:
        """The call has ended, and its changes are not recorded yet."""
        if (found := self._active.pop(_key(at), None)) is not None:
            self._left[_key(at)] = found

    def end(self, at: CallMoment, diff: str) -> str:
        """Ends the call. Returns all that it changed, as a diff."""
        self._active.pop(_key(at), None)
        self._left.pop(_key(at), None)
        self._save()
        return self._diffs.pop(_key(at), "") + diff

    def noted(self, at: CallMoment, diff: str) -> None:
        """Changes found until now were recorded for this call. Nothing is left to record for calls that
        ended."""
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
