"""What commands share: their options, the way to the server, JSON for programs."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from holdfast.core.shapes import encode_text

if TYPE_CHECKING:
    from holdfast.cli.client import Client

T = TypeVar("T")

Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        envvar="HOLDFAST_URL",
        help="Server address. Default: the local server.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ChatWord = Annotated[
    str,
    typer.Argument(metavar="CHAT", help="Chat: its id, the start or end of its id, or `last`."),
]
ModelName = Annotated[str | None, typer.Option("--model", "-m", help="Model, by its configured name.")]
Effort = Annotated[str | None, typer.Option("--effort", "-e", help="Reasoning effort, such as low or high.")]
WorkspaceName = Annotated[
    str | None,
    typer.Option("--workspace", "-w", help="Where to work: a directory, or a workspace by name or id."),
]


def with_server(url: str | None, work: "Callable[[Client], Awaitable[T]]") -> T:
    """Does the work with a client of the server that is meant."""
    from holdfast.cli.address import find_server
    from holdfast.cli.client import connected

    async def run() -> T:
        async with connected(find_server(url, os.environ)) as client:
            return await work(client)

    return asyncio.run(run())


def print_json(value: object) -> None:
    print(encode_text(value))
