"""A git repository below the server's roots that a person's chats work in."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from tests.e2e.server import Person

AUTHOR = ("-c", "user.name=Test", "-c", "user.email=test@example.com")


@dataclass(frozen=True)
class Workspace:
    id: str
    path: Path


def make_workspace(person: Person, files: dict[str, str], *, git: bool = True) -> Workspace:
    """With these files, and committed."""
    path = person.server.workspaces / uuid4().hex
    for name, text in files.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    if git:
        _git(path, "init", "-q")
        _git(path, "add", "-A")
        _git(path, *AUTHOR, "commit", "-q", "-m", "first")
    made = person.post("workspaces", {"name": path.name, "path": str(path)})
    return Workspace(made["id"], path)


def _git(path: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=path, check=True, capture_output=True)
