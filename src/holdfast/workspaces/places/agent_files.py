"""Named agents provided by a workspace: `.holdfast/agents/*.md`, then `.claude/agents/*.md`. Whoever can
write to the workspace wrote these instructions, so a file alone is not an agent: a person has to trust its
content first."""

import hashlib
import os
import re

from holdfast.core.errors import HoldfastError
from holdfast.core.shapes import Record
from holdfast.core.text import one_line
from holdfast.workspaces.files.file_root import Root, Tree
from holdfast.workspaces.files.line_ranges import open_file, read_up_to
from holdfast.workspaces.files.paths import Parts
from holdfast.workspaces.places.skills import parse_head, split_head

FOLDERS: tuple[Parts, ...] = ((".holdfast", "agents"), (".claude", "agents"))
LIMIT_BYTES = 64 * 1024
MAX_FILES = 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")
_DESCRIPTION_CHARACTERS = 2000
# Other programs' names for tools that we have too.
TOOL_NAMES = {
    "Read": "read_file",
    "Write": "write_file",
    "Edit": "edit_files",
    "MultiEdit": "edit_files",
    "Bash": "execute",
    "BashOutput": "process_output",
    "KillShell": "process_signal",
    "Glob": "glob",
    "Grep": "grep",
    "LS": "list",
    "WebFetch": "web_fetch",
    "WebSearch": "web_search",
    "Task": "spawn_agent",
    "Agent": "spawn_agent",
    "TodoWrite": "todo",
    "AskUserQuestion": "ask_user",
}
# Means: like the chat that starts it.
_INHERITS = ("", "inherit")


class AgentFile(Record, frozen=True, kw_only=True):
    """`error`: why it cannot be an agent. `hidden_by`: the nearer file of the same name."""

    path: str
    digest: str
    name: str
    description: str = ""
    instructions: str = ""
    model: str | None = None
    # By our names; None: all.
    tools: tuple[str, ...] | None = None
    error: str | None = None
    hidden_by: str | None = None


def list_agent_files(root: Root) -> tuple[AgentFile, ...]:
    """By name, nearest first. Blocks: call it in a thread."""
    found: list[AgentFile] = []
    first: dict[str, str] = {}
    with root.open() as tree:
        for folder in FOLDERS:
            for name in _names(tree, folder):
                file = _read(tree, (*folder, name))
                nearer = first.setdefault(file.name, file.path) if file.error is None else file.path
                found.append(file if nearer == file.path else _hidden(file, nearer))
    return tuple(sorted(found, key=lambda file: file.name))


def _hidden(file: AgentFile, nearer: str) -> AgentFile:
    return AgentFile(path=file.path, digest=file.digest, name=file.name, hidden_by=nearer)


def _names(tree: Tree, folder: Parts) -> list[str]:
    try:
        with tree.directory(folder) as directory:
            return sorted(name for name in os.listdir(directory) if name.endswith(".md"))[:MAX_FILES]
    except (HoldfastError, OSError):
        return []


def _read(tree: Tree, parts: Parts) -> AgentFile:
    path, stem = "/".join(parts), parts[-1].removesuffix(".md")
    try:
        with tree.place(parts) as place, open_file(place, parts) as descriptor:
            data = read_up_to(descriptor, LIMIT_BYTES + 1)
    except (HoldfastError, OSError):
        return AgentFile(path=path, digest="", name=stem, error="The file cannot be read.")
    digest = hashlib.sha256(data).hexdigest()
    if len(data) > LIMIT_BYTES:
        error = f"The file has more than {LIMIT_BYTES // 1024} KiB."
        return AgentFile(path=path, digest=digest, name=stem, error=error)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return AgentFile(path=path, digest=digest, name=stem, error="The file is not UTF-8 text.")
    return parse_agent(path, digest, text)


def parse_agent(path: str, digest: str, text: str) -> AgentFile:
    stem = path.rpartition("/")[2].removesuffix(".md")
    head, instructions = parse_head(text), split_head(text)[1].strip()
    name = head.get("name") or stem
    description = one_line(head.get("description", ""), _DESCRIPTION_CHARACTERS)
    if not _NAME.fullmatch(name):
        return AgentFile(path=path, digest=digest, name=stem, error="Its name is not one that agents have.")
    if not description:
        return AgentFile(path=path, digest=digest, name=name, error="It has no description.")
    if not instructions:
        return AgentFile(path=path, digest=digest, name=name, error="It has no instructions.")
    model = head.get("model", "")
    return AgentFile(
        path=path,
        digest=digest,
        name=name,
        description=description,
        instructions=instructions,
        model=None if model in _INHERITS else model,
        tools=_tools(head.get("tools", "")),
    )


def _tools(listed: str) -> tuple[str, ...] | None:
    """`Read, Grep`, `[Read, Grep]` or a list of `- Read`. A rule in brackets (`Bash(git:*)`) counts as its
    tool."""
    plain = re.sub(r"\([^)]*\)", "", listed).strip().strip("[]")
    names = [name.strip(" \t\"'") for name in re.split(r",|(?:^|\s)-\s", plain)]
    names = [name for name in names if name]
    if not names or names == ["*"]:
        return None
    return tuple(dict.fromkeys(TOOL_NAMES.get(name, name) for name in names))
