"""`holdfast export`: a chat as one file."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal

import typer

from holdfast.cli.options import ChatWord, Url, with_server
from holdfast.core.errors import InvalidInput, WrongUsage

if TYPE_CHECKING:
    from holdfast.cli.client import Client

Format = Literal["json", "markdown", "html"]
_CHUNK = 64 * 1024


def export(
    chat: ChatWord,
    as_format: Annotated[
        Format,
        typer.Option("--format", "-f", help="json is complete; markdown and html are for reading."),
    ] = "json",
    to: Annotated[
        Path | None,
        typer.Option("--output", "-o", readable=False, help="Output file. Default: standard output."),
    ] = None,
    url: Url = None,
) -> None:
    """Export a chat to a single self-contained file."""

    async def export_to(client: "Client", file: BinaryIO) -> None:
        from holdfast.cli.lookups import find_chat

        found = await find_chat(client, chat)
        path = f"/chats/{found.id}/export"
        async with client.answer("GET", path, params={"format": as_format}, streamed=True) as response:
            async for chunk in response.content.iter_chunked(_CHUNK):
                file.write(chunk)

    if to is None:
        if sys.stdout.isatty():
            raise WrongUsage("Name a file with -o, or redirect the output.")
        with_server(url, lambda client: export_to(client, sys.stdout.buffer))
        return
    try:
        with _written(to.resolve()) as file:
            with_server(url, lambda client: export_to(client, file))
    except OSError as error:
        raise InvalidInput(f"{to} cannot be written ({error.strerror}).") from None
    print(f"Wrote {to}.")


@contextmanager
def _written(to: Path) -> Generator[BinaryIO]:
    """The file, whole or not at all. A device or a pipe is written to as it is: it is nothing to replace."""
    if to.exists() and not to.is_file():
        with to.open("wb") as file:
            yield file
        return
    unfinished = to.with_name(f".{to.name}.unfinished")
    try:
        with unfinished.open("wb") as file:
            yield file
        unfinished.replace(to)
    finally:
        unfinished.unlink(missing_ok=True)
