"""The order of what a chat is told about its workspace, whatever the source."""

from pathlib import Path

from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.prompt.sources import ORDER, PromptChat, PromptPlace, PromptSource, told
from holdfast.prompt.workspace import instructions_text, skills_text
from holdfast.workspaces.places.instructions import Instructions
from holdfast.workspaces.places.skills import Skill

HERE = PromptChat(chat_id=ChatId("chat"), owner_id=UserId("owner"), workspace_id=WorkspaceId("place"))
PROMPT = Path(__file__).parents[2] / "src" / "holdfast" / "prompt"


class Says:
    """All that a feature has to write to be heard."""

    def __init__(self, place: PromptPlace, words: str | None) -> None:
        self.place: PromptPlace = place
        self.words = words

    async def text(self, where: PromptChat) -> str | None:
        return self.words


async def test_sources_are_heard_in_their_order_however_they_are_listed() -> None:
    sources = [Says("memory", "m"), Says("skills", "s1"), Says("instructions", "i"), Says("skills", "s2")]
    assert await told(sources, HERE) == "i\n\ns1\n\ns2\n\nm"


async def test_what_says_nothing_leaves_no_gap() -> None:
    assert await told([Says("skills", ""), Says("instructions", "i"), Says("memory", None)], HERE) == "i"
    nobody: list[PromptSource] = []
    assert await told(nobody, HERE) is None


def test_the_order_is_the_one_that_is_written_down() -> None:
    assert ORDER == ("system", "instructions", "skills", "memory", "notices")


def test_files_are_named_and_skills_are_listed() -> None:
    found = (
        Instructions(source="AGENTS.md", text="Use tabs."),
        Instructions(source="docs/AGENTS.md", text="No."),
    )
    assert instructions_text(found) == (
        "Instructions from AGENTS.md:\n\nUse tabs.\n\nInstructions from docs/AGENTS.md:\n\nNo."
    )
    skill = Skill(name="release", description="How we release.", folder=".agents/skills/release")
    assert skills_text([skill]) == (
        "Skills (read one with read_skill before such a task):\n- release: How we release."
    )
    assert skills_text([]) == ""


def test_every_module_is_named_where_the_package_begins() -> None:
    text = (PROMPT / "__init__.py").read_text()
    modules = {path.name for path in PROMPT.glob("*.py")} - {"__init__.py"}
    assert {name for name in modules if f"    {name}" not in text} == set()
