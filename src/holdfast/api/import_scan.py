"""Finds the pieces of an exported chat in its file, in one pass that holds a small part of it at a time. What
could make a decoder use much memory or time (very many values, deep nesting, huge messages) is refused here,
before anything is decoded; whether it is JSON at all is left to the decoder."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from holdfast.api.problems import BODY, invalid
from holdfast.core.shapes import MAX_DEPTH

MAX_MESSAGES = 100_000
MAX_MESSAGE_BYTES = 8 * 1024 * 1024
# For everything but the messages, and for what is between two of them.
MAX_HEAD_BYTES = 1024 * 1024
# Objects, lists, and commas in them: about as many as the file has values.
MAX_VALUES = 1_000_000
# The same for one message, and for everything else: each is decoded in one uninterruptible step.
MAX_MESSAGE_VALUES = 50_000
MAX_HEAD_VALUES = 10_000
# Objects and lists in inputs and outputs of tools: all of them are in memory at the same time.
MAX_INNER = 200_000
# The levels around the values of tools, which may have the usual depth themselves.
_AROUND = 8
_CHUNK = 256 * 1024
_TOKEN = re.compile(rb"[{}\[\],]")
_BLANK = b" \t\r\n"

# Bytes of a file from an offset on; fewer at its end.
Read = Callable[[int, int], bytes]

# Depths: the file's own object is 1, the list of messages 2, a message 3, its parts
# 4, each part 5.
_LIST, _MESSAGE, _INNER = 2, 3, 6


@dataclass(slots=True)
class Layout:
    """Where the list of messages is (without its brackets), and each message in it."""

    first: int = -1
    last: int = -1
    messages: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    size: int = 0


class Scanner:
    """Fed with the file from the beginning, in pieces of any size."""

    def __init__(self) -> None:
        self._layout = Layout()
        self._depth = 0
        self._values = 0
        self._values_before = 0
        self._values_in_list = 0
        self._inner = 0
        self._in_string = False
        self._in_list = False
        self._begun = 0
        self._rest = b""

    def feed(self, piece: bytes) -> None:
        data = self._rest + piece
        # A backslash at the end belongs to what comes next. In a row of them, each pair is one character.
        odd = (len(data) - len(data.rstrip(b"\\"))) % 2
        self._rest = data[len(data) - odd :]
        data = data[: len(data) - odd]
        # From here on every quote starts or ends a string. All other positions stay the same.
        self._scan(data.replace(b"\\\\", b"__").replace(b'\\"', b"__"))
        self._layout.size += len(data)
        if self._depth >= _MESSAGE and self._in_list:
            self._check_length(self._layout.size)

    def end(self) -> Layout:
        layout = self._layout
        layout.size += len(self._rest)
        if self._depth or self._in_string:
            raise invalid(BODY, "the file ends before it is complete")
        if layout.first < 0:
            raise invalid("messages", "there is no list of messages; send what export writes as JSON")
        if layout.size - (layout.last - layout.first) > MAX_HEAD_BYTES:
            raise invalid("chat", f"larger than {MAX_HEAD_BYTES // 2**20} MiB")
        if self._values - self._values_in_list > MAX_HEAD_VALUES:
            raise invalid("chat", f"more than {MAX_HEAD_VALUES} values")
        return layout

    def _scan(self, data: bytes) -> None:
        at = self._layout.size
        inside = self._in_string
        for text in data.split(b'"'):
            # Between two strings there is hardly ever more than one of these.
            if not inside and text != b":":
                if text == b",":
                    self._values += 1
                else:
                    self._take_all(text, at)
            at += len(text) + 1
            inside = not inside
        # The last piece is not followed by a quote.
        self._in_string = not inside
        if self._values > MAX_VALUES:
            raise invalid(BODY, f"more than {MAX_VALUES} values")

    def _take_all(self, text: bytes, at: int) -> None:
        for found in _TOKEN.finditer(text):
            token = found[0]
            self._values += 1
            if token in b"{[":
                self._open(token, at + found.start())
            elif token in b"}]":
                self._close(at + found.start())

    def _open(self, token: bytes, at: int) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH + _AROUND:
            raise invalid(BODY, "nested too deeply")
        if self._depth == _LIST and token == b"[":
            if self._layout.first >= 0:
                raise invalid("messages", "there are two lists")
            self._layout.first, self._in_list = at + 1, True
            self._values_in_list = -self._values
        elif self._depth == _MESSAGE and self._in_list:
            self._begun, self._values_before = at, self._values
        elif self._depth >= _INNER:
            self._inner += 1
            if self._inner > MAX_INNER:
                raise invalid(
                    BODY, f"more than {MAX_INNER} objects and lists in what tools were given or said"
                )

    def _close(self, at: int) -> None:
        if self._depth == _LIST and self._in_list:
            self._layout.last, self._in_list = at, False
            self._values_in_list += self._values
        elif self._depth == _MESSAGE and self._in_list:
            self._check_length(at)
            number = len(self._layout.messages)
            if self._values - self._values_before > MAX_MESSAGE_VALUES:
                raise invalid(f"messages.{number}", f"more than {MAX_MESSAGE_VALUES} values")
            self._layout.messages.append((self._begun, at + 1))
            if len(self._layout.messages) > MAX_MESSAGES:
                raise invalid("messages", f"more than {MAX_MESSAGES}")
        self._depth -= 1
        if self._depth < 0:
            raise invalid(BODY, "the file has more closing brackets than opening ones")

    def _check_length(self, at: int) -> None:
        if at - self._begun > MAX_MESSAGE_BYTES:
            number = len(self._layout.messages)
            raise invalid(f"messages.{number}", f"larger than {MAX_MESSAGE_BYTES // 2**20} MiB")


class ExportFile:
    """An exported chat as bytes that can be read from any offset, without decoding it."""

    def __init__(self, read: Read) -> None:
        self._read = read
        scanner = Scanner()
        at = 0
        while piece := read(at, _CHUNK):
            scanner.feed(piece)
            at += len(piece)
        self._layout = scanner.end()

    def head(self) -> bytes:
        """The file without its messages: still an object, with an empty list."""
        layout = self._layout
        return self._read(0, layout.first) + self._read(layout.last, layout.size - layout.last)

    def messages(self) -> Iterator[bytes]:
        layout = self._layout
        before, comma = layout.first, b""
        for number, (start, end) in enumerate(layout.messages):
            self._check_gap(before, start, comma, number)
            yield self._read(start, end - start)
            before, comma = end, b","
        self._check_gap(before, layout.last, b"", len(layout.messages))

    def _check_gap(self, start: int, end: int, wanted: bytes, number: int) -> None:
        """Nothing but objects in the list, with commas between them."""
        if end - start > MAX_HEAD_BYTES or self._read(start, end - start).strip(_BLANK) != wanted:
            raise invalid(f"messages.{number}", "the list contains something other than messages")
