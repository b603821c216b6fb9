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
    Command(
        "queue", "[TEXT]", "list queued messages, or queue this one (as Enter does while the agent works)"
    ),
    Command("steer", "TEXT", "send this to the agent before its next step (Ctrl-T)"),
    Command("now", "TEXT", "stop the agent and send this (Ctrl-X)"),
    Command("drop", "N", "remove the Nth message from the queue"),
    Command("stop", "", "interrupt the turn (Ctrl-C)"),
    Command("retry", "", "retry the failed turn"),
    Command("model", "[NAME]", "list the models, or switch to one for the next messages"),
    Command("effort", "[LEVEL]", "reasoning effort for the next messages"),
    Command("mode", "[NAME]", "list the modes, or switch: build, plan, ask (Shift-Tab cycles)"),
    Command("changes", "[turn]", "files this chat changed, or only in its newest turn"),
    Command("undo", "[PATH]", "undo a file, else the last rewind, else the newest turn"),
    Command("rewind", "[WHAT]", "go back to before your last message: files, conversation or both"),
    Command("new", "", "start a new chat; this one keeps running"),
    Command("resume", "[CHAT]", "list recent chats, or continue one"),
    Command("fork", "", "continue in a copy of this chat"),
    Command("attach", "FILE", "attach a file to the next message"),
    Command("output", "[N]", "show the last tool output in full, or the Nth before it (Ctrl-O)"),
    Command("compact", "", "summarize the conversation to free up context"),
    Command("workflow", "[NAME ...]", "list workflows, or run one with KEY=VALUE or JSON arguments"),
    Command("title", "TEXT", "rename the chat"),
    Command("usage", "", "tokens and cost of this chat"),
    Command("context", "[renew]", "what fills the context; renew: use the instruction files of now"),
    Command("thoughts", "", "show or fold the model's reasoning"),
    Command("id", "", "the chat's id, for `holdfast chat ID`"),
    Command("quit", "", "exit; the agent keeps working (Ctrl-D)"),
)
_NAMES = tuple(command.name for command in COMMANDS)

KEYS = """\
Enter sends; while the agent works, it queues the message.
Ctrl-T steers the agent with it, Ctrl-X stops the agent and sends it.
Alt-Enter or Shift-Enter starts a new line, Up recalls what you sent.
Tab completes commands and @files, Shift-Tab switches the mode.
Ctrl-R searches your history.
!command runs on this machine; its output is sent with your next message.
Ctrl-C interrupts the turn; press it again to exit."""


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
        return f"There is no /{name}." + (
            f" Did you mean /{near[0]}?" if near else " /help lists the commands."
        )
    rest = rest.strip()
    if command.takes and not command.takes.startswith("[") and not rest:
        return f"/{name} {command.takes}: {command.help}."
    if not command.takes and rest:
        return f"/{name} takes no arguments."
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
            break_on_hyphens=False,
        )
    ]
    keys = [line for key in KEYS.split("\n") for line in wrap(key, max(columns, 20))]
    return "\n".join((*lines, "", *keys))
