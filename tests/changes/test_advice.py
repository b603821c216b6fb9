"""Advice on changed files: what no longer parses, imports that vanished; and that no text takes long."""

import pytest

from holdfast.changes.advice import advice
from holdfast.core.clock import Stopwatch, SystemClock
from tests.api.serving import Serving
from tests.changes.test_changes import call, changes, run, started, walled

CODE = "import os\nfrom typing import Any, cast\n\nprint(os.sep, cast(Any, 1))\n"


def test_files_that_parse_no_more() -> None:
    assert advice("a.json", "{}", "{") != ()
    assert advice("a.toml", None, "a = ") != ()
    assert advice("a.json", "{", "{{") == (), "it did not before"
    assert advice("a.json", "{", None) == ()
    assert advice("a.txt", "{", "{") == ()


def test_imports_that_vanished() -> None:
    (said,) = advice("a.py", CODE, CODE.replace("import os\n", ""))
    assert said.endswith(": os")
    (said,) = advice("a.py", CODE, CODE.replace("Any, cast", "cast"))
    assert said.endswith(": Any")
    assert advice("a.py", CODE, "print(1)\n") == (), "nothing of them is used any more"


def test_imports_that_are_only_written_otherwise() -> None:
    in_lines = CODE.replace("Any, cast", "(\n    Any,  # both\n    cast,\n)")
    assert advice("a.py", CODE, in_lines) == ()
    assert advice("a.py", in_lines, CODE) == ()
    assert advice("a.py", CODE, CODE.replace("import os", "import os.path, sys as system")) == ()


def test_no_text_takes_long() -> None:
    watch = Stopwatch(SystemClock())
    for text in ("\n" * 900_000, "from" + " " * 900_000, "import " + "a," * 400_000, "(" * 900_000):
        advice("a.py", f"import os\n{text}", text)
        advice("a.json", "{}", text)
    assert watch.seconds < 30


async def test_source_code_that_parses_no_more(server: Serving) -> None:
    """Asked of a process behind the wall; what was broken before is not named."""
    if not walled(server):
        pytest.skip("without a wall nothing is parsed")
    chat_id, root = await started(server)
    (root / "broken.py").write_text("x = (\n")
    (root / "page.js").write_text("let x = 1;\n")
    writes = {
        "hello.py": "def hello():\nprint()\n",
        "broken.py": "y = (\n",
        "page.js": "let x = {;\n",
        "fine.py": "x = 1\n",
    }
    script = "".join(call("write_file", path=path, content=text) for path, text in writes.items())
    await run(server.admin, chat_id, script + "say: done")
    for _ in range(2):
        said = {item["path"]: item["advice"] for item in await changes(server.admin, chat_id)}
        (why,) = said.pop("hello.py")
        assert why.startswith("It does not parse: line 2: expected an indented block")
        (why,) = said.pop("page.js")
        assert why.startswith("It does not parse: line 1")
        assert said == {"broken.py": [], "fine.py": []}
