"""`holdfast db`: the only commands that open the database themselves."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import typer

if TYPE_CHECKING:
    from holdfast.store.interface import Store

T = TypeVar("T")

app = typer.Typer(help="Create, check and back up the database.", no_args_is_help=True)

Url = Annotated[
    str,
    typer.Option(
        "--database",
        envvar="HOLDFAST_DATABASE_URL",
        help='"sqlite" (a file in the data directory), "sqlite:PATH" or "postgresql://user@host/database".',
    ),
]
# Whether a path can be read is for the store to say, in its own words.
Data = Annotated[
    Path,
    typer.Option(
        "--data", envvar="HOLDFAST_SERVER_DATA", readable=False, help="Directory of the SQLite file."
    ),
]


DATA = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share") / "holdfast"


@app.command()
def migrate(database: Url = "sqlite", data: Data = DATA) -> None:
    """Create the database, or upgrade it to this version. Does nothing if it is up to date. Refused while a
    server uses an SQLite file: the server has upgraded it on start."""

    async def done(_: "Store") -> None:
        print("The database is up to date.")

    _with_store(database, data, "server", done)


@app.command()
def check(
    database: Url = "sqlite",
    data: Data = DATA,
    as_json: Annotated[bool, typer.Option("--json", help="Print the problems as a JSON list.")] = False,
) -> None:
    """Check the database for damage. Works while a server runs. Exit code 1 if a problem is found."""

    async def look(store: "Store") -> list[str]:
        return await store.check()

    problems = _with_store(database, data, "tool", look)
    if as_json:
        print(json.dumps(problems))
    else:
        for problem in problems:
            print(problem)
        print(f"{len(problems)} problems found." if problems else "No problems found.")
    if problems:
        raise typer.Exit(1)


@app.command()
def backup(
    to: Annotated[Path, typer.Argument(readable=False, help="Output file; must not exist yet.")],
    database: Url = "sqlite",
    data: Data = DATA,
) -> None:
    """Back up the database while the server keeps running. SQLite gives a database file, PostgreSQL an
    archive for pg_restore (needs pg_dump on this machine).

    Only the database is copied. Provider keys in it are encrypted with the file secret.key in the data
    directory (or server.secret_key), which is not included, so a stolen backup reveals no keys. Keep a copy
    of that file elsewhere; without it, keys must be entered again. Uploaded files are in the data directory,
    too."""

    async def copy(store: "Store") -> None:
        await store.backup(to)

    _with_store(database, data, "tool", copy)
    print(f"Wrote {to}.")
    print("It does not include secret.key, which decrypts stored provider keys. Keep a copy of it elsewhere.")


def _with_store(
    url: str, data: Path, mode: Literal["server", "tool"], work: "Callable[[Store], Awaitable[T]]"
) -> T:
    from holdfast.store.open import open_store

    async def run() -> T:
        store = await open_store(url, data=data, publish=lambda _: None, mode=mode)
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())
