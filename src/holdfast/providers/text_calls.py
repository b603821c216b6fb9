"""Calls that a model writes into its text, as small models on servers of one's own do when nothing takes them
out: recognised while they stream, kept back, and never shown. What turns out to be no call is text after all.

Tags of a model family are calls whatever tool they name. A fence or a bare JSON object is one only when it
names a tool that was offered: people ask for JSON too."""

import re
from collections.abc import Callable, Collection
from typing import Literal

from holdfast.core.shapes import Record
from holdfast.providers.written_calls import (
    WrittenCall,
    deepseek_calls,
    first_value,
    invoke_calls,
    json_calls,
    mistral_calls,
    python_calls,
    tagged_calls,
)


class CallPiece(Record, frozen=True, kw_only=True):
    call: WrittenCall


Piece = str | CallPiece
_Reader = Callable[[str], list[WrittenCall]]
# What is kept back at most before it is taken for text.
_MOST_HELD = 1_000_000
# Of a fence or an object, how much is looked at for the name of a tool.
_LOOKED_AT = 400
_FENCE = "```"
_TOOL_CALLS = "[TOOL_CALLS]"
_FENCE_LANGUAGES = frozenset({"", "json", "tool_call", "tool_code", "tool", "function", "python"})


class _Block(Record, frozen=True, kw_only=True):
    opening: str
    # None: it ends with the answer.
    closing: str | None
    read: _Reader


_BLOCKS = (
    _Block(opening="<tool_call>", closing="</tool_call>", read=tagged_calls),
    _Block(opening="<tool_calls>", closing="</tool_calls>", read=json_calls),
    _Block(opening="<function=", closing="</function>", read=lambda text: tagged_calls(f"<function={text}")),
    _Block(opening="<function_calls>", closing="</function_calls>", read=invoke_calls),
    _Block(opening="<｜DSML｜function_calls>", closing="</｜DSML｜function_calls>", read=invoke_calls),
    _Block(opening="<｜tool▁calls▁begin｜>", closing="<｜tool▁calls▁end｜>", read=deepseek_calls),
    _Block(opening="<｜tool▁call▁begin｜>", closing="<｜tool▁call▁end｜>", read=deepseek_calls),
    _Block(opening="<|python_tag|>", closing="<|eom_id|>", read=json_calls),
    _Block(opening=_TOOL_CALLS, closing=None, read=mistral_calls),
)
_SIGNS = re.compile(r"[<\[`]")


class TextCalls:
    """`tools`: the names that were offered."""

    def __init__(self, tools: Collection[str]) -> None:
        self._tools = frozenset(tools)
        self._quoted = tuple(f'"{name}"' for name in tools)
        self._held: str = ""
        self._block: _Block | Literal["fence", "bare", "code"] | None = None
        # Nothing was said yet: then the answer may be a bare object or list of calls.
        self._fresh = True
        # Whether the newest piece may have closed an object.
        self._closes = False

    def feed(self, text: str) -> list[Piece]:
        if self._block is None and not self._held and not self._fresh and _SIGNS.search(text) is None:
            # What nearly every piece is.
            return [text]
        self._held += text
        self._closes = "}" in text
        pieces: list[Piece] = []
        while self._step(pieces):
            pass
        return pieces

    def end(self) -> list[Piece]:
        """What was kept back, when nothing more comes."""
        pieces: list[Piece] = []
        held, block = self._held, self._block
        self._held, self._block = "", None
        calls: list[WrittenCall] = []
        if isinstance(block, _Block):
            calls = block.read(held)
            held = held if calls else block.opening + held
        elif block == "bare":
            calls = self._offered(json_calls(held) or python_calls(held))
        elif block == "fence":
            calls = self._offered(json_calls(_inside(held)[1]))
        self._tell(calls, "" if calls else held, pieces)
        return pieces

    def _step(self, pieces: list[Piece]) -> bool:
        """Whether there may be more to find in what is held."""
        if self._block is None:
            return self._look(pieces)
        if len(self._held) > _MOST_HELD:
            self._give_up(pieces)
            return False
        match self._block:
            case "fence":
                return self._fence(pieces)
            case "bare":
                return self._bare(pieces)
            case "code":
                return self._code(pieces)
            case block:
                return self._tags(block, pieces)

    def _look(self, pieces: list[Piece]) -> bool:
        """For the first thing that may begin a call."""
        held = self._held
        if self._fresh:
            start = held.lstrip()
            if _TOOL_CALLS.startswith(start):
                # Nothing yet, or the beginning of a tag, or of a list.
                return False
            self._fresh = False
            if start[0] == "{" or (start[0] == "[" and not start.startswith(_TOOL_CALLS)):
                self._block = "bare"
                return True
        at, block = _first_opening(held)
        fence = held.find(_FENCE)
        if fence >= 0 and (block is None or fence < at):
            self._say(held[:fence], pieces)
            self._held, self._block = held[fence:], "fence"
            return True
        if block is not None:
            self._say(held[:at], pieces)
            self._held, self._block = held[at + len(block.opening) :], block
            return True
        kept = _unfinished(held)
        self._say(held[: len(held) - kept], pieces)
        self._held = held[len(held) - kept :]
        return False

    def _tags(self, block: _Block, pieces: list[Piece]) -> bool:
        if block.closing is None:
            return False
        # What an argument holds may look like the end: then what is before it is no call yet.
        at = self._held.find(block.closing)
        while at >= 0:
            calls = block.read(self._held[:at])
            if calls:
                self._held, self._block = self._held[at + len(block.closing) :], None
                self._tell(calls, "", pieces)
                return True
            at = self._held.find(block.closing, at + 1)
        return False

    def _fence(self, pieces: list[Piece]) -> bool:
        """A fence that cannot be a call is shown at once, and what is in it is not looked at."""
        language, inside = _inside(self._held)
        if language is None:
            return False
        start = inside.lstrip()
        if language not in _FENCE_LANGUAGES or (start and start[0] not in "{[") or self._names_none(start):
            self._block = "code"
            return True
        end = inside.find(_FENCE)
        while end >= 0:
            calls = self._offered(json_calls(inside[:end]))
            if calls:
                self._held, self._block = inside[end + len(_FENCE) :], None
                self._tell(calls, "", pieces)
                return True
            if _is_json(inside[:end]):
                self._block = "code"
                return True
            end = inside.find(_FENCE, end + 1)
        return False

    def _code(self, pieces: list[Piece]) -> bool:
        """Inside of a fence that is text: until it closes."""
        end = (
            self._held.find(_FENCE, len(_FENCE)) if self._held.startswith(_FENCE) else self._held.find(_FENCE)
        )
        if end < 0:
            kept = 2 if self._held.endswith("``") else 1 if self._held.endswith("`") else 0
            # The opening stays, so that its own signs are not taken for the closing ones.
            if self._held.startswith(_FENCE) and len(self._held) - kept <= len(_FENCE):
                return False
            self._say(self._held[: len(self._held) - kept], pieces)
            self._held = self._held[len(self._held) - kept :]
            return False
        end += len(_FENCE)
        self._say(self._held[:end], pieces)
        self._held, self._block = self._held[end:], None
        return True

    def _bare(self, pieces: list[Piece]) -> bool:
        """The whole answer is an object or list of calls, or begins with one."""
        start = self._held.lstrip()
        if start[0] == "[" and len(start) > 1 and start[1] not in "{ \n" and not self._is_python(start):
            self._block = None
            return self._plain(pieces)
        if self._names_none(start):
            self._block = None
            return self._plain(pieces)
        if start[0] == "{" and self._closes:
            value, end = first_value(start)
            if value is not None and (calls := self._offered(json_calls(start[:end]))):
                # Another may follow, or text.
                self._held, self._block, self._fresh = start[end:], None, True
                self._tell(calls, "", pieces)
                return bool(self._held)
        return False

    def _is_python(self, start: str) -> bool:
        """`[name(...)]`, as Llama writes it: whether it is, or may become, a call of an offered tool."""
        name, bracket, _ = start[1:].partition("(")
        return name.strip() in self._tools if bracket else any(tool.startswith(name) for tool in self._tools)

    def _plain(self, pieces: list[Piece]) -> bool:
        """What is held is text as far as its first sign; further on there may be calls."""
        self._say(self._held[:1], pieces)
        self._held = self._held[1:]
        return bool(self._held)

    def _names_none(self, text: str) -> bool:
        """Enough came to see that no offered tool is named."""
        seen = text[:_LOOKED_AT]
        if any(name in seen for name in self._quoted) or self._is_python_list(seen):
            return False
        return len(text) >= _LOOKED_AT

    def _is_python_list(self, text: str) -> bool:
        return text[:1] == "[" and "(" in text and self._is_python(text)

    def _give_up(self, pieces: list[Piece]) -> None:
        block = self._block
        text = (block.opening if isinstance(block, _Block) else "") + self._held
        self._held, self._block = "", None
        self._say(text, pieces)

    def _offered(self, calls: list[WrittenCall]) -> list[WrittenCall]:
        """All of them name an offered tool, or they are no calls."""
        return calls if calls and all(call.name in self._tools for call in calls) else []

    def _tell(self, calls: list[WrittenCall], text: str, pieces: list[Piece]) -> None:
        pieces.extend(CallPiece(call=call) for call in calls)
        if text:
            self._say(text, pieces)

    def _say(self, text: str, pieces: list[Piece]) -> None:
        if text:
            pieces.append(text)


def _first_opening(text: str) -> tuple[int, _Block | None]:
    first, opened = len(text), None
    for block in _BLOCKS:
        at = text.find(block.opening)
        if 0 <= at < first:
            first, opened = at, block
    return first, opened


def _inside(held: str) -> tuple[str | None, str]:
    """The language of a fence, None while it is not known, and what is in it."""
    head, newline, inside = held.removeprefix(_FENCE).partition("\n")
    if newline:
        return head.strip().lower(), inside
    # Some write the object right behind the language.
    found = re.match(r"\s*([a-z_]*)\s*([{\[].*)", head, re.DOTALL)
    return (found[1], found[2]) if found else (None, "") if len(head) < 40 else (head, "")


def _is_json(text: str) -> bool:
    import msgspec

    try:
        msgspec.json.decode(text.strip())
    except (msgspec.DecodeError, UnicodeEncodeError):
        return False
    return True


def _unfinished(text: str) -> int:
    """How many of the last characters may begin a tag or a fence."""
    tail = text[-24:]
    for size in range(min(len(tail), 23), 0, -1):
        end = tail[len(tail) - size :]
        if _FENCE.startswith(end) or any(block.opening.startswith(end) for block in _BLOCKS):
            return size
    return 0
