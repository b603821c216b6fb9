"""What a model is told about itself."""

from datetime import UTC, datetime

from holdfast.core.accounts import NamedAgent
from holdfast.core.chats import Settings
from holdfast.core.ids import NamedAgentId, UserId
from holdfast.prompt.sources import PromptSubject, segments
from holdfast.prompt.system import BASE, SOURCES, system


def of(agent: str | None, chat: str | None) -> PromptSubject:
    return PromptSubject(
        chosen=Settings(instructions=chat), agent=None if agent is None else named_agent(agent)
    )


def named_agent(instructions: str) -> NamedAgent:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return NamedAgent(
        id=NamedAgentId("reviewer"),
        owner_id=UserId("owner"),
        name="reviewer",
        description="",
        instructions=instructions,
        model=None,
        effort=None,
        tools=None,
        published=False,
        created_at=now,
        updated_at=now,
    )


def test_everybody_is_told_the_same_first() -> None:
    assert system(of(None, None)) == (BASE,)
    assert "uncertain" in BASE


def test_from_the_most_to_the_least_stable() -> None:
    assert system(of(" You review. \n", "Be brief.\n")) == (BASE, "You review.", "Be brief.")


def test_the_day_stays_the_same_in_all_requests_of_a_chat() -> None:
    began = datetime(2026, 3, 4, 23, 59, tzinfo=UTC)
    subject = PromptSubject(chosen=Settings(instructions="Be brief."), began_at=began)
    *_, chosen, day = system(subject)
    assert chosen == "Be brief."
    assert day.startswith("This chat began on Wednesday, 04 March 2026 (UTC). The server runs on ")
    assert system(subject) == system(subject)


def test_what_says_nothing_is_no_segment() -> None:
    assert system(of(" ", "  ")) == (BASE,)


def test_a_feature_adds_a_segment_by_adding_its_source() -> None:
    def language(subject: PromptSubject) -> str | None:
        return "Answer in English." if subject.chosen.instructions else None

    assert segments((*SOURCES, language), of(None, "Be brief.")) == (BASE, "Be brief.", "Answer in English.")
