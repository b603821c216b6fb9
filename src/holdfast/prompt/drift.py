"""Whether the instructions that a model was given are still those on disk: a pure function of the message in
history and of what would be said now."""

from typing import Literal, cast

from holdfast.core.messages import HistoryEntry
from holdfast.core.parts import Notice
from holdfast.core.shapes import Json, Record
from holdfast.prompt.notices import INSTRUCTIONS, INSTRUCTIONS_RENEWED
from holdfast.prompt.segments import told_sources
from holdfast.prompt.sources import WorkspaceText

DriftKind = Literal["changed", "added", "removed"]


class Drift(Record, frozen=True, kw_only=True):
    """A file or a skill that is not as the model was told."""

    place: str
    label: str
    kind: DriftKind


class Given(Record, frozen=True, kw_only=True):
    """The instructions that the model has now; `renewed`: a person asked for the text of now in their place,
    and it was not given yet."""

    entry: HistoryEntry
    notice: Notice
    renewed: bool = False

    @property
    def workspace_id(self) -> str | None:
        return _field(self.notice, "workspace_id")


def given(entries: tuple[HistoryEntry, ...]) -> Given | None:
    """From what the model is shown; None: nothing was given yet, or a summary has hidden it."""
    renewed: set[str | None] = set()
    for entry in reversed(entries):
        for part in entry.parts:
            if isinstance(part, Notice) and part.code == INSTRUCTIONS_RENEWED:
                renewed.add(_field(part, "message_id"))
            if isinstance(part, Notice) and part.code == INSTRUCTIONS:
                return Given(entry=entry, notice=part, renewed=entry.id in renewed)
    return None


def drift(notice: Notice, now: WorkspaceText) -> tuple[Drift, ...]:
    """What people wrote is compared by file and by skill."""
    before, at = dict[tuple[str, str], str](), 0
    sources = told_sources(notice)
    for source in sources:
        before[source.place, source.label] = notice.text[at : at + source.length].strip()
        at += source.length
    found: list[Drift] = []
    for passage in now.passages:
        text = passage.text.strip()
        if not text:
            continue
        old = before.pop((passage.place, passage.label), None)
        if not passage.watched or old == text or (not sources and text in notice.text):
            continue
        kind = "changed" if old is not None or not sources else "added"
        found.append(Drift(place=passage.place, label=passage.label, kind=kind))
    return (*found, *(Drift(place=place, label=label, kind="removed") for place, label in before))


def _field(notice: Notice, name: str) -> str | None:
    # An imported history may contain anything here.
    data: Json = notice.data
    value = cast(dict[str, Json], data).get(name) if isinstance(data, dict) else None
    return value if isinstance(value, str) else None
