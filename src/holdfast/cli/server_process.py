"""The server in this process, as `holdfast serve` runs it."""

import asyncio
import gc
import os
import sys
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.server.parts import Parts


def run_server(
    *,
    host: str | None = None,
    port: int | None = None,
    data: Path | None = None,
    database: str | None = None,
    config: Path | None = None,
) -> None:
    """Until it is stopped. Raises CannotStart."""
    # Nearly everything that is made until it is ready stays: not worth a look, now or ever (see `settle`).
    gc.disable()
    with _not_to_be_found("rich"):
        # It would draw tracebacks, which are never drawn here, and takes five MiB.
        import_module("structlog")
    from holdfast.config.load import Flags, load
    from holdfast.config.places import default_file, passed_over
    from holdfast.config.sections import Config
    from holdfast.server import logs
    from holdfast.server.serve import serve

    flags = Flags(host=host, port=port, data=data, database=database, config=config)
    environ = dict(os.environ)

    def read() -> Config:
        return load(flags, environ)

    logs.set_up()
    chosen = read()
    if (unread := passed_over(chosen.file)) is not None:
        print(
            f"{unread} is ignored. Name it with --config, or move it to {default_file(environ)}.", flush=True
        )
    _run(serve(chosen, read, environ, announce))


def announce(address: str, token: str, parts: "Parts") -> None:
    settle()
    print(f"Holdfast is listening on {address}")
    print(f"Sign in (works once, for ten minutes): {address}/login#token={token}")
    if parts.services.providers.setup.is_demo:
        print(
            "No model provider is configured, so chats use the built-in demo model, which only follows\n"
            "small scripts. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or another provider's key, or add a\n"
            "provider to holdfast.toml, to use a real one."
        )
    for sentence in parts.following.findings():
        print(f"Note: {sentence}")
    sys.stdout.flush()


def settle() -> None:
    """Tells the garbage collector to skip what exists now and to run seldom. Reference counting frees nearly
    everything, and collecting often took a twelfth of the time under load."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def _run(main: Coroutine[Any, Any, None]) -> None:
    """On uvloop where there is one: twice as quick."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


@contextmanager
def _not_to_be_found(name: str) -> Generator[None]:
    """While this is active, the module seems not to be installed. For a library that would load it."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # pyright: ignore[reportArgumentType] - importing it fails from now on
    try:
        yield
    finally:
        del sys.modules[name]
