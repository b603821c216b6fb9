"""The process that reads scripts, so that a text which breaks a parser does not break the server. It takes
one text per line and answers each with one line: what was read, or what is wrong and where. First it gives up
files, sockets and memory beyond a limit; time is counted again for each text."""

import os
import resource
import select
import sys
import time
from typing import Annotated

import msgspec

from holdfast.core.errors import BadScript
from holdfast.core.runs import Language
from holdfast.core.shapes import Record, encode
from holdfast.scripts.engines.javascript_check import check_javascript
from holdfast.scripts.meta import Meta
from holdfast.scripts.source import Script, read_script

MIB = 1024 * 1024
MEMORY_MIB = 768
CPU_SECONDS = 20
# An idle process ends after this long; the next reader starts another one.
IDLE_SECONDS = 60.0
CHUNK_BYTES = 1 << 16
NICE = 5


class ReadRequest(Record, frozen=True, kw_only=True):
    language: Language
    text: str


class ScriptRead(Record, frozen=True, kw_only=True, tag="script"):
    meta: Meta
    program: str
    warnings: tuple[str, ...]


class ScriptRefused(Record, frozen=True, kw_only=True, tag="refused"):
    text: Annotated[str, msgspec.Meta(max_length=20_000)]
    line: int | None
    # The process broke on it, which may have had another reason.
    passing: bool = False


Reply = ScriptRead | ScriptRefused


def main() -> None:
    os.nice(NICE)
    # What is loaded on first use is loaded here: later no file can be opened.
    read(
        ReadRequest(language="javascript", text="export const meta = {name: 'n', description: 'd', args: {}}")
    )
    read(ReadRequest(language="python", text="meta = {'name': 'n', 'description': 'd'}\nreturn 1"))
    _give_up()
    question = msgspec.json.Decoder(ReadRequest)
    begun = bytearray()
    while chunk := _next_chunk():
        begun += chunk
        if begun.endswith(b"\n"):
            _allow()
            _write(encode(read(question.decode(begun))) + b"\n")
            begun.clear()


def read(question: ReadRequest) -> Reply:
    try:
        script = read_script(question.text, question.language)
        _check(script)
    except BadScript as error:
        return ScriptRefused(text=error.text[:20_000], line=error.line)
    except MemoryError:
        return ScriptRefused(text="The script needs too much memory to be read.", line=None)
    return ScriptRead(meta=script.meta, program=script.program, warnings=script.warnings)


def _check(script: Script) -> None:
    """What only the engine finds: it reads the program as it will before a run, and executes nothing."""
    if script.language == "javascript":
        check_javascript(script.program)


def _next_chunk() -> bytes:
    ready, _, _ = select.select([0], [], [], IDLE_SECONDS)
    return os.read(0, CHUNK_BYTES) if ready else b""


def _write(line: bytes) -> None:
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(1, rest) :]


def _give_up() -> None:
    for what, most in {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 0,
        resource.RLIMIT_DATA: MEMORY_MIB * MIB,
    }.items():
        _, had = resource.getrlimit(what)
        bound = most if had == resource.RLIM_INFINITY else min(most, had)
        resource.setrlimit(what, (bound, bound))


def _allow() -> None:
    _, had = resource.getrlimit(resource.RLIMIT_CPU)
    most = int(time.process_time()) + CPU_SECONDS + 1
    if had != resource.RLIM_INFINITY:
        most = min(most, had)
    resource.setrlimit(resource.RLIMIT_CPU, (most, had))


if __name__ == "__main__":
    sys.exit(main())
