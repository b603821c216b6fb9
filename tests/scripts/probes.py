"""What the sandboxes have and lack, found out by trying each thing. The list in the guide is written from it:
`.venv/bin/python -m tests.scripts.probes`."""

import asyncio
import re
from pathlib import Path

from holdfast.core.errors import BadScript
from holdfast.core.runs import Language
from holdfast.scripts.engines.messages import ScriptDone
from tests.scripts.host import run_script

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "workflows.md"
HEADING = "### Tried one by one"


def _words(text: str) -> list[str]:
    return text.split()


JAVASCRIPT_NAMES = _words(
    """
    AbortController AbortSignal AggregateError ArrayBuffer Atomics BigInt Blob Buffer DataView Event
    EventTarget File FinalizationRegistry FormData Headers Intl Iterator Map MessageChannel Promise
    Proxy ReadableStream Reflect Request Response Set SharedArrayBuffer Symbol Temporal TextDecoder
    TextEncoder URL URLSearchParams Uint8Array WeakMap WeakRef WebAssembly WebSocket XMLHttpRequest atob
    btoa clearInterval clearTimeout console exports fetch global globalThis localStorage module
    navigator process queueMicrotask require self setImmediate setInterval setTimeout structuredClone
    window
    """
)
JAVASCRIPT = {name: f"if (typeof {name} === 'undefined') throw new Error()" for name in JAVASCRIPT_NAMES} | {
    "eval()": "eval('1')",
    "new Function()": "new Function('return 1')()",
    "import()": "await import('fs')",
    "Date.now()": "Date.now()",
    "new Date()": "new Date()",
    "new Date(0)": "new Date(0)",
    "Math.random()": "Math.random()",
    "crypto.randomUUID()": "crypto.randomUUID()",
    "performance.now()": "performance.now()",
    "Intl.Segmenter": "new Intl.Segmenter('en')",
    "Intl.RelativeTimeFormat": "new Intl.RelativeTimeFormat('en')",
    "Intl.NumberFormat": "new Intl.NumberFormat('en-US').format(1)",
    "Intl.DateTimeFormat": "new Intl.DateTimeFormat('en-US').format(new Date(0))",
    "class fields": "class A { #x = 1; get x() { return this.#x } }; new A().x",
    "generators": "function* g() { yield 1 }; [...g()]",
    "async generators": "async function* g() { yield 1 }; for await (const x of g()) void x",
    "regular expressions with lookbehind": "if (!/(?<=a)b/u.test('ab')) throw new Error()",
    "Object.groupBy": "Object.groupBy([1], () => 'a')",
    "Array.fromAsync": "await Array.fromAsync([1])",
    "Promise.withResolvers": "Promise.withResolvers()",
    "Set.prototype.union": "new Set([1]).union(new Set([2]))",
}

PYTHON_MODULES = _words(
    """
    abc asyncio base64 bisect collections contextlib copy csv dataclasses datetime decimal difflib enum
    fractions functools glob hashlib heapq html inspect io itertools json logging math numbers operator
    os pathlib pprint random re socket statistics string subprocess sys textwrap threading time
    traceback types typing urllib uuid
    """
)
PYTHON_BUILTINS = _words(
    """
    abs all any ascii bin bool bytearray bytes callable chr classmethod compile complex dict dir divmod
    enumerate eval exec filter float format frozenset getattr globals hasattr hash hex id input int
    isinstance issubclass iter len list locals map max memoryview min next object oct open ord pow print
    property range repr reversed round set setattr slice sorted staticmethod str sum super tuple type
    vars zip
    """
)
PYTHON = (
    {f"import {name}": f"import {name}" for name in PYTHON_MODULES}
    | {name: f"x = {name}" for name in PYTHON_BUILTINS}
    | {
        "class": "class A:\n    def f(self):\n        return 1\nA().f()",
        "base classes": "class A:\n    pass\nclass B(A):\n    pass",
        "exceptions of your own": "class E(Exception):\n    pass",
        "@dataclass": "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\nA(1).x",
        "@property": "class A:\n    @property\n    def f(self):\n        return 1\nA().f",
        "@staticmethod": "class A:\n    @staticmethod\n    def f():\n        return 1\nA.f()",
        "yield": "def g():\n    yield 1\nlist(g())",
        "del": "a = {1: 2}\ndel a[1]",
        "match": "match 1:\n    case 1:\n        pass",
        "decorators": "def d(f):\n    return f\n@d\ndef g():\n    return 1\ng()",
        "lambda": "(lambda x: x)(1)",
        ":=": "if (n := 1):\n    pass",
        "a, *b = c": "a, *b = [1, 2, 3]",
        "global": "x = 1\ndef f():\n    global x\n    x = 2\nf()",
        "nonlocal": "def f():\n    x = 1\n    def g():\n        nonlocal x\n        x = 2\n    g()\nf()",
        "try, finally": "try:\n    x = 1\nfinally:\n    x = 2",
        "except*": "try:\n    x = 1\nexcept* ValueError:\n    pass",
        "async with": "async def f():\n    async with x:\n        pass",
        "async for": "async def f():\n    async for x in y:\n        pass",
        "f-strings": "f'{1!r:>5}'",
        "str.format": "'{:>5}'.format(1)",
        "integers of any size": "10**30 // 10**29",
        "keyword-only parameters": "def f(*, a=1):\n    return a\nf()",
        "asyncio.gather": "import asyncio\nawait asyncio.gather()",
        "asyncio.create_task": "import asyncio\nasyncio.create_task(agent('x'))",
        "datetime.now()": "import datetime\ndatetime.datetime.now()",
    }
)


async def has(language: Language, body: str) -> bool:
    end = "\nreturn 1" if language == "python" else "\n;return 1"
    try:
        ran = await run_script(language, body + end)
    except BadScript:
        return False
    return isinstance(ran.stop, ScriptDone)


async def section() -> str:
    lines = [
        HEADING,
        "",
        "Written by a program that tried each of these in both sandboxes, as they are in this version.",
        "",
        "| | there | not there |",
        "|---|---|---|",
    ]
    tried: list[tuple[Language, str, dict[str, str]]] = [
        ("javascript", "JavaScript", JAVASCRIPT),
        ("python", "Python", PYTHON),
    ]
    for language, title, probes in tried:
        found = {name: await has(language, body) for name, body in probes.items()}
        there, lacking = (
            ", ".join(f"`{name}`" for name in found if found[name] is wanted) for wanted in (True, False)
        )
        lines.append(f"| {title} | {there} | {lacking} |")
    return "\n".join([*lines, ""])


def written() -> str:
    """As the guide has it."""
    found = re.search(rf"^{HEADING}\n.*?(?=^#|\Z)", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    return "" if found is None else found[0].rstrip() + "\n"


async def write() -> None:
    text, old, new = GUIDE.read_text(), written(), await section()
    GUIDE.write_text(text.replace(old, new) if old else f"{text.rstrip()}\n\n{new}")


if __name__ == "__main__":
    asyncio.run(write())
