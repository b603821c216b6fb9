"""A message given on the command line: the prompt, its files, and the settings of the chat that it starts."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from holdfast.core.errors import InvalidInput, WrongUsage
from holdfast.core.shapes import Json

if TYPE_CHECKING:
    from holdfast.cli.client import Client
    from holdfast.core.ids import ChatId

_BUDGET = re.compile(r"(?P<dollars>\$?)(?P<number>\d+(?:\.\d+)?)(?P<unit>k|m|usd)?", re.IGNORECASE)
_MICROS = 1_000_000


@dataclass(frozen=True, slots=True)
class Errand:
    """`chat` is one to go on with. `new` is what a new chat is made with: fields of `POST /chats`."""

    prompt: str
    chat: str | None = None
    model: str | None = None
    effort: str | None = None
    attach: tuple[Path, ...] = ()
    new: Mapping[str, Json] | None = None

    def settings(self) -> dict[str, Json]:
        """What counts for the message, wherever it goes."""
        chosen = {"model": self.model, "effort": self.effort}
        return {name: value for name, value in chosen.items() if value is not None}

    async def content(self, client: "Client") -> Json:
        """The message. Files are uploaded first."""
        if not self.attach:
            return self.prompt
        from holdfast.cli.files import upload_file

        files = [await upload_file(client, path) for path in self.attach]
        parts: list[Json] = [{"type": "file", "file_id": file.id} for file in files]
        return [{"type": "text", "text": self.prompt}, *parts] if self.prompt.strip() else parts

    async def begin(self, client: "Client") -> "ChatId":
        """In a new chat."""
        from holdfast.core.chats import Chat

        body = {"content": await self.content(client), **self.settings(), **(self.new or {})}
        return (await client.post("/chats", Chat, body)).id


def read_prompt(given: str | None, stdin: TextIO) -> str:
    """The argument, and below it what comes by a pipe; either alone is the prompt. `-` is the pipe alone."""
    wants_stdin = given == "-"
    piped = "" if stdin.isatty() and not wants_stdin else _read(stdin)
    text = "\n\n".join(part for part in ("" if wants_stdin else given or "", piped.rstrip("\n")) if part)
    if not text and given is None:
        raise WrongUsage("Give a prompt, or pipe one to standard input.")
    return text


def _read(stdin: TextIO) -> str:
    try:
        return stdin.read()
    except UnicodeDecodeError:
        raise InvalidInput("Standard input is not UTF-8 text. To send a file, use --attach FILE.") from None


def read_budget(text: str) -> dict[str, Json]:
    """`50000`, `50k`, `2m` are tokens; `$1.50` and `1.50usd` are money."""
    match = _BUDGET.fullmatch(text.strip())
    if match is None or (match["dollars"] and match["unit"]):
        raise WrongUsage(f"{text!r} is not a budget. Give tokens, as in 50k, or money, as in 1.50usd.")
    number, unit = float(match["number"]), (match["unit"] or "").lower()
    if match["dollars"] or unit == "usd":
        return {"cost_usd_micros": max(round(number * _MICROS), 1)}
    return {"tokens": max(round(number * {"": 1, "k": 1000, "m": 1_000_000}[unit]), 1)}
