"""Output of programs as plain text. Terminal control sequences (colours, titles, the clipboard, cursor
movement) are removed, overwritten lines are shown in their last form, other control characters are made
visible."""

import re

from holdfast.workspaces.commands.output_files import Piece

# ESC and what follows: strings with their own terminator (title, clipboard, ...), sequences, single
# characters. A string without a terminator swallows no more than its line.
_SEQUENCES = re.compile(
    "(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?"
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"
    "|\x1b[ -/]*[0-~]"
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain(data: bytes) -> str:
    text = _SEQUENCES.sub("", data.decode("utf-8", "replace"))
    if "\b" in text:
        text = _rubbed_out(text)
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _CONTROL.sub(_visible, text)


def _rubbed_out(text: str) -> str:
    kept: list[str] = []
    for character in text:
        if character != "\b":
            kept.append(character)
        elif kept and kept[-1] != "\n":
            kept.pop()
    return "".join(kept)


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\N{SYMBOL FOR DELETE}" if code == 0x7F else "\N{REPLACEMENT CHARACTER}"


def whole_characters(piece: Piece) -> Piece:
    """Without partial characters at both ends, which come from cutting and not from the program."""
    data = piece.data
    begin = 0
    if piece.start > 0:
        while begin < min(3, len(data)) and data[begin] & 0xC0 == 0x80:
            begin += 1
    end = len(data)
    for back in range(1, min(4, end) + 1):
        byte = data[end - back]
        if byte & 0xC0 == 0x80:
            continue
        wanted = 1 if byte < 0x80 else 2 if byte & 0xE0 == 0xC0 else 3 if byte & 0xF0 == 0xE0 else 4
        if wanted > back:
            end -= back
        break
    return Piece(start=piece.start + begin, data=data[begin:end])
