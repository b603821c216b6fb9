"""What the sandboxes have and lack, found out by trying each thing. The list in the guide is written from it:
`.venv/bin/python -m tests.scripts.probes`."""

import asyncio
import re
import textwrap
from pathlib import Path
from typing import cast

from holdfast.core.errors import BadScript
from holdfast.core.runs import Language
from holdfast.scripts.source import read_script
from tests.scripts.host import META, agents_first, run_script

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
    abc array ast asyncio base64 binascii bisect calendar cmath collections collections.abc concurrent.futures
    contextlib contextvars copy csv ctypes dataclasses datetime decimal difflib enum fnmatch fractions
    functools glob graphlib hashlib heapq hmac html html.parser http inspect io itertools json locale logging
    math multiprocessing numbers operator os pathlib pickle pprint queue random re reprlib secrets shlex
    shutil socket sqlite3 statistics string struct subprocess sys tempfile textwrap threading time traceback
    types typing unicodedata urllib.parse urllib.request uuid warnings weakref xml.etree.ElementTree zlib
    zoneinfo
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
        "async with": "async def f():\n    async with asyncio.Lock():\n        pass\nawait f()",
        "f-strings": "f'{1!r:>5}'",
        "str.format": "'{:>5}'.format(1)",
        "integers of any size": "10**30 // 10**29",
        "keyword-only parameters": "def f(*, a=1):\n    return a\nf()",
        "asyncio.gather": "import asyncio\nawait asyncio.gather()",
        "asyncio.create_task": "import asyncio\nasyncio.create_task(agent('x'))",
        "asyncio.wait_for": "await asyncio.wait_for(agent('x'), 5)",
        "asyncio.as_completed": "for one in asyncio.as_completed([agent('x')]):\n    await one",
        "asyncio.timeout": "async with asyncio.timeout(5):\n    await agent('x')",
        "asyncio.TaskGroup": "async with asyncio.TaskGroup() as g:\n    g.create_task(agent('x'))",
        "asyncio.Semaphore": "async with asyncio.Semaphore(2):\n    await agent('x')",
        "asyncio.Queue": "q = asyncio.Queue()\nq.put_nowait(1)\nawait q.get()",
        "asyncio.to_thread": "await asyncio.to_thread(len, [])",
        "asyncio.run": "asyncio.run(agent('x'))",
        "async generators": "async def g():\n    yield 1\nasync for x in g():\n    pass",
        "exceptions with several arguments": "a, b = ValueError(1, 2).args",
        "except*": "try:\n    raise ExceptionGroup('g', [ValueError('x')])\nexcept* ValueError:\n    x = 1",
        "Enum": "from enum import Enum\nclass C(Enum):\n    A = 1\nC.A.name",
        "methods as values": "sorted(['b'], key=str.lower); max({'a': 1}, key={'a': 1}.get)",
        "re.sub with a function": "re.sub('a', lambda m: 'b', 'a')",
        "random.Random(seed)": "import random\nrandom.Random(5).random()",
        "random.random()": "import random\nrandom.random()",
        "import *": "from math import *",
        "datetime.now()": "import datetime\ndatetime.datetime.now()",
    }
)


async def there(language: Language, probes: dict[str, str]) -> set[str]:
    """Those that can be read, and run; all in one script, each in a function of its own."""
    readable = {name: body for name, body in probes.items() if _reads(language, body)}
    each = [_function(language, number, body) for number, body in enumerate(readable.values())]
    probed = ", ".join(f"probe{number}" for number in range(len(each)))
    tries = _TRIES[language].replace("COUNT", str(len(each))).replace("PROBES", f"[{probed}]")
    script = "\n".join([*each, tries])
    found = (await run_script(language, script, choose=agents_first)).value
    names = list(readable)
    return {names[number] for number in cast(list[int], found)}


def _reads(language: Language, body: str) -> bool:
    try:
        read_script(META[language] + _function(language, 0, body), language)
    except BadScript:
        return False
    return True


def _function(language: Language, number: int, body: str) -> str:
    if language == "javascript":
        return f"async function probe{number}() {{\n{body}\n}}"
    return f"async def probe{number}():\n{textwrap.indent(body, '    ')}"


_TRIES: dict[Language, str] = {
    "javascript": "const found = []\nfor (const [i, probe] of PROBES.entries()) "
    "{ try { await probe(); found.push(i) } catch {} }\nreturn found",
    "python": "found = []\nfor i in range(COUNT):\n    try:\n        await globals()[f'probe{i}']()\n"
    "        found.append(i)\n    except Exception:\n        pass\nreturn found",
}


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
        found = await there(language, probes)
        having = ", ".join(f"`{name}`" for name in probes if name in found)
        lacking = ", ".join(f"`{name}`" for name in probes if name not in found)
        lines.append(f"| {title} | {having} | {lacking} |")
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
