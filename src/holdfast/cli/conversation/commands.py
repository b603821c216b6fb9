"""The commands of a conversation: lines that begin with a slash. `/help` is written from this list."""

from dataclasses import dataclass
from difflib import get_close_matches


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
Ctrl-C interrupts the turn; again, it leaves."""


@dataclass(frozen=True, slots=True)
class Order:
    name: str
    rest: str


def is_command(line: str) -> bool:
    """A path is none: /etc/hosts may be the beginning of what somebody wants to say."""
    word = line.split(maxsplit=1)[0] if line.strip() else ""
    return word.startswith("/") and "/" not in word[1:] and word[1:].isalpha()


def parse(line: str) -> Order | str:
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
    return Order(name, rest)


def help_text() -> str:
    width = max(len(f"{command.name} {command.takes}") for command in COMMANDS)
    lines = [f"  /{f'{command.name} {command.takes}':<{width}}  {command.help}" for command in COMMANDS]
    return "\n".join((*lines, "", KEYS))
