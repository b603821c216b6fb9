"""What changed on disk since the model was told."""

from holdfast.core.ids import MessageId
from holdfast.core.messages import HistoryEntry
from holdfast.core.parts import Notice, Text
from holdfast.core.shapes import Json
from holdfast.prompt.drift import drift, given
from holdfast.prompt.notices import INSTRUCTIONS, INSTRUCTIONS_RENEWED
from holdfast.prompt.sources import PlacedPassage, PromptPlace, WorkspaceText


def passage(
    label: str, text: str, place: PromptPlace = "instructions", *, watched: bool = True
) -> PlacedPassage:
    return PlacedPassage(place=place, label=label, text=text, watched=watched)


def notice(text: WorkspaceText, *, named: bool = True) -> Notice:
    data: Json = {"workspace_id": "w"}
    if named:
        data = {
            "workspace_id": "w",
            "sources": [
                {"place": told.place, "label": told.label, "length": told.length} for told in text.told
            ],
        }
    return Notice(code=INSTRUCTIONS, text=text.text, data=data)


BRANCH = passage("working directory", "On branch main.\n\n", watched=False)
BEFORE = WorkspaceText(
    passages=(BRANCH, passage("AGENTS.md", "Use tabs."), passage("release", "- How.", "skills"))
)


def changes(before: Notice, now: WorkspaceText) -> list[tuple[str, str]]:
    return [(each.label, each.kind) for each in drift(before, now)]


def test_nothing_changed() -> None:
    assert changes(notice(BEFORE), BEFORE) == []


def test_another_branch_is_no_change() -> None:
    moved = passage("working directory", "On branch other.\n\n", watched=False)
    assert changes(notice(BEFORE), WorkspaceText(passages=(moved, *BEFORE.passages[1:]))) == []


def test_gaps_between_sources_are_no_change() -> None:
    with_gap = passage("AGENTS.md", "Use tabs.\n\n")
    assert changes(notice(BEFORE), WorkspaceText(passages=(BRANCH, with_gap, BEFORE.passages[2]))) == []


def test_changed_new_and_gone() -> None:
    now = WorkspaceText(
        passages=(BRANCH, passage("AGENTS.md", "Use spaces."), passage("docs/AGENTS.md", "No."))
    )
    assert changes(notice(BEFORE), now) == [
        ("AGENTS.md", "changed"),
        ("docs/AGENTS.md", "added"),
        ("release", "removed"),
    ]


def test_what_has_no_text_counts_as_gone() -> None:
    broken = PlacedPassage(place="instructions", label="AGENTS.md", error="It is not text.")
    now = WorkspaceText(passages=(BRANCH, broken, BEFORE.passages[2]))
    assert changes(notice(BEFORE), now) == [("AGENTS.md", "removed")]


def test_a_history_without_names_is_compared_by_its_text() -> None:
    old = notice(BEFORE, named=False)
    assert changes(old, BEFORE) == []
    now = WorkspaceText(passages=(BRANCH, passage("AGENTS.md", "Use spaces.")))
    assert changes(old, now) == [("AGENTS.md", "changed")]


def entry(name: str, part: Notice | Text) -> HistoryEntry:
    return HistoryEntry(
        turn=1,
        role="system",
        boundary=False,
        interrupted=False,
        model=None,
        usage=None,
        parts=(part,),
        id=MessageId(name),
    )


def wish(message_id: Json) -> Notice:
    return Notice(code=INSTRUCTIONS_RENEWED, text="New.", data={"message_id": message_id})


def test_the_newest_instructions_are_those_that_count() -> None:
    first, second = entry("m1", notice(BEFORE)), entry("m3", notice(BEFORE))
    assert given(()) is None
    assert given((entry("m0", Text(text="Hello.")),)) is None
    for entries, message_id, renewed in (
        ((first,), "m1", False),
        ((first, entry("m2", wish("m1"))), "m1", True),
        ((first, entry("m2", wish("m1")), second), "m3", False),
        # In one commit the text comes before the notices.
        ((first, second, entry("m4", wish("m1"))), "m3", False),
        ((first, entry("m2", wish(None))), "m1", False),
    ):
        found = given(entries)
        assert found is not None
        assert (found.entry.id, found.renewed, found.workspace_id) == (message_id, renewed, "w")
