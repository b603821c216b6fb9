"""Paths as they are written: what they mean, or why they are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.errors import InvalidInput
from holdfast.workspaces.files.paths import DEPTH, join, parse_path, shown

ROOTS = ("/srv/a",)


@pytest.mark.parametrize(
    "path, parts",
    [
        ("a", ("a",)),
        ("a/b.txt", ("a", "b.txt")),
        ("./a//b/", ("a", "b")),
        ("", ()),
        (".", ()),
        ("./", ()),
        ("a/../b", ("b",)),
        ("a/b/../../c", ("c",)),
        ("/srv/a", ()),
        ("/srv/a/", ()),
        ("/srv/a/x/y", ("x", "y")),
        ("/srv/a/../a/x", None),
        ("...", ("...",)),
        ("..a", ("..a",)),
        ("-rf", ("-rf",)),
        ("--upload-pack=x", ("--upload-pack=x",)),
        ("-oProxyCommand=x", ("-oProxyCommand=x",)),
        (";id", (";id",)),
        ("$(id)", ("$(id)",)),
        ("`id`", ("`id`",)),
        ("a b/ü/日本", ("a b", "ü", "日本")),
        ("routes/$post.tsx", ("routes", "$post.tsx")),
        ("$post.tsx", ("$post.tsx",)),
        ("a~", ("a~",)),
        ("./~a", ("~a",)),
        ("100%", ("100%",)),
        ("a:b", ("a:b",)),
        ("x\u202ey", ("x\u202ey",)),
        ("n" * 255, ("n" * 255,)),
    ],
)
def test_what_is_meant(path: str, parts: tuple[str, ...] | None) -> None:
    if parts is None:
        with pytest.raises(InvalidInput):
            parse_path(path, ROOTS)
    else:
        assert parse_path(path, ROOTS) == parts


@pytest.mark.parametrize(
    "path, told",
    [
        ("../../etc/passwd", "leads out of the workspace"),
        ("a/../../b", "leads out of the workspace"),
        ("..", "leads out of the workspace"),
        ("/etc/passwd", "is outside the workspace"),
        ("/srv/ab/x", "is outside the workspace"),
        ("/srv/A/x", "is outside the workspace"),
        ("/srv", "is outside the workspace"),
        ("/", "is outside the workspace"),
        ("//etc/passwd", "is outside the workspace"),
        ("~", "begins with ~"),
        ("~/.ssh/id_rsa", "begins with ~"),
        ("~root/x", "begins with ~"),
        ("$HOME", "begins with a variable"),
        ("$HOME/.ssh", "begins with a variable"),
        ("${HOME}/.ssh", "begins with a variable"),
        ("%USERPROFILE%/x", "begins with a variable"),
        ("file:///etc/passwd", "is a URL"),
        ("file:/etc/passwd", "is a URL"),
        ("https://example.com/", "is a URL"),
        ("C:/Users", "names a drive"),
        ("..\\..\\etc", "has a backslash"),
        ("a\\b", "has a backslash"),
        ("%2e%2e/etc/passwd", "percent-encoded"),
        ("a%2Fb", "percent-encoded"),
        ("a\0b", "control character"),
        ("a\nb", "control character"),
        ("a\x1b[31mb", "control character"),
        ("a\x9bb", "control character"),
        ("a\udcffb", "not valid text"),
        ("n" * 256, "255 bytes"),
        ("ü" * 128, "255 bytes"),
        ("a/" * 2500, "4096 bytes"),
        ("a/" * (DEPTH + 1), "deeper"),
    ],
)
def test_what_is_refused_is_told_how_to_write_it(path: str, told: str) -> None:
    with pytest.raises(InvalidInput) as error:
        parse_path(path, ROOTS)
    assert told in error.value.text
    assert len(error.value.text) < 500
    assert error.value.text.isprintable()


@given(
    st.text(max_size=60) | st.lists(st.sampled_from(["..", ".", "a", "", "~", "/srv/a", "%2e"])).map("/".join)
)
def test_whatever_is_written_stays_inside_or_is_refused(path: str) -> None:
    try:
        parts = parse_path(path, ROOTS)
    except InvalidInput:
        return
    assert all(part not in ("", ".", "..") and "/" not in part and "\0" not in part for part in parts)
    written = join(parts)
    assert parse_path(f"./{written}" if written[0] in "~$%" else written) == parts


@pytest.mark.parametrize(
    "name, safe",
    [
        ("plain ü 日本 👩‍💻", "plain ü 日本 👩‍💻"),
        ("a\nb", "a\\x0ab"),
        ("\x1b]52;c;x\x07", "\\x1b]52;c;x\\x07"),
        ("txt.\u202eexe", "txt.\\u202eexe"),
        ("caf\udce9", "caf\\xe9"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_names_are_shown_so_that_they_do_no_harm(name: str, safe: str) -> None:
    assert shown(name) == safe
