"""Writing, deleting and listing: whole or not at all, repeated or not."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from holdfast.core.ids import ChatId
from holdfast.workspaces.files import writes as files_module
from holdfast.workspaces.files.chat_files import MAX_FILES
from holdfast.workspaces.files.edits import PassageEdit
from holdfast.workspaces.files.line_ranges import WHOLE_BYTES
from holdfast.workspaces.files.writes import LISTED
from tests.workspaces.stage import Stage, refusal


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.fixture(params=["nameless", "named"])
def temporary(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to prepare a file: not every file system has files without a name."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)


@pytest.mark.usefixtures("temporary")
def test_what_is_written_is_there_and_nothing_else(stage: Stage) -> None:
    done = stage.write("deep/er/a.txt", "one\n")
    assert done.text == "Wrote deep/er/a.txt, a new file."
    assert done.diff == "--- /dev/null\n+++ b/deep/er/a.txt\n@@ -0,0 +1 @@\n+one\n"
    done = stage.write("deep/er/a.txt", "two\n")
    assert done.diff == "--- a/deep/er/a.txt\n+++ b/deep/er/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
    assert stage.write("deep/er/a.txt", "two\n").diff is None
    assert os.listdir(stage.inside / "deep" / "er") == ["a.txt"]
    done = stage.files().delete("deep/er/a.txt")
    assert done.diff == "--- a/deep/er/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-two\n"
    assert os.listdir(stage.inside / "deep" / "er") == []


@pytest.mark.usefixtures("temporary")
def test_a_write_that_fails_leaves_no_trace(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.write("a.txt", "old\n")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        assert "no space left" in refusal(stage.write, "a.txt", "new\n")
        assert "no space left" in refusal(stage.edit, "a.txt", "old", "new")
    assert stage.read("a.txt") == "old\n"
    assert os.listdir(stage.inside) == ["a.txt"]


@pytest.mark.usefixtures("temporary")
def test_edits_of_several_files_are_all_made_or_none(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["a.txt", "b.txt", "c.txt"]
    for name in names:
        stage.write(name, f"old {name}\n")
    edits = [(name, PassageEdit(old="old", new="new")) for name in names]
    replace = os.replace

    def fails_for_c(source: str, target: str, **more: int) -> None:
        if target == "c.txt":
            raise OSError(5, "Input/output error")
        replace(source, target, **more)

    with monkeypatch.context() as patched:
        patched.setattr(files_module.os, "replace", fails_for_c)
        assert "Input/output error" in refusal(stage.files().edit, edits)
    assert [stage.read(name) for name in names] == [f"old {name}\n" for name in names]
    assert sorted(os.listdir(stage.inside)) == names
    done = stage.files().edit(edits)
    assert done.text == "Edited a.txt, b.txt, c.txt."
    assert done.diff is not None
    assert done.diff.count("+new") == 3
    assert [stage.read(name) for name in names] == [f"new {name}\n" for name in names]


def test_what_an_edit_did_not_take_by_the_letter_is_told(stage: Stage) -> None:
    stage.write("a.py", "if x:\n    y = 1\n")
    done = stage.edit("a.py", "  y = 1\n", "  y = 2\n")
    assert stage.read("a.py") == "if x:\n    y = 2\n"
    assert done.text == "Edited a.py."
    stage.write("b.py", "if x:\n\ty = 1\n")
    done = stage.edit("b.py", "    y = 1\n", "    y = 2\n")
    assert done.text == "Edited b.py.\nb.py, edit 1: matched with another indentation, which was kept"


def test_too_many_files_and_too_much_text(stage: Stage) -> None:
    edits = [(f"{n}.txt", PassageEdit(old="a", new="b")) for n in range(MAX_FILES + 1)]
    assert "at most 100 files, not 101" in refusal(stage.files().edit, edits)
    assert "MiB of one call" in refusal(stage.write, "a", "x" * (WHOLE_BYTES + 1))
    assert os.listdir(stage.inside) == []


def test_as_many_files_as_may_be_at_once(stage: Stage) -> None:
    for n in range(MAX_FILES):
        (stage.inside / f"{n}.txt").write_text("a\n")
    stage.files().edit([(f"{n}.txt", PassageEdit(old="a", new="b")) for n in range(MAX_FILES)])
    assert all((stage.inside / f"{n}.txt").read_text() == "b\n" for n in range(MAX_FILES))


# A call that is run again because a server died: what was done is done, what somebody else did stays.


def test_a_repeated_write(stage: Stage) -> None:
    again = stage.files(repeated=True)
    assert again.write("new.txt", "x\n").text == "Wrote new.txt, a new file."
    assert again.write("new.txt", "x\n").text == "new.txt holds exactly this already."
    (stage.inside / "new.txt").write_text("changed by somebody\n")
    told = refusal(again.write, "new.txt", "x\n")
    assert "holds something else" in told
    assert "Nothing was changed this time" in told
    assert (stage.inside / "new.txt").read_text() == "changed by somebody\n"


def test_a_repeated_delete(stage: Stage) -> None:
    again = stage.files(repeated=True)
    assert "is not there any more" in again.delete("a.txt").text
    stage.write("a.txt", "x")
    assert "Nothing was changed this time" in refusal(again.delete, "a.txt")
    assert stage.read("a.txt") == "x"


def test_deleting_what_is_not_there(stage: Stage) -> None:
    assert "There is no a.txt" in refusal(stage.files().delete, "a.txt")
    (stage.inside / "d").mkdir()
    assert "is a directory" in refusal(stage.files().delete, "d")
    assert "names the workspace itself" in refusal(stage.files().delete, ".")


# Lists


def test_a_list(stage: Stage) -> None:
    for name in ("b.txt", "a.txt", ".hidden", "dir/x", "ignored.log"):
        stage.write(name, "x")
    stage.write(".gitignore", "*.log\n")
    stage.link("link", "dir/x")
    assert stage.files().look(".").text.split("\n") == [
        ".gitignore",
        ".hidden",
        "a.txt",
        "b.txt",
        "dir/",
        "ignored.log",
        "link -> dir/x",
    ]
    assert stage.files().look("dir").text == "x"
    (stage.inside / "empty").mkdir()
    assert stage.files().look("empty").text == "[empty is empty]"
    assert "is a file" in refusal(stage.files().look, "a.txt")


def test_a_long_list_is_cut(stage: Stage) -> None:
    for n in range(LISTED + 5):
        (stage.inside / f"{n:05}").touch()
    lines = stage.files().look(".").text.split("\n")
    assert lines[0] == "00000"
    assert lines[LISTED - 1] == f"{LISTED - 1:05}"
    assert lines[LISTED] == "[5 more entries; use glob to find what you are looking for]"


# Many at once


@pytest.mark.parametrize("chats", [1, 40])
def test_many_edit_one_file_and_nothing_is_lost(stage: Stage, chats: int) -> None:
    """Chats that have not read it, or the calls of one step: each edit is made on the text as it is then."""
    (stage.inside / "a.txt").write_text("".join(f"<{n}>\n" for n in range(40)))

    def work(n: int) -> None:
        stage.files(ChatId(f"chat {n % chats}")).edit([("a.txt", PassageEdit(old=f"<{n}>", new=f"[{n}]"))])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (stage.inside / "a.txt").read_text() == "".join(f"[{n}]\n" for n in range(40))


KILLED = """
import os, signal, sys
from pathlib import Path
from holdfast.core.ids import ChatId
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.chat_files import ChatFiles
from holdfast.workspaces.files.read_state import SeenFiles

point, count = sys.argv[2], int(sys.argv[3])
real = getattr(os, point)
def killing(*args, **more):
    global count
    count -= 1
    if count < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **more)
setattr(os, point, killing)
ChatFiles(Root(Path(sys.argv[1])), SeenFiles(), ChatId("c"), repeated=False).write("a.txt", "new\\n" * 1000)
"""


@pytest.mark.heavy
@pytest.mark.parametrize(
    "point, count", [("write", 0), ("fsync", 0), ("link", 0), ("replace", 0), ("fsync", 1)]
)
def test_a_server_that_is_killed_leaves_the_old_file_or_the_new_one(
    stage: Stage, point: str, count: int
) -> None:
    stage.write("a.txt", "old\n")
    ended = subprocess.run([sys.executable, "-c", KILLED, stage.inside, point, str(count)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert (stage.inside / "a.txt").read_text() in ("old\n", "new\n" * 1000)
    left = [name for name in os.listdir(stage.inside) if name != "a.txt"]
    # Only between getting a name and being put in place is there something to be left over.
    assert len(left) == (1 if point == "replace" else 0)
