"""Skills of a workspace: `.agents/skills/<folder>/SKILL.md`. Only names and descriptions are told to a model;
the text is read when it asks. The head of the file is read by a parser of our own that knows `key: text` and
nothing else."""

import os
import re

from holdfast.core.errors import HoldfastError, InvalidInput, NotFound
from holdfast.core.shapes import Record
from holdfast.core.text import one_line
from holdfast.workspaces.files.file_root import Root, Tree
from holdfast.workspaces.files.line_ranges import open_file, read_up_to
from holdfast.workspaces.files.paths import Parts, shown

FOLDER: Parts = (".agents", "skills")
FILE = "SKILL.md"
LIMIT_BYTES = 64 * 1024
MAX_SKILLS = 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_DESCRIPTION_CHARACTERS = 500


class Skill(Record, frozen=True, kw_only=True):
    name: str
    description: str
    # Where its other files are.
    folder: str


def list_skills(root: Root) -> tuple[Skill, ...]:
    """By name. What has no usable name or description is left out: nobody could ask for it."""
    with root.open() as tree:
        skills = {
            skill.name: skill for folder in _folders(tree) if (skill := _skill(tree, folder)) is not None
        }
    return tuple(skills[name] for name in sorted(skills))


def read_skill(root: Root, name: str) -> tuple[Skill, str]:
    """The skill and its text, without the head."""
    known = list_skills(root)
    skill = next((skill for skill in known if skill.name == name), None)
    if skill is None:
        names = ", ".join(skill.name for skill in known) or "none"
        raise NotFound(f"There is no skill {shown(name)[:100]!r}. Skills of this workspace: {names}.")
    with root.open() as tree:
        text = _read(tree, tuple(skill.folder.split("/")))
    if text is None:
        raise InvalidInput(f"The file of the skill {name} cannot be read any more.")
    return skill, split_head(text)[1]


def parse_head(text: str) -> dict[str, str]:
    """`key: text` between two lines of dashes. Text may be quoted, or go on in indented lines (`>` and `|`
    too); anything else is not understood and left out."""
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


def _folders(tree: Tree) -> list[str]:
    try:
        with tree.directory(FOLDER) as directory:
            return sorted(os.listdir(directory))[:MAX_SKILLS]
    except (HoldfastError, OSError):
        return []


def _skill(tree: Tree, folder: str) -> Skill | None:
    text = _read(tree, (*FOLDER, folder))
    if text is None:
        return None
    fields = parse_head(text)
    name = fields.get("name") or folder
    description = one_line(fields.get("description", ""), _DESCRIPTION_CHARACTERS)
    if not _NAME.fullmatch(name) or not description:
        return None
    return Skill(name=name, description=description, folder="/".join((*FOLDER, folder)))


def _read(tree: Tree, folder: Parts) -> str | None:
    parts = (*folder, FILE)
    try:
        with tree.place(parts) as place, open_file(place, parts) as descriptor:
            data = read_up_to(descriptor, LIMIT_BYTES + 1)
    except (HoldfastError, OSError):
        return None
    if b"\0" in data:
        return None
    text = data[:LIMIT_BYTES].decode("utf-8", "replace")
    return f"{text}\n[cut after {LIMIT_BYTES // 1024} KiB]" if len(data) > LIMIT_BYTES else text
