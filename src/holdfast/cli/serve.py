"""`holdfast serve`, to be explained and checked; `start` runs it without all this when it is plain."""

from pathlib import Path
from typing import Annotated

import typer

Host = Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")]
Port = Annotated[int | None, typer.Option(help="Port to listen on; 0 picks a free one.", show_default="8420")]
Data = Annotated[
    Path | None,
    typer.Option(help="Data directory: database, files and keys.", show_default="~/.local/share/holdfast"),
]
Database = Annotated[
    str | None, typer.Option(help='"sqlite" or "postgresql://user@host/name".', show_default="sqlite")
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", help="Configuration file.", show_default="~/.config/holdfast/holdfast.toml"),
]


def serve(
    host: Host = None,
    port: Port = None,
    data: Data = None,
    database: Database = None,
    config: ConfigFile = None,
) -> None:
    """Start the server (API, page and worker). Ctrl-C stops it."""
    from holdfast.cli.server_process import run_server

    run_server(host=host, port=port, data=data, database=database, config=config)
