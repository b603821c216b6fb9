"""Advice on changed files: what no longer parses, imports that vanished; and that no text takes long."""

from holdfast.changes.advice import advice
from holdfast.core.clock import Stopwatch, SystemClock

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
