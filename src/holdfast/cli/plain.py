"""What a chat shows for good as plain text, for pipes and files."""

from holdfast.cli.entries import (
    Begun,
    CallEntry,
    Entry,
    FailureEntry,
    Interrupted,
    Said,
    TextEntry,
    Thought,
    UserEntry,
    Withdrawn,
)
from holdfast.cli.results import folded
from holdfast.cli.safe_text import neutral, neutral_line
from holdfast.cli.wording import about, failure, outcome


def plain(entry: Entry) -> str:
    """One entry, without the end of its last line. Neutral."""
    match entry:
        case UserEntry():
            return f"[{entry.at:%Y-%m-%d %H:%M:%S}] you: {neutral(entry.text)}"
        case TextEntry():
            return neutral(entry.text.rstrip("\n"))
        case Thought():
            return "(thought) " + neutral(entry.text.strip())
        case CallEntry():
            what = f" {told}" if (told := about(entry.input, 200)) else ""
            head = f"* {neutral_line(entry.result.name, 60)}{what} · {outcome(entry.result)}"
            # What went well is told in a line, what failed with its reason.
            shown = [] if entry.result.outcome == "succeeded" else folded(entry.result)
            return "\n".join((head, *(f"  | {line.text}" for line in shown)))
        case Said():
            return f"- {neutral_line(entry.text, 1000)}"
        case Withdrawn():
            return "(the text above was discarded: the attempt failed)"
        case Interrupted():
            return "(interrupted)"
        case Begun():
            return "(the conversation was edited; this is its current state)"
        case FailureEntry():
            return f"failed: {failure(entry.failure)}"
