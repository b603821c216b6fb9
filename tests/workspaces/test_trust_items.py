"""The hash of content that is to be trusted covers every file of the workspace that it names."""

from pathlib import Path

import pytest

from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.places.trust_items import TrustItem, trust_item


def item(root: Path, *words: str) -> TrustItem:
    made = Root(root)
    with made.open() as tree:
        return trust_item(made, tree, "mcp", ".mcp.json", "{}", words)


@pytest.mark.parametrize(
    "word, path",
    [
        ("server.py", "server.py"),
        ("./tools/server.py", "tools/server.py"),
        ("{root}/server.py", "server.py"),
        ("--config=server.json", "server.json"),
        ("-r./preload.js", "preload.js"),
        ("python ./server.py --fast", "server.py"),
        ("sh -c 'exec ./run.sh'", "run.sh"),
        ("package.server", "package/server.py"),
        ("package", "package/__main__.py"),
        ("--require ./preload.js", "preload.js"),
    ],
)
def test_named_files_are_found_and_hashed(tmp_path: Path, word: str, path: str) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("one")
    word = word.format(root=tmp_path)
    if word.startswith("sh -c"):
        word = "exec ./run.sh"
    before = item(tmp_path, "run", word)
    assert [named.path for named in before.files] == [path]
    assert before.files[0].text == "one"
    file.write_text("two")
    assert item(tmp_path, "run", word).hash != before.hash
    assert item(tmp_path, "run").files == ()


def test_what_lies_outside_or_is_no_file_is_not_named(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "directory").mkdir(parents=True)
    outside = tmp_path / "outside.py"
    outside.write_text("CANARY")
    (root / "link.py").symlink_to(outside)
    words = (
        "directory",
        "../outside.py",
        str(outside),
        "link.py",
        "/etc/passwd",
        "-",
        "=",
        "",
        "~/x",
        "a\0b",
    )
    assert item(root, *words).files == ()


def test_content_that_names_too_much_cannot_be_trusted(tmp_path: Path) -> None:
    for number in range(150):
        (tmp_path / f"f{number}").write_text("x")
    assert item(tmp_path, *(f"f{number}" for number in range(150))).error
