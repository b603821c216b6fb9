"""The rows of bad input to file tools and searches, each as a function of a stage: they are run by whoever
runs the tests and again by a user who may do nothing special."""

import os
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path

from tests.workspaces.stage import OTHER_CHAT, SECRET, Stage, refusal

Row = Callable[[Stage], None]


def leading_out(stage: Stage) -> None:
    """B-020"""
    outside = str(stage.outside / "secret.txt")
    for path in (
        "../outside/secret.txt",
        "a/../../outside/secret.txt",
        "../../etc/passwd",
        "/etc/passwd",
        outside,
        "~/x",
        "~root/x",
        "$HOME/x",
        f"file://{outside}",
        "..\\outside\\secret.txt",
        "%2e%2e/outside/secret.txt",
        "/proc/self/environ",
        "/dev/zero",
    ):
        _refused_for_all(stage, path)
    stage.kept_outside()


def absolute_inside(stage: Stage) -> None:
    """B-020: a path that begins with the workspace's own is understood."""
    stage.write(str(stage.inside / "a.txt"), "a\n")
    assert stage.read(str(stage.inside / "a.txt")) == "a\n"
    assert stage.read("a.txt") == "a\n"


def links_out(stage: Stage) -> None:
    """B-021: to a file, a directory, over a chain, relative and absolute."""
    stage.link("file", stage.outside / "secret.txt")
    stage.link("relative", "../outside/secret.txt")
    stage.link("directory", stage.outside)
    stage.link("up", "..")
    stage.link("chain", "chain2")
    stage.link("chain2", "file")
    stage.link("deep/er/up", "../../../outside")
    stage.link("proc", "/proc/self/cwd")
    for path in (
        "file",
        "relative",
        "directory/secret.txt",
        "directory/new.txt",
        "up/outside/secret.txt",
        "chain",
        "deep/er/up/secret.txt",
        "proc/x",
    ):
        _refused_for_all(stage, path)
    for path in ("directory", "up", "deep/er/up", "proc"):
        assert "leads out" in refusal(stage.files().look, path)
        assert "leads out" in refusal(stage.grep, "secret", path)
    assert stage.grep("secret") == []
    assert stage.glob("*.txt") == []
    stage.kept_outside()


def link_made_later(stage: Stage) -> None:
    """B-021: a link to nothing, and then there is something."""
    stage.link("later", stage.outside / "later.txt")
    _refused_for_all(stage, "later")
    (stage.outside / "later.txt").write_text(SECRET)
    _refused_for_all(stage, "later")
    (stage.outside / "later.txt").unlink()
    stage.kept_outside()


def links_inside(stage: Stage) -> None:
    """Links that stay inside are followed, and stay links."""
    stage.write("real/a.txt", "a\n")
    stage.link("link.txt", "real/a.txt")
    stage.link("dir", "real")
    stage.link("real/back.txt", "../link.txt")
    assert stage.read("link.txt") == stage.read("dir/a.txt") == stage.read("real/back.txt") == "a\n"
    stage.edit("real/back.txt", "a", "b")
    assert (stage.inside / "real" / "a.txt").read_text() == "b\n"
    assert (stage.inside / "link.txt").is_symlink()
    stage.link("new.txt", "real/new.txt")
    stage.write("new.txt", "n\n")
    assert (stage.inside / "real" / "new.txt").read_text() == "n\n"
    stage.files().delete("link.txt")
    assert (stage.inside / "real" / "a.txt").exists()
    assert not (stage.inside / "link.txt").is_symlink()


def circles(stage: Stage) -> None:
    """B-021: links that lead nowhere."""
    stage.link("a", "b")
    stage.link("b", "a")
    stage.link("self", "self")
    for path in ("a", "self", "a/x"):
        assert "circle" in refusal(stage.read, path)
        assert "circle" in refusal(stage.write, path, "x")


def one_file_two_names(stage: Stage) -> None:
    """Two names for one file in a call would lose an edit."""
    from holdfast.workspaces.files.edits import PassageEdit

    stage.write("a.txt", "one two\n")
    stage.link("b.txt", "a.txt")
    edits = [("a.txt", PassageEdit(old="one", new="1")), ("b.txt", PassageEdit(old="two", new="2"))]
    assert "the same file" in refusal(stage.files().edit, edits)
    assert stage.read("a.txt") == "one two\n"


def prefixes(stage: Stage) -> None:
    """B-023: a neighbour whose name begins alike."""
    neighbour = stage.inside.parent / "inside2"
    neighbour.mkdir()
    (neighbour / "x").write_text(SECRET)
    for path in (f"{stage.inside}2/x", "../inside2/x", str(stage.inside).upper() + "/x"):
        _refused_for_all(stage, path)


def twins(stage: Stage) -> None:
    """B-023: composed and decomposed letters, letters of another case, are other names (or the file system
    says so)."""
    stage.write("é.txt", "composed\n")
    stage.write("e\u0301.txt", "decomposed\n")
    names = [name for name in os.listdir(stage.inside) if name.endswith(".txt")]
    assert stage.read("e\u0301.txt") == "decomposed\n"
    assert stage.read("é.txt") == ("composed\n" if len(names) == 2 else "decomposed\n")


def special_files(stage: Stage) -> None:
    """B-025: at once, whatever it is."""
    os.mkfifo(stage.inside / "pipe")
    (stage.inside / "directory").mkdir()
    listening = socket.socket(socket.AF_UNIX)
    before = os.getcwd()
    os.chdir(stage.inside)
    listening.bind("socket")
    os.chdir(before)
    paths = {"pipe": "a named pipe", "socket": "a socket", "directory": "a directory"}
    if _device(stage.inside / "zero"):
        paths["zero"] = "a device"
    begun = time.monotonic()
    for path, kind in paths.items():
        for told in _refusals(stage, path):
            assert kind in told, (path, told)
        assert path == "directory" or stage.grep("x", ".") == []
    assert time.monotonic() - begun < 8
    listening.close()
    listed = stage.files().look(".").text
    assert "pipe (a named pipe)" in listed
    assert "directory/" in listed


def swallowed_names(stage: Stage) -> None:
    """B-027: odd names work, and are shown so that they do no harm."""
    for name in (
        "n" * 255,
        "-rf",
        "--help",
        "a b",
        ";id",
        "$(id)",
        "`id`",
        "x\u202ey.txt",
        "日本.txt",
        "'\"",
        "#x#",
    ):
        stage.write(name, f"in {name}\n")
        assert stage.read(name) == f"in {name}\n"
        stage.edit(name, "in", "inside")
        assert len(stage.grep("inside", name)) == 1
        assert len(stage.grep("inside")) == 1
        stage.files().delete(name)
    assert os.listdir(stage.inside) == []


def refused_names(stage: Stage) -> None:
    """B-027: names that are refused can still be seen."""
    for raw in (b"new\nline", b"esc\x1b[31m", b"latin-\xe9", b"back\\slash"):
        (stage.inside / os.fsdecode(raw)).write_text("hidden in a name\n")
    listed = stage.files().look(".").text
    assert "new\\x0aline" in listed
    assert "esc\\x1b[31m" in listed
    assert "latin-\\xe9" in listed
    assert sorted(stage.glob("*")) == sorted(listed.split("\n"))
    assert len(stage.grep("hidden")) == 4
    for path in ("new\nline", "esc\x1b[31m", "latin-\udce9", "back\\slash"):
        _refused_for_all(stage, path)


def long_paths(stage: Stage) -> None:
    """B-027: 256 bytes, 5 000 bytes, 150 directories deep."""
    _refused_for_all(stage, "n" * 256)
    _refused_for_all(stage, "a/" * 2500)
    deep = "/".join(["dir"] * 150)
    stage.write(f"{deep}/a.txt", "deep\n")
    assert stage.read(f"{deep}/a.txt") == "deep\n"
    assert stage.grep("deep") == [f"{deep}/a.txt:1:deep"]


def kept_bytes(stage: Stage) -> None:
    """B-028: what is not touched stays, and so do the mode bits."""
    texts = {
        "utf16le": "\ufeffone\r\ntwo\r\n".encode("utf-16-le"),
        "utf16be": "\ufeffone\ntwo\n".encode("utf-16-be"),
        "bom": "\ufeffone\ntwo\n".encode(),
        "crlf": b"one\r\ntwo\r\n",
        "mixed": b"one\r\nx\ntwo\ry\n",
        "no-end": b"one\ntwo",
        "latin": b"one\ntwo\nf\xfcr\xff\n",
        "form": b"one\x0c\ntwo\x0b\x85\n",
    }
    for name, data in texts.items():
        path = stage.inside / name
        path.write_bytes(data)
        path.chmod(0o755)
        stage.read(name)
        stage.edit(name, "two", "2")
        wide = "16" in name
        old, new = ("two".encode("utf-16-le"), "2".encode("utf-16-le")) if wide else (b"two", b"2")
        if name == "utf16be":
            old, new = "two".encode("utf-16-be"), "2".encode("utf-16-be")
        assert path.read_bytes() == data.replace(old, new), name
        assert stat.S_IMODE(path.stat().st_mode) == 0o755


def kept_modes(stage: Stage) -> None:
    """B-028: set-user-id, read-only, the owner."""
    for mode in (0o4755, 0o600, 0o444, 0o640):
        path = stage.inside / f"m{mode:o}"
        path.write_text("one\n")
        path.chmod(mode)
        if os.geteuid() == 0:
            os.chown(path, 12345, 12345)
            path.chmod(mode)
        owner = (path.stat().st_uid, path.stat().st_gid)
        stage.edit(path.name, "one", "two")
        stage.write(path.name, "three\n")
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert (path.stat().st_uid, path.stat().st_gid) == owner
    stage.write("plain", "x")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((stage.inside / "plain").stat().st_mode) == 0o666 & ~umask


def binary(stage: Stage) -> None:
    """B-028: noticed, and never edited."""
    for name, data in (
        ("a.png", b"\x89PNG\r\n\x1a\n\0\0\0"),
        ("b", b"text\0text"),
        ("c", b"\xff\xfe\0\0x\0\0\0"),
    ):
        (stage.inside / name).write_bytes(data)
        assert "binary" in refusal(stage.read, name)
        assert "binary" in refusal(stage.edit, name, "text", "x")
        assert (stage.inside / name).read_bytes() == data
    assert stage.grep("text|PNG") == []


def bad_edits(stage: Stage) -> None:
    """B-029: a typed refusal, and the file is as it was."""
    text = "one two two three\nregex .* here\n"
    stage.write("a.txt", text)
    stage.write("b.txt", "other\n")
    before = (stage.inside / "a.txt").stat()
    from holdfast.workspaces.files.edits import PassageEdit

    for edits, told in (
        ([("a.txt", PassageEdit(old="", new="x"))], "empty"),
        ([("a.txt", PassageEdit(old="four", new="x"))], "not in the file"),
        ([("a.txt", PassageEdit(old="two", new="x"))], "found 2 times"),
        ([("a.txt", PassageEdit(old="one", new="one"))], "the same"),
        (
            [("a.txt", PassageEdit(old="one two", new="x")), ("a.txt", PassageEdit(old="one", new="y"))],
            "overlap",
        ),
        ([("a.txt", PassageEdit(old="o.e", new="x"))], "not in the file"),
        ([("a.txt", PassageEdit(old="one", new="x"))] * 10_000, "at most 500 edits, not 10000"),
        ([], "no edit"),
        (
            [("b.txt", PassageEdit(old="other", new="x")), ("a.txt", PassageEdit(old="four", new="x"))],
            "Edit 2 (a.txt)",
        ),
        (
            [("b.txt", PassageEdit(old="other", new="x")), ("gone.txt", PassageEdit(old="a", new="x"))],
            "There is no gone.txt",
        ),
    ):
        assert told in refusal(stage.files().edit, edits), told
    after = (stage.inside / "a.txt").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert stage.read("b.txt") == "other\n"
    assert sorted(os.listdir(stage.inside)) == ["a.txt", "b.txt"]


def two_chats(stage: Stage) -> None:
    """B-030: whoever comes second is told, and nothing is lost."""
    mine, theirs = stage.files(), stage.files(OTHER_CHAT)
    mine.write("a.txt", "one\ntwo\n")
    assert theirs.read("a.txt", None, None).text == "one\ntwo\n"
    from holdfast.workspaces.files.edits import PassageEdit

    mine.edit([("a.txt", PassageEdit(old="one", new="1"))])
    for what, args in (
        (theirs.edit, ([("a.txt", PassageEdit(old="two", new="2"))],)),
        (theirs.write, ("a.txt", "all new\n")),
        (theirs.delete, ("a.txt",)),
    ):
        assert "was changed since you last read it" in refusal(what, *args)
    assert theirs.read("a.txt", None, None).text == "1\ntwo\n"
    theirs.edit([("a.txt", PassageEdit(old="two", new="2"))])
    assert (stage.inside / "a.txt").read_text() == "1\n2\n"
    (stage.inside / "a.txt").unlink()
    assert "was deleted since" in refusal(theirs.write, "a.txt", "x")
    theirs.write("a.txt", "x")


def touched_only(stage: Stage) -> None:
    """B-030: a file with another date and the same content is the same."""
    stage.write("a.txt", "one\n")
    os.utime(stage.inside / "a.txt", (1, 1))
    stage.edit("a.txt", "one", "two")


def denied(stage: Stage) -> None:
    """What the file system denies is told; for root it denies nothing."""
    (stage.inside / "closed").mkdir(mode=0o755)
    (stage.inside / "closed" / "a.txt").write_text("a\n")
    (stage.inside / "closed" / "a.txt").chmod(0)
    (stage.inside / "closed").chmod(0o555)
    if os.geteuid() == 0:
        assert stage.read("closed/a.txt") == "a\n"
        return
    assert "may not" in refusal(stage.read, "closed/a.txt")
    assert "may not" in refusal(stage.write, "closed/b.txt", "x")
    assert "may not" in refusal(stage.files().delete, "closed/a.txt")
    assert stage.grep("a") == []
    (stage.inside / "closed").chmod(0o755)


def large_sparse(stage: Stage) -> None:
    """B-026: 10 GB and 1 TB that are not there."""
    for size in (10 * 2**30, 2**40):
        with (stage.inside / "sparse").open("wb") as file:
            file.write(b"head\n")
            file.truncate(size)
        for range_ in ((None, None), (1, 1), (2, None), (10**9, None), (2**53, 2**53)):
            assert "binary" in refusal(stage.read, "sparse", *range_)
        assert "larger than" in refusal(stage.edit, "sparse", "head", "x")
        assert stage.grep("head") == []
        stage.files().delete("sparse")


def odd_ranges(stage: Stage) -> None:
    """B-026: lines that cannot be."""
    stage.write("a.txt", "one\ntwo\n")
    for first, last, told in (
        (0, None, "from 1"),
        (-5, None, "from 1"),
        (2, 1, "before start_line"),
        (3, None, "has 2 lines"),
        (10**18, None, "has 2 lines"),
    ):
        assert told in refusal(stage.read, "a.txt", first, last)
    assert stage.read("a.txt", 2, 10**18).startswith("two\n")


def arguments(stage: Stage) -> None:
    """B-032: names are names, whatever they look like."""
    for name in (";id", "$(id)", "`id`", "--upload-pack=touch x", "-oProxyCommand=touch x", "-e", "--pre=sh"):
        stage.write(f"d/{name}", "needle\n")
        assert len(stage.grep("needle", f"d/{name}")) == 1
        stage.files().delete(f"d/{name}")
        (stage.inside / name).mkdir()
        stage.write(f"./{name}/x", "needle\n")
        assert len(stage.grep("needle", name)) == 1
        assert len(stage.glob("*", name)) == 1
        stage.files().delete(f"{name}/x")
        (stage.inside / name).rmdir()
    assert not (stage.inside / "x").exists()


ROWS: tuple[Row, ...] = (
    leading_out,
    absolute_inside,
    links_out,
    link_made_later,
    links_inside,
    circles,
    one_file_two_names,
    prefixes,
    twins,
    special_files,
    swallowed_names,
    refused_names,
    long_paths,
    kept_bytes,
    kept_modes,
    binary,
    bad_edits,
    two_chats,
    touched_only,
    denied,
    large_sparse,
    odd_ranges,
    arguments,
)


# Each in a process of its own: the alarm that ends a pattern ends whoever looks.
EVIL = (
    "(a+)+$",
    "(.*)*x",
    "([ab]|a){1,400}c[abc]{1,400}d",
    "(a?){900}(b?){900}(c?){900}d",
    "(?i)(a|b|ab)*c{500}",
    r"(\pL{0,100}){3}x",
    "a" * 1_000_000,
    "|".join(f"word{n}" for n in range(100_000)),
    "((a{0,100}){0,100}){0,100}",
)


def evil_patterns(stage: Stage) -> None:
    """B-033: on 50 MB, every one is refused, found or given up within five seconds (four times that here:
    other tests run beside this one)."""
    (stage.inside / "large").write_text(("abcab" * 19 + "cba\n") * 500_000)
    for pattern in EVIL:
        begun = time.monotonic()
        told = stage.grep_apart(pattern)
        assert told in ("answered", "given up"), (pattern[:50], told)
        assert time.monotonic() - begun < 20, pattern[:50]


APART: tuple[Row, ...] = (evil_patterns,)


def _refused_for_all(stage: Stage, path: str) -> None:
    for told in _refusals(stage, path):
        assert SECRET not in told
    assert SECRET not in refusal(stage.files().look, path)
    refusal(stage.grep, "secret", path)


def _refusals(stage: Stage, path: str) -> list[str]:
    return [
        refusal(stage.read, path),
        refusal(stage.write, path, "overwritten"),
        refusal(stage.edit, path, "secret", "x"),
    ]


def _device(path: Path) -> bool:
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    except OSError:
        return False
    return True
