"""The order of what a chat is told about its workspace, whatever the source."""

from collections.abc import Iterable
from pathlib import Path

from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.prompt.sources import ORDER, Passage, PromptChat, PromptPlace, PromptSource, told
from holdfast.prompt.workspace import instruction_passages, skill_passages
from holdfast.workspaces.places.instructions import Instructions
from holdfast.workspaces.places.skills import Skill

HERE = PromptChat(chat_id=ChatId("chat"), owner_id=UserId("owner"), workspace_id=WorkspaceId("place"))
PROMPT = Path(__file__).parents[2] / "src" / "holdfast" / "prompt"


def joined(passages: Iterable[Passage]) -> str:
    return "".join(passage.text for passage in passages)


class Says:
    """All that a feature has to write to be heard."""

    def __init__(self, place: PromptPlace, *words: str) -> None:
        self.place: PromptPlace = place
        self.words = words

    async def passages(self, where: PromptChat) -> list[Passage]:
        return [Passage(label=f"{self.place} {n}", text=text) for n, text in enumerate(self.words)]


async def test_sources_are_heard_in_their_order_however_they_are_listed() -> None:
    sources = [Says("memory", "m"), Says("skills", "s1"), Says("instructions", "i"), Says("skills", "s2")]
    assert (await told(sources, HERE)).text == "i\n\ns1\n\ns2\n\nm"


async def test_what_says_nothing_leaves_no_gap() -> None:
    found = await told([Says("skills", ""), Says("instructions", "i"), Says("memory")], HERE)
    assert found.text == "i"
    nobody: list[PromptSource] = []
    assert (await told(nobody, HERE)).text == ""


async def test_what_is_told_is_known_by_its_names() -> None:
    found = await told([Says("skills", "a", "", "b"), Says("instructions", "i"), Says("skills", "c")], HERE)
    assert found.text == "i\n\nab\n\nc"
    assert [(each.place, each.label, each.length) for each in found.told] == [
        ("instructions", "instructions 0", 3),
        ("skills", "skills 0", 1),
        ("skills", "skills 2", 3),
        ("skills", "skills 0", 1),
    ]


def test_the_order_is_the_one_that_is_written_down() -> None:
    assert ORDER == ("system", "instructions", "skills", "memory", "notices")


def test_files_are_named_and_skills_are_listed() -> None:
    found = (
        Instructions(source="AGENTS.md", text="Use tabs."),
        Instructions(source="docs/AGENTS.md", text="No."),
    )
    assert joined(instruction_passages(found)) == (
        "Instructions from AGENTS.md:\n\nUse tabs.\n\nInstructions from docs/AGENTS.md:\n\nNo."
    )
    skill = Skill(name="release", description="How we release.", folder=".agents/skills/release")
    assert joined(skill_passages([skill])) == (
        "Skills (read one with read_skill before such a task):\n- release: How we release."
    )
    assert joined(skill_passages([])) == ""


def test_every_module_is_named_where_the_package_begins() -> None:
    text = (PROMPT / "__init__.py").read_text()
    modules = {path.name for path in PROMPT.glob("*.py")} - {"__init__.py"}
    assert {name for name in modules if f"    {name}" not in text} == set()
