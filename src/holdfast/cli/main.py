"""The `holdfast` command. Exit codes: 0 done, 1 the work failed, 2 wrong usage, 3 cannot reach the server,
130 interrupted."""

import sys
from typing import Annotated

import typer

from holdfast import __version__
from holdfast.cli import (
    agents,
    approvals,
    audit,
    changes,
    chat,
    chat_changes,
    chats,
    code,
    context,
    db,
    debug,
    doctor,
    export,
    files,
    flows,
    hooks,
    import_chat,
    logs,
    mcp,
    models,
    providers,
    run,
    serve,
    skills,
    tokens,
    trace,
    users,
    workflows,
    workspaces,
)
from holdfast.core.errors import BadFlag, HoldfastError, Refused, Unreachable, WrongUsage

FAILED, WRONG_USAGE, UNREACHABLE, INTERRUPTED = 1, 2, 3, 130

BEGIN = """\
Holdfast {version}: AI agents that run durably, on your own machine.

  holdfast serve          start the server
  holdfast chat           talk with an agent; `holdfast chat --last` goes on where you were
  holdfast run "..."      one turn, for scripts and pipes
  holdfast workflow run   many agents, led by a script; `holdfast workflow list` shows which
  holdfast ps             your chats: what each is doing, and whether it needs you
  holdfast doctor         say what is wrong with the setup, and what to do

`holdfast --help` lists everything, `holdfast COMMAND --help` tells more of one."""

app = typer.Typer(
    name="holdfast",
    help="AI agents that run durably, on your own machine.",
    no_args_is_help=False,
    # With `--install-completion` and `--show-completion`.
    add_completion=True,
    # Counts for the commands below too.
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    # Plain text: it reads well in pipes too, and fits more on a line than boxes do.
    rich_markup_mode=None,
)
for command in (
    serve.serve,
    chat.chat,
    run.run,
    chats.ps,
    logs.logs,
    chats.send,
    chats.stop,
    chat.attach,
    trace.trace,
    changes.changes,
    changes.rewind,
    context.context,
    debug.debug,
    chat_changes.fork,
    chat_changes.edit,
    chat_changes.archive,
    chat_changes.unarchive,
    chat_changes.delete,
    approvals.approvals,
    files.upload,
    export.export,
):
    app.command()(command)
app.command("import")(import_chat.import_chat)
app.add_typer(workflows.app, name="workflow")
app.add_typer(flows.app, name="flow")
app.add_typer(workspaces.app, name="workspace")
app.add_typer(code.app, name="code")
app.add_typer(agents.app, name="agent")
app.add_typer(skills.app, name="skill")
app.add_typer(mcp.app, name="mcp")
app.add_typer(hooks.app, name="hooks")
app.add_typer(users.app, name="user")
app.add_typer(tokens.app, name="token")
app.add_typer(providers.app, name="provider")
app.add_typer(models.app, name="model")
app.add_typer(db.app, name="db")
app.command()(audit.audit)
app.command()(doctor.doctor)


@app.callback(invoke_without_command=True)
def holdfast(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """AI agents that run durably, on your own machine."""
    if version:
        print(f"holdfast {__version__}")
    elif context.invoked_subcommand is None:
        print(BEGIN.format(version=__version__))


def main() -> None:
    """One sentence for what went wrong, never a traceback: those are for faults of ours."""
    try:
        app()
    except HoldfastError as error:
        print(f"holdfast: {error.text}", file=sys.stderr)
        sys.exit(exit_code(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def exit_code(error: HoldfastError) -> int:
    match error:
        case Unreachable():
            return UNREACHABLE
        case WrongUsage() | BadFlag() | Refused(status=422):
            return WRONG_USAGE
        case _:
            return FAILED
