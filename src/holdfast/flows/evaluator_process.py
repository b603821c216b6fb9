"""The process in which flows are read and expressions are evaluated: untrusted text is parsed nowhere else.
It takes one request per line. Each is answered by a forked child that can open no file and has little
time and memory, so whatever a text does to its child, the next one starts clean."""

import importlib
import os
import resource
import select
import signal
import sys
import time
import traceback
from contextlib import suppress
from typing import Any, NoReturn, cast

import msgspec

from holdfast.core.errors import BadFlow
from holdfast.core.shapes import Json, encode
from holdfast.flows.evaluator_messages import (
    Asked,
    Evaluate,
    Evaluated,
    EvaluatorBroke,
    FlowRead,
    FlowRefused,
    Question,
    ReadFlow,
    Reply,
    Value,
)
from holdfast.flows.expressions import ExpressionFault, evaluate, render
from holdfast.flows.reading import read_flow

MIB = 1024 * 1024
# The interpreter and its loaded modules.
OWN_MIB = 96
EVALUATE_MIB, EVALUATE_SECONDS = 64, 1
READ_MIB, READ_SECONDS = 256, 10
# The machine may be busy: the wall-clock limit of a child is this much longer than its CPU limit.
WALL_SECONDS = 30
# An idle process ends after this.
IDLE_SECONDS = 60.0
CHUNK_BYTES = 1 << 16
NICE = 5

_question = msgspec.json.Decoder(Question)


def main() -> None:
    os.nice(NICE)
    _load()
    begun = bytearray()
    while chunk := _next_chunk():
        begun += chunk
        if begun.endswith(b"\n"):
            _write(1, _ask_child(bytes(begun)) + b"\n")
            begun.clear()


def _load() -> None:
    """Loads what would otherwise be loaded on first use, because a child can open no file."""
    importlib.import_module("encodings.unicode_escape")
    importlib.import_module("encodings.idna")
    for module in ("jinja2.debug", "textwrap", "linecache", "tokenize", "unicodedata"):
        importlib.import_module(module)
    flow = (
        """{name: n, description: d, args: {}, steps: [{id: a, kind: wait, for: 1s, when: "'a' == args"}]}"""
    )
    for text in (flow, "{", "a: &b 1"):
        answer(encode(ReadFlow(text=text)))
    texts = (
        "{{ 'a' ~ args | tojson }}",
        "{{ results.a }}",
        "{{ [1, 2.5] | sum | round }}",
        "{{ args.x.y }}",
        "{{",
    )
    asked = tuple(Asked(kind="template", texts=(text,)) for text in texts)
    conditions = tuple(
        Asked(kind="condition", texts=(text,)) for text in ("1 / 0", "'a' in args", "results.b")
    )
    answer(encode(Evaluate(asked=(*asked, *conditions))))


def _ask_child(question: bytes) -> bytes:
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        _answer_and_exit(question, writes)
    os.close(writes)
    pieces: list[bytes] = []
    until = time.monotonic() + WALL_SECONDS
    while (left := until - time.monotonic()) > 0 and select.select([reads], [], [], left)[0]:
        if not (piece := os.read(reads, CHUNK_BYTES)):
            break
        pieces.append(piece)
    else:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        pieces = []
    os.close(reads)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0 and pieces:
        return b"".join(pieces)
    return encode(EvaluatorBroke(reason=_reason(status)))


def _reason(status: int) -> Any:
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
        return "time"
    return "memory" if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 3 else "crashed"


def _answer_and_exit(question: bytes, writes: int) -> NoReturn:
    code = 1
    try:
        is_read = question.startswith(b'{"type":"read"')
        _give_up(READ_MIB if is_read else EVALUATE_MIB, READ_SECONDS if is_read else EVALUATE_SECONDS)
        _write(writes, answer(question))
        code = 0
    except (MemoryError, RecursionError):
        code = 3
    except Exception:  # noqa: BLE001 - the last resort of a process that ends here
        traceback.print_exc()
    finally:
        os._exit(code)


def answer(question: bytes) -> bytes:
    wanted = _question.decode(question)
    reply = _read(wanted) if isinstance(wanted, ReadFlow) else _evaluate(wanted)
    return encode(reply)


def _read(wanted: ReadFlow) -> Reply:
    try:
        return FlowRead(flow=read_flow(wanted.text))
    except BadFlow as error:
        return FlowRefused(sentence=error.sentence[:20_000], line=error.line, column=error.column)
    except RecursionError:
        return FlowRefused(sentence="the flow is nested too deeply to be read.", line=1, column=1)


def _evaluate(wanted: Evaluate) -> Evaluated:
    names = {"args": wanted.args, "results": wanted.results, "states": wanted.states, "run": wanted.run}
    return Evaluated(values=tuple(_value(asked, names) for asked in wanted.asked))


def _value(asked: Asked, names: dict[str, Any]) -> Value:
    text = ""
    try:
        match asked.kind:
            case "condition":
                (text,) = asked.texts
                return Value(value=bool(evaluate(text, names)))
            case "choice":
                for number, text in enumerate(asked.texts):
                    if evaluate(text, names):
                        return Value(value=number)
                return Value(value=None)
            case "template":
                (text,) = asked.texts
                return Value(value=render(text, names))
            case "values":
                return Value(value=_filled(asked.value, names))
    except ExpressionFault as error:
        return Value(error=error.sentence[:20_000], expression=text[:1000] or None)
    except RecursionError:
        return Value(error="it is nested too deeply", expression=text[:1000] or None)


def _filled(value: Json, names: dict[str, Any]) -> Json:
    """A text that is one expression keeps its type: `{{ results.merge }}` is a list if that is one."""
    match value:
        case str():
            inner = value.strip()
            if (
                inner.startswith("{{")
                and inner.endswith("}}")
                and inner.count("{{") == 1
                and inner.count("}}") == 1
            ):
                return evaluate(inner[2:-2].strip(), names)
            return render(value, names) if "{{" in value else value
        case list():
            return [_filled(item, names) for item in cast(list[Json], value)]
        case dict():
            return {key: _filled(item, names) for key, item in cast(dict[str, Json], value).items()}
        case _:
            return value


def _give_up(memory_mib: int, seconds: int) -> None:
    bounds = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 0,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_DATA: (OWN_MIB + memory_mib) * MIB,
        # Whole seconds, for the child alone; it has used almost none so far.
        resource.RLIMIT_CPU: seconds,
    }
    for what, most in bounds.items():
        _, had = resource.getrlimit(what)
        bound = most if had == resource.RLIM_INFINITY else min(most, had)
        resource.setrlimit(what, (bound, bound))


def _next_chunk() -> bytes:
    ready, _, _ = select.select([0], [], [], IDLE_SECONDS)
    return os.read(0, CHUNK_BYTES) if ready else b""


def _write(descriptor: int, line: bytes) -> None:
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


if __name__ == "__main__":
    sys.exit(main())
