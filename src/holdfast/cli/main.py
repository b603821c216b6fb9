"""The `holdfast` command. Exit codes: 0 done, 1 the work failed, 2 wrong usage, 130 interrupted."""

import sys

import typer

from holdfast import __version__
from holdfast.cli import db
from holdfast.core.errors import HoldfastError

WORKS = """\
Holdfast {version}: a server that runs AI agents durably. The server is not there yet; what works today:

  holdfast db migrate    make a database, or bring one up to date
  holdfast db check      say whether a database is whole
  holdfast db backup     copy a database while it is in use

Each takes --database (sqlite, sqlite:PATH or postgresql://user@host/name) and --data (where SQLite's file
is). `holdfast db --help` tells more."""

app = typer.Typer(
    name="holdfast",
    help="A self-hosted server that runs AI agents durably.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(db.app, name="db")


@app.callback(invoke_without_command=True)
def holdfast(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Show the version and exit."),
) -> None:
    """A self-hosted server that runs AI agents durably."""
    if version:
        print(f"holdfast {__version__}")
    elif context.invoked_subcommand is None:
        print(WORKS.format(version=__version__))


def main() -> None:
    """One sentence for what went wrong, never a traceback: those are for faults of ours."""
    try:
        app()
    except HoldfastError as error:
        print(f"holdfast: {error.text}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
