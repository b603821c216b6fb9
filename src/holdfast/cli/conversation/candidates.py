"""What the word at the cursor can become: looked up where it is known."""

import os
from pathlib import Path
from typing import assert_never

from holdfast.cli.conversation.commands import COMMANDS
from holdfast.cli.conversation.deeds import Deeds
from holdfast.cli.terminal.completion import Wanted
from holdfast.cli.wording import short

_MOST = 50


async def candidates(deeds: Deeds, place: Wanted) -> list[str]:
    """The best ones first. Raises HoldfastError when the server does not tell."""
    word = place.word
    match place.kind:
        case "command":
            return command_names(word)
        case "file":
            return await deeds.files(word)
        case "model":
            return beginning(word, [model.name for model in await deeds.models()])
        case "effort":
            return beginning(word, list(await deeds.efforts()))
        case "chat":
            return beginning(word, [short(chat.id) for chat in await deeds.chats()])
        case "workflow":
            return beginning(word, await deeds.workflow_names())
        case "path":
            return local_paths(word)
    assert_never(place.kind)


def command_names(word: str) -> list[str]:
    return beginning(word, [command.name for command in COMMANDS])


def beginning(word: str, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith(word)]


def local_paths(word: str) -> list[str]:
    """Files of this machine; a directory ends with a slash."""
    directory, _, start = word.rpartition("/")
    base = Path(os.path.expanduser(f"{directory}/" if "/" in word else "."))
    try:
        entries = sorted(os.scandir(base), key=lambda entry: entry.name)
    except OSError:
        return []
    prefix = f"{directory}/" if "/" in word else ""
    found = [
        f"{prefix}{entry.name}{'/' if entry.is_dir() else ''}"
        for entry in entries
        if entry.name.startswith(start) and (start.startswith(".") or not entry.name.startswith("."))
    ]
    return found[:_MOST]
