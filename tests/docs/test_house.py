"""The house keeps its own promises: commands, documents, lock, wheel and import rules agree with the code."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "holdfast"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))
PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>\S+)(?: ; (?P<marker>.+?))? \\$")


# Commands


def test_every_target_is_in_the_help() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert targets
    assert [target for target in targets if not re.search(rf"make {target}\s+\S", shown)] == []


def test_every_target_is_in_contributing() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert [target for target in targets if target != "help" and f"`make {target}`" not in text] == []


def test_the_readme_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert "make run" in text
    assert "make test" in text


def test_every_marker_is_in_contributing() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    markers = [line.partition(":")[0] for line in PROJECT["tool"]["pytest"]["ini_options"]["markers"]]
    assert [marker for marker in markers if f"`{marker}`" not in text] == []


# Documents


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "ARCHITECTURE.md"])
def test_links_between_documents_lead_somewhere(document: str) -> None:
    targets = re.findall(r"\]\(([^)#]+)", (ROOT / document).read_text())
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (ROOT / target).exists()] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_is_in_the_architecture(package: str) -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert re.search(rf"\b{package}\b", text), f"ARCHITECTURE.md says nothing of holdfast.{package}"


def test_every_nested_package_is_in_the_architecture() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    nested = [path.parent.relative_to(SOURCE) for path in SOURCE.glob("*/*/__init__.py")]
    # The rooms of workspaces are listed by their last name.
    missing = [str(one) for one in nested if str(one) not in text and f"`{one.name}`" not in text]
    assert missing == []


# Import rules


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_has_its_place_in_the_layers(package: str) -> None:
    layers = next(c for c in PROJECT["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    assert layers["exhaustive"] is True
    assert package in re.findall(r"\w+", " ".join(layers["layers"]))


def test_chats_imports_core_msgspec_and_the_standard_library_alone() -> None:
    allowed = {"msgspec", *sys.stdlib_module_names}
    foreign = {
        f"{path.name}: {name}"
        for path in (SOURCE / "chats").rglob("*.py")
        for name in imported_names(path)
        if name.partition(".")[0] not in allowed and not name.startswith(("holdfast.core", "holdfast.chats"))
    }
    assert foreign == set()


def imported_names(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names):
                yield from (f"{module}.{alias.name}" for alias in names)
            case _:
                pass


def test_no_module_has_a_name_that_says_nothing() -> None:
    empty_words = {"utils", "util", "helpers", "helper", "manager", "service", "common", "misc"}
    assert [path for path in SOURCE.rglob("*.py") if set(path.stem.split("_")) & empty_words] == []


# Lock


def pins(lock: str) -> dict[str, list[str]]:
    """The locked versions by name; a name may have several, for different Pythons or systems."""
    found: dict[str, list[str]] = {}
    for line in (ROOT / "requirements" / lock).read_text().splitlines():
        if match := PIN.match(line):
            found.setdefault(canonicalize_name(match["name"]), []).append(match["version"])
    return found


def wanted(group: str) -> Iterator[Requirement]:
    for entry in PROJECT["dependency-groups"][group]:
        if isinstance(entry, str):
            yield Requirement(entry)
        else:
            yield from wanted(entry["include-group"])


def unmet(requirements: list[Requirement], lock: str) -> list[str]:
    locked = pins(lock)
    return [
        str(requirement)
        for requirement in requirements
        if not any(
            requirement.specifier.contains(version, prereleases=True)
            for version in locked.get(canonicalize_name(requirement.name), [])
        )
    ]


def test_the_lock_covers_the_dependencies() -> None:
    program = [Requirement(entry) for entry in PROJECT["project"]["dependencies"]]
    assert unmet(program, "base.lock") == []
    build = [Requirement(entry) for entry in PROJECT["build-system"]["requires"]]
    assert unmet([*program, *build, *wanted("dev")], "dev.lock") == []


def test_development_runs_on_the_versions_that_users_get() -> None:
    development = pins("dev.lock")
    assert {name: development.get(name) for name in pins("base.lock")} == pins("base.lock")


@pytest.mark.parametrize("lock", ["base.lock", "dev.lock"])
def test_every_pin_has_a_hash_and_no_address(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text()
    entries = re.findall(r"^\S.*(?:\n    --hash=.*)*", re.sub(r"(?m)^\s*#.*\n", "", text), re.MULTILINE)
    assert len(entries) > len(PROJECT["project"]["dependencies"])
    assert [entry for entry in entries if "==" not in entry or "--hash=sha256:" not in entry] == []
    assert "://" not in text


# Wheel


@pytest.mark.heavy
def test_the_wheel_has_the_program_and_its_data_and_nothing_else(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = {
        path.relative_to(ROOT / "src").as_posix()
        for path in SOURCE.rglob("*")
        # The interpreter of scripts as machine code is made anew where it is used.
        if path.is_file() and path.suffix not in (".pyc", ".image", ".stamp")
    }
    documents = {
        f"holdfast/{path.relative_to(ROOT)}" for path in (ROOT / "docs").rglob("*") if path.is_file()
    }
    assert packed == files | documents
    assert "holdfast/py.typed" in packed
    assert [name for name in packed if re.fullmatch(r"holdfast/store/schema/.*\.sql", name)]


# What must not be in the repository

HOSTS = ["pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "npm" + "js.com", "deb.debian" + ".org"]
PLACES = ["/wo" + "rk/", "/ro" + "ot/"]


@pytest.fixture(scope="module")
def repository_files() -> list[Path]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.mark.parametrize("text", [*HOSTS, *PLACES])
def test_no_file_names_a_registry_or_a_place_on_one_machine(text: str, repository_files: list[Path]) -> None:
    assert [str(path) for path in repository_files if text.encode() in path.read_bytes()] == []


def test_hooks_fetch_nothing() -> None:
    repositories = re.findall(
        r"^\s*- repo: (\S+)", (ROOT / ".pre-commit-config.yaml").read_text(), re.MULTILINE
    )
    assert set(repositories) == {"local"}


def test_every_module_that_documents_name_is_there() -> None:
    files = [
        path.as_posix()
        for place in ("src", "tests", "bench", "scripts", "web/src", "web/tests")
        for path in (ROOT / place).rglob("*")
        if path.suffix in (".py", ".ts", ".tsx")
    ]
    pages = [
        ROOT / "ARCHITECTURE.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "README.md",
        *ROOT.glob("docs/**/*.md"),
    ]
    gone = {
        (page.name, name)
        for page in pages
        for name in re.findall(r"`([\w/.-]+\.(?:py|tsx?))`", page.read_text())
        if not any(file.endswith(f"/{name}") for file in files)
    }
    assert gone == set()
