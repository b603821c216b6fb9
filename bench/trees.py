"""A tree of source files, made once for all who search it, and what is asked of it. Standard library
alone."""

import random
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.task import Task

PER_DIRECTORY = 100
LINES = 20
NEEDLE = "needle_in_the_tree"


@dataclass(frozen=True, slots=True)
class Question:
    """Names of files when there is no pattern, else lines."""

    glob: str | None
    pattern: str | None


# Many names, one name, a rare word, a word that is nowhere, a pattern in some of the files.
QUESTIONS = (
    Question("*.md", None),
    Question("**/file_000007.*", None),
    Question(None, NEEDLE),
    Question(None, "nowhere_to_be_found"),
    Question("*.md", r"needle_\w+_tree"),
)


def tree_for(task: Task) -> Path:
    """Beside the directories of the single measurements: it goes with them, at the end."""
    tree = Path(task.database).parent / f"tree-{task.files}"
    if not tree.exists():
        making = tree.with_suffix(".making")
        shutil.rmtree(making, ignore_errors=True)
        _make(making, task.files)
        making.rename(tree)
    return tree


def find_ripgrep() -> str | None:
    """The one of the peers' environment, else the machine's."""
    own = Path(sys.executable).parent / "rg"
    peers = Path(__file__).parents[1] / ".venv-bench" / "bin" / "rg"
    return next((str(path) for path in (own, peers) if path.exists()), shutil.which("rg"))


def _make(root: Path, files: int) -> None:
    chance = random.Random(1)
    words = [
        "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 10))) for _ in range(2000)
    ]
    for number in range(files):
        directory = (
            root / f"package_{number // PER_DIRECTORY // 20:03}" / f"part_{number // PER_DIRECTORY % 20:02}"
        )
        if number % PER_DIRECTORY == 0:
            directory.mkdir(parents=True, exist_ok=True)
        lines = [" ".join(chance.choices(words, k=8)) for _ in range(LINES)]
        if number % 1000 == 7:
            lines[10] += f" {NEEDLE}"
        ending = ("py", "ts", "txt", "md")[number % 4]
        (directory / f"file_{number:06}.{ending}").write_text("\n".join(lines) + "\n")
    (root / ".gitignore").write_text("*.log\nbuild/\n")
