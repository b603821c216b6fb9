"""The commands of a conversation: lines that begin with a slash. `/help` is written from this list."""

from dataclasses import dataclass
from difflib import get_close_matches
from textwrap import wrap


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    takes: str
    help: str


COMMANDS = (
    Command("help", "", "this list"),
    Command("queue", "[TEXT]", "show what waits, or let this wait its turn (as Enter does while it works)"),
    Command("steer", "TEXT", "let the agent read this before its next step (Ctrl-T)"),
    Command("now", "TEXT", "stop what it does and go on with this (Ctrl-X)"),
    Command("drop", "N", "take the message at place N out of the queue"),
    Command("stop", "", "interrupt the turn (Ctrl-C)"),
    Command("retry", "", "run a turn that failed again"),
    Command("model", "[NAME]", "list the models, or use this one from the next message on"),
    Command("effort", "[LEVEL]", "how hard the model thinks, from the next message on"),
    Command("mode", "[NAME]", "list the modes, or switch: build, plan, ask (Shift-Tab goes round)"),
    Command("new", "", "begin another chat here; this one goes on"),
    Command("resume", "[CHAT]", "list the newest chats, or go on with this one"),
    Command("fork", "", "go on in a copy of this chat"),
    Command("attach", "FILE", "send this file along with the next message"),
    Command("output", "[N]", "all of the last tool output, or of the Nth before it (Ctrl-O)"),
    Command("compact", "", "summarise the history, so that the model is shown less of it"),
    Command(
        "workflow", "[NAME ...]", "list the workflows, or run one here; KEY=VALUE or JSON follow its name"
    ),
    Command("title", "TEXT", "give the chat another title"),
    Command("usage", "", "what this chat has used"),
    Command("thoughts", "", "show what the model thinks in full, or no more"),
    Command("id", "", "the chat's id, to come back with `holdfast chat ID`"),
    Command("quit", "", "leave; what is under way goes on (Ctrl-D)"),
)
_NAMES = tuple(command.name for command in COMMANDS)

KEYS = """\
Enter sends; while the agent works, the message waits in the queue.
Ctrl-T steers with what you typed, Ctrl-X interrupts with it.
Alt-Enter or Shift-Enter begins a new line, Up brings back what you sent.
Tab completes commands and @files, Shift-Tab switches the mode, Ctrl-R looks for what you typed before.
!command runs on this machine; its output goes along with your next message.
Ctrl-C interrupts the turn; again, it leaves."""


@dataclass(frozen=True, slots=True)
class SlashCommand:
    name: str
    rest: str


def is_command(line: str) -> bool:
    """A path is none: /etc/hosts may be the beginning of what somebody wants to say."""
    word = line.split(maxsplit=1)[0] if line.strip() else ""
    return word.startswith("/") and "/" not in word[1:] and word[1:].isalpha()


def parse(line: str) -> SlashCommand | str:
    """The order, or what is wrong with it."""
    word, _, rest = line.strip().partition(" ")
    name = word.removeprefix("/").lower()
    command = next((command for command in COMMANDS if command.name == name), None)
    if command is None:
        near = get_close_matches(name, _NAMES, n=1)
        return f"There is no /{name}." + (f" Did you mean /{near[0]}?" if near else " /help lists them.")
    rest = rest.strip()
    if command.takes and not command.takes.startswith("[") and not rest:
        return f"/{name} {command.takes}: {command.help}."
    if not command.takes and rest:
        return f"/{name} takes nothing after it."
    return SlashCommand(name, rest)


def help_text(columns: int) -> str:
    """No line is wider than the window; what a command does goes on below where it began."""
    width = max(len(f"{command.name} {command.takes}") for command in COMMANDS)
    indent = " " * (width + 5) if columns > width + 25 else "    "
    lines = [
        line
        for command in COMMANDS
        for line in wrap(
            f"  /{f'{command.name} {command.takes}':<{width}}  {command.help}",
            max(columns, 20),
            subsequent_indent=indent,
        )
    ]
    keys = [line for key in KEYS.split("\n") for line in wrap(key, max(columns, 20))]
    return "\n".join((*lines, "", *keys))
