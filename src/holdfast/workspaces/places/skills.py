"""Skills: `<folder>/SKILL.md`, in `.agents/skills` of a workspace or in a directory of the user's own. Only
names and descriptions are told to a model; the text is read when it asks. The head of the file is read by a
parser of our own that knows `key: text` and nothing else."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from holdfast.core.errors import HoldfastError, InvalidInput, NotFound
from holdfast.core.shapes import Record
from holdfast.core.text import one_line
from holdfast.workspaces.files.file_root import Root, Tree
from holdfast.workspaces.files.line_ranges import open_file, read_up_to
from holdfast.workspaces.files.paths import Parts, parse_path, shown

FOLDER: Parts = (".agents", "skills")
FILE = "SKILL.md"
LIMIT_BYTES = 64 * 1024
MAX_SKILLS = 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DESCRIPTION_CHARACTERS = 500


class Skill(Record, frozen=True, kw_only=True):
    name: str
    description: str
    # Where its other files are: in the workspace, or on the server's machine.
    folder: str
    place: Literal["workspace", "user"] = "workspace"


class BrokenSkill(Record, frozen=True, kw_only=True):
    """A folder with a SKILL.md that cannot be used."""

    folder: str
    error: str


def list_skills(root: Root | None, own: Iterable[Path] = ()) -> tuple[Skill, ...]:
    """By name, of the workspace, then of the user's own directories in their order: the first of a name
    counts. What has no usable name or description is left out."""
    return find_skills(root, own)[0]


def find_skills(
    root: Root | None, own: Iterable[Path] = ()
) -> tuple[tuple[Skill, ...], tuple[BrokenSkill, ...]]:
    """The same, and what was left out."""
    skills: dict[str, Skill] = {}
    broken: list[BrokenSkill] = []
    for found in (*_of_workspace(root), *_of_user(own)):
        if isinstance(found, Skill):
            skills.setdefault(found.name, found)
        else:
            broken.append(found)
    return tuple(skills[name] for name in sorted(skills)), tuple(broken)


def read_skill(
    root: Root | None, name: str, own: Iterable[Path] = (), file: str | None = None
) -> tuple[Skill, str]:
    """The skill and its text without the head, or another file of it."""
    known = list_skills(root, own)
    skill = next((skill for skill in known if skill.name == name), None)
    if skill is None:
        names = ", ".join(skill.name for skill in known) or "none"
        raise NotFound(f"There is no skill {shown(name)[:100]!r}. Skills: {names}.")
    inside = FILE if file is None else file
    if skill.place == "user":
        place, folder = Root(Path(skill.folder)), ()
    else:
        assert root is not None, "the workspace that the skill was found in"
        place, folder = root, tuple(skill.folder.split("/"))
    with place.open() as tree:
        text = _read(tree, (*folder, *parse_path(inside)))
    if text is None:
        raise InvalidInput(f"{shown(inside)} of the skill {name} is not there, or is not text.")
    return skill, split_head(text)[1] if file is None else text


def _of_workspace(root: Root | None) -> Iterator[Skill | BrokenSkill]:
    if root is None:
        return
    with root.open() as tree:
        for folder in _folders(tree, FOLDER):
            parts = (*FOLDER, folder)
            if (skill := _skill(tree, parts, "/".join(parts))) is not None:
                yield skill


def _of_user(own: Iterable[Path]) -> Iterator[Skill | BrokenSkill]:
    for base in own:
        try:
            with Root(base).open() as tree:
                for folder in _folders(tree, ()):
                    if (skill := _skill(tree, (folder,), str(base / folder))) is not None:
                        yield replace(skill, place="user") if isinstance(skill, Skill) else skill
        except NotFound:
            continue  # most people have none


def parse_head(text: str) -> dict[str, str]:
    """`key: text` between two lines of dashes. Text may be quoted, or continue in indented lines (`>` and `|`
    too); anything else is ignored."""
    fields: dict[str, str] = {}
    key = ""
    for line in split_head(text)[0].split("\n"):
        if line[:1] in (" ", "\t") and key:
            fields[key] = f"{fields[key]} {line.strip()}".strip()
        elif found := re.match(r"([A-Za-z_][\w-]*):[ \t]*(.*)$", line):
            key, value = found.group(1), found.group(2).strip()
            fields[key] = "" if value in (">", "|", ">-", "|-") else _unquoted(value)
        else:
            key = ""
    return fields


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


def split_head(text: str) -> tuple[str, str]:
    """The head and what follows it."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if not text.startswith("---\n"):
        return "", text
    head, found, rest = text[4:].partition("\n---")
    return (head, rest.partition("\n")[2].lstrip("\n")) if found else ("", text)


def _folders(tree: Tree, where: Parts) -> list[str]:
    try:
        with tree.directory(where) as directory:
            return sorted(os.listdir(directory))[:MAX_SKILLS]
    except (HoldfastError, OSError):
        return []


def _skill(tree: Tree, parts: Parts, folder: str) -> Skill | BrokenSkill | None:
    """None: there is no such file, or it may not be read."""
    text = _read(tree, (*parts, FILE))
    if text is None:
        return None
    fields = parse_head(text)
    name = fields.get("name") or parts[-1]
    description = one_line(fields.get("description", ""), _DESCRIPTION_CHARACTERS)
    if not _NAME.fullmatch(name):
        return BrokenSkill(folder=folder, error="Its name is not usable: letters, digits and ._- only.")
    if not description:
        return BrokenSkill(folder=folder, error=f"{FILE} has no description between its lines of dashes.")
    return Skill(name=name, description=description, folder=folder)


def _read(tree: Tree, parts: Parts) -> str | None:
    try:
        with tree.place(parts) as place, open_file(place, parts) as descriptor:
            data = read_up_to(descriptor, LIMIT_BYTES + 1)
    except (HoldfastError, OSError):
        return None
    if b"\0" in data:
        return None
    text = data[:LIMIT_BYTES].decode("utf-8", "replace")
    return f"{text}\n[cut after {LIMIT_BYTES // 1024} KiB]" if len(data) > LIMIT_BYTES else text
