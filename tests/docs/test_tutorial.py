"""The tutorial does what it says: its commands are run as they stand, one after the other in one shell,
against a server of their own, and what they print is what is shown below them."""

from pathlib import Path

import pytest

from tests.docs.guide_runs import Block, blocks, missing, run_blocks

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorial.md"


def test_the_fences_are_understood() -> None:
    made = blocks("```sh\nls\n```\n\n```text\na...b\n```\n```sh\nid\n```\n")
    assert made == [Block("ls\n", "a...b\n"), Block("id\n", "")]
    assert missing("a...b\n", "xxaxxbxx") is None
    assert missing("a\nb\n", "b a") == "b"


@pytest.mark.heavy
@pytest.mark.timeout(600)
def test_the_tutorial(tmp_path: Path) -> None:
    told = blocks(TUTORIAL.read_text())
    assert len(told) > 15
    run_blocks(told, tmp_path)
