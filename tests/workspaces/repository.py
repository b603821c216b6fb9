"""Git repositories for tests, with a history of one commit."""

import subprocess
from pathlib import Path

IDENTITY = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
}


def git(directory: Path, *arguments: str) -> str:
    told = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *arguments],
        cwd=directory,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(directory), **IDENTITY},
        check=True,
        capture_output=True,
        text=True,
    )
    return told.stdout


def make_repository(directory: Path, files: dict[str, str]) -> str:
    """The id of its commit."""
    directory.mkdir(parents=True, exist_ok=True)
    git(directory, "init", "-q")
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    git(directory, "add", "-A")
    git(directory, "commit", "-q", "--allow-empty", "-m", "first")
    return git(directory, "rev-parse", "HEAD").strip()
