"""Server-sent events, as far as model providers use them: the data of each event. Event names are repeated
inside the data by everyone who sends them, so they are skipped."""


class EventReader:
    """Cuts a stream of bytes into events. `alive` counts whole lines: data and comments alike show that
    somebody is still there, bytes that never become a line do not."""

    def __init__(self) -> None:
        self.lines = 0
        # The beginning of a line whose end has not come, in pieces: a long one is put together once, not for
        # every piece.
        self._begun: list[bytes] = []
        self._begun_bytes = 0
        self._data: bytes | None = None

    @property
    def pending(self) -> int:
        """Bytes that wait for the end of their line or event."""
        return self._begun_bytes + len(self._data or b"")

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of the events that this chunk completes."""
        held = bool(self._begun) and self._begun[-1].endswith(b"\r")
        if b"\n" not in chunk and b"\r" not in chunk and not held:
            self._begun.append(chunk)
            self._begun_bytes += len(chunk)
            return []
        if self._begun:
            chunk = b"".join((*self._begun, chunk))
        if b"\r" in chunk:
            # A lone \r ends a line too; one at the very end may be half of \r\n and waits.
            waits = chunk.endswith(b"\r")
            chunk = (chunk[:-1] if waits else chunk).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            lines = chunk.split(b"\n")
            rest = lines.pop() + (b"\r" if waits else b"")
        else:
            lines = chunk.split(b"\n")
            rest = lines.pop()
        self._begun = [rest] if rest else []
        self._begun_bytes = len(rest)
        self.lines += len(lines)
        events: list[bytes] = []
        data = self._data
        for line in lines:
            if line.startswith(b"data:"):
                value = line[6:] if line.startswith(b"data: ") else line[5:]
                data = value if data is None else data + b"\n" + value
            elif not line and data is not None:
                events.append(data)
                data = None
        self._data = data
        return events

    def end(self) -> list[bytes]:
        """The last event, when the stream ended without the empty line that should follow it."""
        events = self.feed(b"\n\n") if self._begun or self._data is not None else []
        return [event for event in events if event]
