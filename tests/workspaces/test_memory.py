"""Whatever a file contains, the server's memory does not grow with it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.workspaces.stage import Stage

REPOSITORY = Path(__file__).parents[2]
LARGE_MIB = 300


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    stage = Stage(tmp_path_factory.mktemp("memory"))
    with (stage.inside / "one line").open("wb") as file:
        for _ in range(LARGE_MIB):
            file.write(b"x" * 2**20)
    with (stage.inside / "lines").open("wb") as file:
        block = b"a line of text that is not very long\n" * 28_000
        for _ in range(LARGE_MIB):
            file.write(block)
    with (stage.inside / "sparse").open("wb") as file:
        file.truncate(2**40)
    (stage.inside / "editable").write_text("ü" * 1_900_000 + "\nneedle\n")
    (stage.inside / "many lines").write_text("a\n" * 1_900_000 + "needle\n")
    (stage.inside / "no such line").write_text("a\n" * 1_900_000)
    (stage.inside / "many").mkdir()
    for n in range(50_000):
        (stage.inside / "many" / f"{n} {'x' * 100}").touch()
    return stage


@pytest.mark.heavy
@pytest.mark.parametrize(
    "what, path",
    [
        ("read", "one line"),
        ("read far", "one line"),
        ("read", "lines"),
        ("read", "sparse"),
        ("read far", "sparse"),
        ("edit", "one line"),
        ("edit", "sparse"),
        ("edit", "editable"),
        ("edit", "many lines"),
        ("edit", "no such line"),
        ("write", "lines"),
        ("list", "many"),
        ("grep", "one line"),
        ("grep", "lines"),
        ("grep", "sparse"),
        ("grep", "many"),
    ],
)
def test_memory_is_bounded(stage: Stage, what: str, path: str) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "tests.workspaces.weighing", stage.inside, what, path],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    assert int(told.stdout) <= 32, f"{told.stdout.strip()} MiB more"
