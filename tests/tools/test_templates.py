"""What a template may say, what is wrong with one, and which parameters fit; what is at a git address."""

import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.tools.templates.definition import (
    Template,
    directories_in,
    environment_of,
    given_parameters,
    read_template,
)
from holdfast.tools.templates.git_templates import content_hash, git_address
from holdfast.workspaces.files.file_root import Root

FULL = """
name = "service"
description = "A small service."
setup = ["echo one", "echo two"]
check = "true"
[parameters]
type = "object"
required = ["title"]
additionalProperties = false
[parameters.properties.title]
type = "string"
pattern = "^[a-z ]+$"
[parameters.properties.port]
type = "integer"
default = 8080
[[services]]
name = "web"
command = "python3 -m http.server"
"""


def read(tmp_path: Path, text: str | bytes) -> Template:
    (tmp_path / "template.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    found = read_template(Root(tmp_path), "fallback")
    assert found is not None
    return found


def test_a_template_is_read_whole(tmp_path: Path) -> None:
    found = read(tmp_path, FULL)
    assert found.error is None
    assert (found.name, found.description, found.setup) == (
        "service",
        "A small service.",
        "echo one\necho two",
    )
    assert [(one.name, one.command) for one in found.services] == [("web", "python3 -m http.server")]
    assert found.runs_something
    assert not read(tmp_path, 'description = "x"').runs_something
    assert read(tmp_path, "").name == "fallback"


@pytest.mark.parametrize(
    "text, said",
    [
        ("name = ", "cannot be read"),
        (b"\xff\xfe", "not UTF-8"),
        (b"a" * 300_000, "more than 256 KiB"),
        ('name = "../up"', "a name is"),
        ("name = 3", "a name is"),
        ('nmae = "x"', "no key nmae"),
        ('parameters = "x"', "a schema is an object"),
        ('[parameters]\ntype = "string"', "the schema of an object"),
        ('[parameters]\ntype = "nonsense"', "parameters:"),
        ('[parameters.properties.x]\n"$ref" = "https://example.com/x"', "parameters:"),
        ("[parameters]\nminimum = 2001-01-01", "parameters:"),
        ("setup = 3", "setup is a text"),
        ('setup = ["a", 1]', "setup is a text"),
        ('check = "a\\u0000b"', "check is a text"),
        ('services = ["x"]', "a service has"),
        ('[services]\nweb = ""', "is empty"),
        ('[[services]]\nname = "a"\ncommand = "x"\n[[services]]\nname = "a"\ncommand = "y"', "of its own"),
    ],
)
def test_what_is_wrong_is_said_in_its_place(tmp_path: Path, text: str | bytes, said: str) -> None:
    assert said in (read(tmp_path, text).error or "")


def test_a_definition_that_is_no_ordinary_file(tmp_path: Path) -> None:
    (tmp_path / "template.toml").symlink_to("/etc/passwd")
    found = read_template(Root(tmp_path), "x")
    assert found is not None
    assert found.error
    assert "root:" not in str(found)
    (tmp_path / "template.toml").unlink()
    os.mkfifo(tmp_path / "template.toml")
    found = read_template(Root(tmp_path), "x")
    assert found is not None
    assert found.error
    (tmp_path / "template.toml").unlink()
    assert read_template(Root(tmp_path), "x") is None


def test_only_directories_of_the_root_itself(tmp_path: Path) -> None:
    for name in ("a", ".hidden", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "b").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "elsewhere")
    assert [one.path.name for one in directories_in(tmp_path / "root")] == ["b"]
    (tmp_path / "root" / "template.toml").touch()
    assert [one.path.name for one in directories_in(tmp_path / "root")] == ["root"]


@pytest.mark.parametrize(
    "given, said",
    [
        ({}, "title"),
        ({"title": "x", "more": 1}, "more"),
        ({"title": "../../etc"}, "title"),
        ({"title": "x", "port": "80"}, "port"),
        ({"title": "x" * 40_000}, "more than 32 KiB"),
    ],
)
def test_parameters_that_do_not_fit(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    template = read(tmp_path, FULL)
    with pytest.raises(InvalidInput, match=said):
        given_parameters(template, given)


def test_defaults_are_filled_in_and_values_become_variables(tmp_path: Path) -> None:
    template = read(tmp_path, FULL)
    full = given_parameters(template, {"title": "a b"})
    assert full == {"title": "a b", "port": 8080}
    words = environment_of({**full, "a-b": 1, "evil": "$(touch x)\0", "list": [1]}, "name")
    assert "TEMPLATE_TITLE=a b" in words
    assert "TEMPLATE_PORT=8080" in words
    # As it is: nothing in it is read by a shell.
    assert "TEMPLATE_EVIL=$(touch x)" in words
    assert "TEMPLATE_LIST=[1]" in words
    assert not any(word.startswith("TEMPLATE_A") for word in words)
    with pytest.raises(InvalidInput):
        given_parameters(read(tmp_path, 'name = "x"'), {"any": 1})


@pytest.mark.parametrize(
    "word",
    [
        *(
            "http://example.com/x",
            "git://example.com/x",
            "ssh://example.com/x",
            "file:///etc",
            "ext::sh -c x",
        ),
        *("git@example.com:x", "https://", "https://user:pw@example.com/x", "https://example.com/a b"),
        *("https://localhost/x", "https://127.0.0.1/x", "https://169.254.169.254/x", "https://[::1]/x"),
        *("https://example.com/x#-upload-pack", "https://example.com/x#a..b", "https://example.com/x#a b"),
        "--upload-pack=x://y",
    ],
)
def test_addresses_that_nothing_is_fetched_from(word: str) -> None:
    with pytest.raises(InvalidInput):
        git_address(word)


def test_an_address_and_what_is_meant_there() -> None:
    plain = git_address("https://example.com/x.git")
    assert (plain.url, plain.ref, plain.pinned) == ("https://example.com/x.git", "", False)
    assert git_address("https://example.com/x#main").ref == "main"
    assert not git_address("https://example.com/x#main").pinned
    assert git_address("https://example.com/x#" + "0a" * 20).pinned


def test_the_hash_is_of_everything_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "f").write_text("x")
    (tmp_path / "link").symlink_to("a/f")
    seen = {content_hash(tmp_path)}
    for change in (
        lambda: (tmp_path / "a" / "f").write_text("y"),
        lambda: (tmp_path / "a" / "f").chmod(0o755),
        lambda: (tmp_path / "a" / "f").rename(tmp_path / "a" / "g"),
        (tmp_path / "link").unlink,
        lambda: (tmp_path / "link").symlink_to("a/g"),
        (tmp_path / "b").mkdir,
    ):
        change()
        seen.add(content_hash(tmp_path))
    assert len(seen) == 7
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput):
        content_hash(tmp_path)
