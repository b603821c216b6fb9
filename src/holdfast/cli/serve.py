"""`holdfast serve`: the server in this process."""

import asyncio
import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any

import typer

Host = Annotated[str | None, typer.Option(help="The address to listen on.", show_default="127.0.0.1")]
Port = Annotated[
    int | None, typer.Option(help="The port to listen on; 0 takes a free one.", show_default="8420")
]
Data = Annotated[
    Path | None,
    typer.Option(help="The directory for database, files and keys.", show_default="~/.local/share/holdfast"),
]
Database = Annotated[
    str | None, typer.Option(help='"sqlite" or "postgresql://user@host/name".', show_default="sqlite")
]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="The configuration file.", show_default="./holdfast.toml")
]


def serve(
    host: Host = None,
    port: Port = None,
    data: Data = None,
    database: Database = None,
    config: ConfigFile = None,
) -> None:
    """Start the server: API, page and worker, until Ctrl-C."""
    from holdfast.config.load import Flags, load
    from holdfast.config.sections import Config
    from holdfast.server import logs
    from holdfast.server.parts import Parts
    from holdfast.server.serve import serve as run

    flags = Flags(host=host, port=port, data=data, database=database, config=config)
    environ = dict(os.environ)

    def read() -> Config:
        return load(flags, environ)

    def announce(address: str, token: str, parts: Parts) -> None:
        print(f"Holdfast is listening on {address}")
        print(f"Sign in (once, within ten minutes): {address}/login#token={token}")
        if parts.services.providers.setup.is_demo:
            print(
                "No model provider is configured, so chats use the built-in demo model, which only follows\n"
                "small scripts. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or another provider's key, or add a\n"
                "provider to holdfast.toml, to use a real one."
            )
        sys.stdout.flush()

    logs.set_up()
    _run(run(read(), read, environ, announce))


def _run(main: Coroutine[Any, Any, None]) -> None:
    """On uvloop where there is one: twice as quick."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)
