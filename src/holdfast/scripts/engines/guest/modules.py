"""Which modules a script can import, and what to use in place of others. Uses nothing: the server refuses
imports with the same words before a run."""

MODULES = (
    "__future__", "abc", "asyncio", "base64", "binascii", "bisect", "cmath", "collections", "collections.abc",
    "colorsys", "contextlib", "contextvars", "copy", "csv", "dataclasses", "datetime", "decimal", "difflib",
    "enum", "fnmatch", "fractions", "functools", "graphlib", "hashlib", "heapq", "html", "html.parser",
    "inspect", "io", "itertools", "json", "keyword", "math", "numbers", "operator", "pprint", "random", "re",
    "reprlib", "shlex", "statistics", "string", "struct", "textwrap", "traceback", "types", "typing",
    "unicodedata", "urllib.parse", "warnings", "weakref", "xml.etree.ElementTree",
)  # fmt: skip
# Loaded with them, because others load them when they are first used.
ALONE = ("_pydatetime", "_strptime", "linecache", "encodings.idna", "encodings.latin_1", "encodings.utf_16")
AGAIN = "a run that is continued must take the same way"
NO_CLOCK = f"there is no clock: {AGAIN}. Pass the time as an argument"
NO_CHANCE = f"random numbers are not available: {AGAIN}. Pass a seed as an argument: random.Random(seed)"
NO_SYSTEM = "a script has no files, network, processes or environment: let an agent do it"


def _each(names: str, sentence: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), sentence)


_INSTEAD = {
    **_each("time zoneinfo calendar sched", f"{NO_CLOCK}, and wait with asyncio.sleep()"),
    **_each("uuid secrets", NO_CHANCE),
    **_each("os sys subprocess socket pathlib shutil tempfile glob ctypes signal platform", NO_SYSTEM),
    **_each("requests httpx aiohttp urllib http ssl", NO_SYSTEM),
    **_each("threading multiprocessing concurrent queue", "use parallel(), pipeline() or asyncio"),
    **_each("numpy pandas", "use math and statistics"),
    "logging": "use log()",
    "pydantic": "use a schema of agent(), or dataclasses",
    "importlib": "import what you need by its name",
    "unittest": "use assert",
    "pickle": "use json",
}


def refusal(name: str) -> str:
    """Why a module cannot be imported."""
    top = name.split(".", maxsplit=1)[0]
    if not top:
        return (
            "a module of your own cannot be imported: a script is one file, and workflow() runs another one"
        )
    if top in _INSTEAD:
        return f"{name} cannot be imported: {_INSTEAD[top]}"
    there = ", ".join(module for module in MODULES if module != "__future__")
    return f"{name} cannot be imported: a script can import {there}"
