"""`holdfast import`: a chat from a file that `holdfast export` wrote as JSON."""

import os
import secrets
import sys
from collections.abc import Generator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from holdfast.cli.options import AsJson, Url, print_json, with_server
from holdfast.core.errors import InvalidInput, WrongUsage

if TYPE_CHECKING:
    from holdfast.cli.client import Client
    from holdfast.core.chats import Chat

MOST_BYTES = 50 * 1024 * 1024
_CHUNK = 64 * 1024


def import_chat(
    file: Annotated[str, typer.Argument(help="A chat exported as JSON; - reads standard input.")],
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Import an exported chat. Importing the same content again changes nothing."""

    async def send(client: "Client", content: BinaryIO) -> "tuple[int, Chat]":
        import msgspec

        from holdfast.core.chats import Chat

        key = {"Idempotency-Key": secrets.token_hex(16)}
        async with client.answer(
            "POST", "/chats/import", headers=key, streamed=True, file=content
        ) as response:
            return response.status, msgspec.json.decode(await response.read(), type=Chat)

    with _opened(file) as content:
        status, chat = with_server(url, lambda client: send(client, content))
    if as_json:
        print_json(chat)
    elif status == 201:
        print(f"Imported as {chat.id}.")
    else:
        print(f"Already imported as {chat.id}.")


@contextmanager
def _opened(file: str) -> Generator[BinaryIO]:
    """A file of a known length, which is sent as it is."""
    if file == "-":
        if sys.stdin.isatty():
            raise WrongUsage("Name the file to import, or pipe it to standard input.")
        with TemporaryFile() as content:
            while piece := sys.stdin.buffer.read(_CHUNK):
                content.write(piece)
                if content.tell() > MOST_BYTES:
                    raise InvalidInput("The input is larger than 50 MiB, the limit for an import.")
            content.seek(0)
            yield content
        return
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read ({error.strerror}).") from None
    with os.fdopen(descriptor, "rb") as content:
        yield content
