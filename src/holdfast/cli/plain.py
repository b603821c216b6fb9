"""What a chat shows for good as plain text, for pipes and files."""

from holdfast.cli.entries import (
    Asked,
    Begun,
    Done,
    Entry,
    Failed,
    Interrupted,
    Prose,
    Said,
    Thought,
    Withdrawn,
)
from holdfast.cli.neutral import neutral, neutral_line
from holdfast.cli.wording import about, failure, outcome


def plain(entry: Entry) -> str:
    """One entry, without the end of its last line. Neutral."""
    match entry:
        case Asked():
            return f"[{entry.at:%Y-%m-%d %H:%M:%S}] you: {neutral(entry.text)}"
        case Prose():
            return neutral(entry.text.rstrip("\n"))
        case Thought():
            return "(thought) " + neutral(entry.text.strip())
        case Done():
            what = f" {told}" if (told := about(entry.input, 200)) else ""
            return f"* {neutral_line(entry.result.name, 60)}{what} · {outcome(entry.result)}"
        case Said():
            return f"- {neutral_line(entry.text, 1000)}"
        case Withdrawn():
            return "(the text above was not kept: its attempt broke off)"
        case Interrupted():
            return "(interrupted)"
        case Begun():
            return "(the history was changed; this is how it is now)"
        case Failed():
            return f"failed: {failure(entry.failure)}"
