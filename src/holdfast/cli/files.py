"""`holdfast upload`: files for messages to name."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import AsJson, Url, print_json, with_server
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import FileId
from holdfast.core.shapes import Record

if TYPE_CHECKING:
    from holdfast.cli.client import Client


class Uploaded(Record, frozen=True, kw_only=True):
    id: FileId
    name: str
    media_type: str
    size: int
    created_at: datetime


def upload(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Images, PDF or text files, at most 20 MiB each.")
    ],
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Upload files and print their ids. `run --attach` uploads and sends in one step."""

    async def uploaded(client: "Client") -> list[Uploaded]:
        return [await upload_file(client, path) for path in files]

    kept = with_server(url, uploaded)
    if as_json:
        print_json(kept)
        return
    from holdfast.cli.safe_text import neutral_line

    for file in kept:
        print(f"{file.id}  {file.media_type}  {file.size} bytes  {neutral_line(file.name, 200)}")


def text_or_file(given: str) -> str:
    """The text itself, or with an @ before it the file that has it."""
    if not given.startswith("@"):
        return given
    try:
        return _content(Path(given[1:])).decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{given[1:]} is not text in UTF-8.") from None


async def upload_file(client: "Client", path: Path) -> Uploaded:
    return await client.upload("/files", path.name, _content(path), Uploaded)


def _content(path: Path) -> bytes:
    try:
        return path.expanduser().read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read ({error.strerror}).") from None
