"""Reading a script in a process of its own: the same answers as in this one, and whatever a text does there
is an error of that text."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.core.errors import BadScript, TryAgain
from holdfast.core.runs import Language
from holdfast.scripts import reader as reading
from holdfast.scripts.discovery import discover, places
from holdfast.scripts.reader import ScriptReader
from holdfast.scripts.runs.library import Library
from holdfast.scripts.source import read_script
from holdfast.workspaces.files.file_root import Root
from tests.scripts.host import META

LANGUAGES: tuple[Language, ...] = ("javascript", "python")
LINE = {"javascript": "await agent('a', {label: 'b'});\n", "python": "await agent('a', label='b')\n"}
LONG_LINES = 5000


@pytest.fixture(scope="module")
def reader() -> Iterator[ScriptReader]:
    with closing(ScriptReader()) as reader:
        yield reader


def answering(code: str) -> ScriptReader:
    """One whose process does this for each line it is given."""
    text = f"import os, sys, time\nfor line in sys.stdin.buffer:\n    {code}\n"
    return ScriptReader(lambda: [sys.executable, "-I", "-S", "-c", text])


def pids(reader: ScriptReader) -> list[int]:
    return [process.pid for process in reader.idle]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_script_is_read_as_in_this_process(reader: ScriptReader, language: Language) -> None:
    text = META[language] + LINE[language] * 3 + "return 'ä😀'"
    assert reader.read(text, language) == read_script(text, language)
    assert reader.read(text.encode(), language) == read_script(text, language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_long_script_is_read(reader: ScriptReader, language: Language) -> None:
    text = META[language] + LINE[language] * LONG_LINES
    assert reader.read(text, language).program.count("\n") >= LONG_LINES


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_error_far_below_names_its_line(reader: ScriptReader, language: Language) -> None:
    text = META[language] + LINE[language] * LONG_LINES + "import x from\n"
    with pytest.raises(BadScript) as refused:
        reader.read(text, language)
    assert refused.value.line == LONG_LINES + 2


@pytest.mark.heavy
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_largest_script_is_read_and_a_larger_one_refused(
    reader: ScriptReader, language: Language
) -> None:
    room = reading.MAX_BYTES - len(META[language])
    lines = room // len(LINE[language])
    assert reader.read(META[language] + LINE[language] * lines, language).meta.name == "test"
    with pytest.raises(BadScript, match="at most 512 KiB"):
        reader.read(META[language] + LINE[language] * (lines + 1), language)


@pytest.mark.parametrize(
    "code, sentence",
    [
        ("os.kill(os.getpid(), 11)", "breaks the parser .SIGSEGV."),
        ("os.kill(os.getpid(), 6)", "breaks the parser .SIGABRT."),
        ("os.kill(os.getpid(), 24)", "takes too long"),
        ("os.kill(os.getpid(), 9)", "of memory"),
        ("os._exit(3)", "breaks the parser .exit 3."),
        ("os.write(1, b'nonsense\\n')", "no sensible answer"),
        ("os.write(1, b'x' * (1 << 26))", "too long"),
    ],
)
def test_a_process_that_breaks_is_an_error_of_the_text(code: str, sentence: str) -> None:
    with closing(answering(code)) as reader, pytest.raises(BadScript, match=sentence):
        reader.read(META["javascript"], "javascript")


def test_a_process_that_never_answers_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "READ_SECONDS", 0.5)
    with closing(answering("time.sleep(600)")) as reader, pytest.raises(BadScript, match="be read within"):
        reader.read(META["javascript"], "javascript")


def test_after_a_break_the_next_text_is_read() -> None:
    with closing(ScriptReader()) as reader:
        reader.read(META["javascript"], "javascript")
        os.kill(pids(reader)[0], signal.SIGKILL)
        assert reader.read(META["python"], "python").meta.name == "test"


def test_what_was_read_is_remembered() -> None:
    with closing(ScriptReader()) as reader:
        first = reader.read(META["javascript"], "javascript")
        os.kill(pids(reader)[0], signal.SIGKILL)
        assert reader.read(META["javascript"], "javascript") == first


def test_without_a_process_it_is_tried_later() -> None:
    with closing(ScriptReader(lambda: ["/no/such/program"])) as reader, pytest.raises(TryAgain):
        reader.read(META["javascript"], "javascript")


def test_many_at_once(reader: ScriptReader) -> None:
    read: list[str] = []

    def one(number: int) -> None:
        text = f"export const meta = {{name: 'n{number}', description: 'd'}}"
        read.append(reader.read(text, "javascript").meta.name)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(read) == sorted(f"n{number}" for number in range(20))


def test_one_file_that_breaks_the_parser_hurts_no_other(tmp_path: Path) -> None:
    """As at `GET /workflows`."""
    where = tmp_path / ".claude" / "workflows"
    where.mkdir(parents=True)
    (where / "good.js").write_text(META["javascript"])
    (where / "worse.js").write_text("/* break */")
    boot = (
        "import os, sys\nsys.path[:0] = sys.argv[1].split(':')\n"
        "from holdfast.scripts import reader_process as there\nread = there.read\n"
        "there.read = lambda asked: os.kill(os.getpid(), 11) if 'break' in asked.text else read(asked)\n"
        "there.main()"
    )
    with closing(ScriptReader(lambda: [sys.executable, "-I", "-c", boot, ":".join(sys.path)])) as reader:
        listed = discover(places(Root(tmp_path), None)[:2], reader.read)
    assert [(file.name, file.script is None) for file in listed] == [("test", False), ("worse", True)]
    assert "SIGSEGV" in (listed[1].error or "")


@pytest.mark.parametrize(
    "body, sentence",
    [
        ("let a = 1\nlet a = 2", "Line 3: this is not JavaScript: invalid redefinition"),
        ("\nconst x", "Line 3: "),
        ("for (;;) {}\nbreak", "Line 3: this is not JavaScript: break must be inside"),
        ("'use strict'; var s = '\\08'", "Line 2: "),
        ("a: { continue a }", "Line 2: "),
        ("let a\nlet a\nfoo()", "Line 3: "),
        ("function f() { super.x }", "Line 2: "),
    ],
)
def test_early_errors_are_found_by_the_engine_itself(reader: ScriptReader, body: str, sentence: str) -> None:
    with pytest.raises(BadScript, match=sentence):
        reader.read(META["javascript"] + body, "javascript")


async def test_a_library_reads_off_the_loop(reader: ScriptReader) -> None:
    library = Library(None, None, reader)
    read = await asyncio.gather(*(library.read(META[language], language) for language in LANGUAGES))
    assert [script.language for script in read] == list(LANGUAGES)
