"""The words of the house: a public class name means one thing, and no name is one the glossary avoids."""

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "holdfast"
# A thread of the operating system is one.
ALLOWED = {"threads", "process_thread"}


def modules() -> list[Path]:
    return sorted(SOURCES.rglob("*.py"))


def public_classes(path: Path) -> list[str]:
    tree = ast.parse(path.read_text())
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.name[0] != "_"]


def avoided() -> set[str]:
    text = (ROOT / "GLOSSARY.md").read_text().split("## Words that no module or class is named after")[1]
    return set(re.findall(r"`(\w+)`", text))


def words_of(name: str) -> set[str]:
    """`LeaseRenewal` and `lease_renewal` are both made of lease and renewal."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)}


def test_a_public_class_name_is_in_one_module_alone() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in modules():
        for name in public_classes(path):
            places[name].append(str(path.relative_to(SOURCES)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_name_is_one_that_the_glossary_avoids() -> None:
    words = avoided()
    assert {"utils", "manager"} <= words
    named = [(path.stem, path) for path in modules() if path.stem not in ALLOWED]
    named += [(name, path) for path in modules() for name in public_classes(path)]
    assert [(name, str(path)) for name, path in named if words_of(name) & words] == []


def test_the_glossary_explains_a_word_once() -> None:
    rows = re.findall(r"^\| ([^|]+?) \|", (ROOT / "GLOSSARY.md").read_text(), re.MULTILINE)
    words = [row for row in rows if row not in ("word", "---")]
    assert len(words) > 40
    assert sorted(words) == sorted(set(words))
