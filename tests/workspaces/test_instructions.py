"""What people wrote down for agents, and skills that are read on demand."""

import os
from pathlib import Path

import pytest

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.prompt.workspace import instruction_passages, skill_passages
from holdfast.workspaces.places.instructions import LIMIT_BYTES, Instructions, read_instructions
from holdfast.workspaces.places.skills import find_skills, list_skills, parse_head, read_skill
from tests.workspaces.stage import SECRET, Stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def sources(found: tuple[Instructions, ...]) -> list[str]:
    return [each.source for each in found if each.error is None]


def instructions_text(found: tuple[Instructions, ...]) -> str:
    return "".join(passage.text for passage in instruction_passages(found))


def test_from_the_general_to_the_particular(stage: Stage, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.mkdir()
    (config / "AGENTS.md").write_text("server\n")
    (config / "CLAUDE.md").write_text("not here\n")
    stage.write("AGENTS.md", "root\n")
    stage.write("CLAUDE.md", "not when there is the other\n")
    stage.write("a/CLAUDE.md", "a\n")
    stage.write("a/b/AGENTS.md", "b\n")
    stage.write("a/b/c/AGENTS.md", "below the work\n")
    stage.write("other/AGENTS.md", "beside the work\n")
    found = read_instructions(config, stage.root, ("a", "b"))
    assert sources(found) == [str(config / "AGENTS.md"), "AGENTS.md", "a/CLAUDE.md", "a/b/AGENTS.md"]
    assert [each.text for each in found] == ["server", "root", "a", "b"]
    text = instructions_text(found)
    assert text.index("Instructions from AGENTS.md:\n\nroot") < text.index(
        "Instructions from a/CLAUDE.md:\n\na"
    )


def test_there_may_be_none(stage: Stage, tmp_path: Path) -> None:
    assert read_instructions(tmp_path / "nowhere", stage.root) == ()
    assert read_instructions(None, None) == ()
    assert instructions_text(()) == ""


def test_what_is_too_long_is_cut_and_noted(stage: Stage) -> None:
    (stage.inside / "AGENTS.md").write_text("ü" * LIMIT_BYTES)
    (found,) = read_instructions(None, stage.root)
    assert found.truncated
    assert len(found.text.encode()) <= LIMIT_BYTES
    assert "[cut after 64 KiB; read AGENTS.md for the rest]" in instructions_text((found,))
    assert instruction_passages((found,))[0].error == "Only its first 64 KiB are used."


def test_what_cannot_be_read_is_left_out(stage: Stage) -> None:
    os.mkfifo(stage.inside / "AGENTS.md")
    stage.link("CLAUDE.md", stage.outside / "secret.txt")
    (stage.inside / "a").mkdir()
    (stage.inside / "a" / "AGENTS.md").write_bytes(b"\0binary")
    stage.write("a/CLAUDE.md", "taken instead\n")
    found = read_instructions(None, stage.root, ("a", "gone"))
    assert sources(found) == ["a/CLAUDE.md"]
    assert SECRET not in instructions_text(found)
    assert [(each.label, each.text, bool(each.error)) for each in instruction_passages(found)[:3]] == [
        ("AGENTS.md", "", True),
        ("CLAUDE.md", "", True),
        ("a/AGENTS.md", "", True),
    ]


# Skills


def skill(stage: Stage, folder: str, text: str) -> None:
    stage.write(f".agents/skills/{folder}/SKILL.md", text)


def test_skills_are_listed_by_name_and_read_on_demand(stage: Stage) -> None:
    skill(stage, "b", "---\nname: release-notes\ndescription: Writes release notes.\n---\n\n# How\nStep 1\n")
    skill(stage, "a", "---\ndescription: 'Named by its folder'\n---\nText\n")
    assert [(each.name, each.description, each.folder) for each in list_skills(stage.root)] == [
        ("a", "Named by its folder", ".agents/skills/a"),
        ("release-notes", "Writes release notes.", ".agents/skills/b"),
    ]
    found, text = read_skill(stage.root, "release-notes")
    assert (found.folder, text) == (".agents/skills/b", "# How\nStep 1\n")
    with pytest.raises(NotFound, match="Skills: a, release-notes"):
        read_skill(stage.root, "gone")


def test_skills_of_the_user_come_after_those_of_the_workspace(stage: Stage, tmp_path: Path) -> None:
    skill(stage, "b", "---\nname: both\ndescription: Of the workspace.\n---\nhere\n")
    for name, description in (("both", "Of the user."), ("mine", "Mine alone.")):
        (tmp_path / "own" / name / "more").mkdir(parents=True)
        (tmp_path / "own" / name / "SKILL.md").write_text(f"---\ndescription: {description}\n---\nthere\n")
        (tmp_path / "own" / name / "more" / "list.md").write_text("a list\n")
    own = (tmp_path / "nowhere", tmp_path / "own")
    found = [(each.name, each.description, each.place) for each in list_skills(stage.root, own)]
    assert found == [("both", "Of the workspace.", "workspace"), ("mine", "Mine alone.", "user")]
    assert [each.name for each in list_skills(None, own)] == ["both", "mine"]
    assert read_skill(stage.root, "mine", own)[1] == "there\n"
    assert read_skill(stage.root, "mine", own, "more/list.md")[1] == "a list\n"
    for file in ("../both/SKILL.md", "/etc/passwd", "gone"):
        with pytest.raises(InvalidInput):
            read_skill(stage.root, "mine", own, file)


def test_what_is_no_skill_is_left_out(stage: Stage) -> None:
    skill(stage, "no-description", "---\nname: x\n---\n")
    skill(stage, "no-head", "Just text\n")
    skill(stage, "odd-name", "---\nname: ../../etc\ndescription: x\n---\n")
    skill(stage, "binary", "x")
    (stage.inside / ".agents/skills/binary/SKILL.md").write_bytes(b"---\nname: b\ndescription: \0\n---\n")
    stage.link(".agents/skills/out/SKILL.md", stage.outside / "secret.txt")
    (stage.inside / ".agents/skills/file").write_text("x")
    assert list_skills(stage.root) == ()
    # People are told of those that somebody meant to be skills.
    _, broken = find_skills(stage.root)
    assert [each.folder for each in broken] == [
        f".agents/skills/{folder}" for folder in ("no-description", "no-head", "odd-name")
    ]
    assert all(passage.error and not passage.text for passage in skill_passages((), broken))
    with pytest.raises(NotFound, match="Skills: none"):
        read_skill(stage.root, "../../etc")


def test_a_workspace_without_skills(stage: Stage) -> None:
    assert list_skills(stage.root) == ()


@pytest.mark.parametrize(
    "head, fields",
    [
        ("name: a\ndescription: b", {"name": "a", "description": "b"}),
        ('name: "a: b"', {"name": "a: b"}),
        ("name: 'x'", {"name": "x"}),
        ("description: >\n  two\n  lines\nname: x", {"description": "two lines", "name": "x"}),
        ("description: |-\n  kept\n\n  going", {"description": "kept"}),
        ("description: first\n  second", {"description": "first second"}),
        ("# comment\nname: x", {"name": "x"}),
        ("list:\n- a\n- b\nname: x", {"list": "", "name": "x"}),
        ("!!python/object:os.system\nname: &a *a", {"name": "&a *a"}),
        ("", {}),
    ],
)
def test_the_head_is_read_by_a_small_parser(head: str, fields: dict[str, str]) -> None:
    assert parse_head(f"---\n{head}\n---\ntext") == fields
    assert parse_head(f"---\r\n{head}\r\n---\r\ntext".replace("\n", "\r\n").replace("\r\r", "\r")) == fields


def test_a_head_without_an_end_is_none() -> None:
    assert parse_head("---\nname: a\n") == {}
    assert parse_head("name: a\n") == {}
