"""JavaScript in quickjs-ng, inside the sandbox's process. The script is given no Python function: it appends
its requests to a list, and after everything that could run has run, the list is emptied here."""

import json
import os
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Protocol, cast

from holdfast.scripts.engines.inside import (
    MEMORY_SPENT,
    MIB,
    TIME_SPENT,
    EngineDone,
    EngineFailed,
    EngineWaiting,
    Limits,
    State,
)
from holdfast.scripts.engines.script_calls import CallRefused, Json, Message, ScriptCalls

# At least 10 000 calls within each other. The kernel lets the first thread's stack grow as far as we say.
STACK_BYTES = 64 * MIB
STACK_ROOM_BYTES = 32 * MIB
PRELUDE = os.path.join(os.path.dirname(__file__), "javascript.js")
EXTRAS = os.path.join(os.path.dirname(__file__), "javascript_extras.js")


class Context(Protocol):
    """The part of the engine that is used; it has no types itself. Values are numbers, text, None or
    functions."""

    def eval(self, code: str) -> object: ...

    def execute_pending_job(self) -> bool: ...

    def set_memory_limit(self, limit: int) -> None: ...

    def set_max_stack_size(self, limit: int) -> None: ...

    def set_time_limit(self, limit: float) -> None: ...


class QuickJS(Protocol):
    Context: Callable[[], Context]
    JSException: type[Exception]


quickjs = cast(QuickJS, import_module("_quickjs"))


class JavaScript:
    def __init__(self) -> None:
        prelude, extras = _text(PRELUDE), _text(EXTRAS)
        # Errors only name lines: the script is below our own lines, which tells the two apart.
        self._lines_before = max(prelude.count("\n"), extras.count("\n")) + 1
        self._context = quickjs.Context()
        self._context.eval(extras)
        self._set_up = cast(Callable[[str], Callable[[str, object], object]], self._context.eval(prelude))
        # Calls of the script that were numbered here, by their number in the script.
        self._ids: dict[int, int] = {}

    def processes(self) -> list[int]:
        return [os.getpid()]

    def prepare(self, limits: Limits) -> None:
        self._limits = limits
        self._cpu_seconds = float(limits["cpu_seconds"])
        self._memory_mib = int(limits["memory_mib"])
        self._context.set_memory_limit(self._memory_mib * MIB)
        self._context.set_max_stack_size(allow_stack())
        self._context.set_time_limit(self._cpu_seconds)

    def begin(self, start: Message, calls: ScriptCalls) -> State:
        self._calls = calls
        config: Message = {
            **self._limits,
            "lines": self._lines_before,
            "source": start["program"],
            "total": calls.total,
            "spent": calls.spent,
        }
        if "args" in start:
            config["args"] = start["args"]
        self._began = time.process_time()
        try:
            self._bridge = self._set_up(json.dumps(config))
            program = self._context.eval("\n" * self._lines_before + str(start["program"]))
            self._bridge("run", program)
        except quickjs.JSException as error:
            return self._broken(error)
        return self._go()

    def settle(self, number: int, value: Json, error: Message | None) -> State:
        self._began = time.process_time()
        return self._answer(self._ids.pop(number), value, error) or self._go()

    def _answer(self, their_number: int, value: Json, error: Message | None) -> EngineFailed | None:
        message = {"id": their_number, "value": value, "error": error, "spent": self._calls.spent}
        try:
            self._bridge("settle", json.dumps(message))
        except quickjs.JSException as broken:
            return self._broken(broken)
        return None

    def _go(self) -> State:
        """Runs whatever can run. Refused calls are answered at once, which lets more of the script run."""
        try:
            while True:
                while self._context.execute_pending_job():
                    if time.process_time() - self._began > self._cpu_seconds:
                        return self._too_long()
                said = self._bridge("take", "")
                if said is None:
                    return EngineWaiting()
                if end := self._hear(json.loads(str(said), parse_int=_integer)):
                    return end
        except quickjs.JSException as error:
            return self._broken(error)
        except (CallRefused, ValueError, TypeError, KeyError, RecursionError):
            return EngineFailed("broken", "the script broke the words it was given")

    def _hear(self, said: Message) -> State | None:
        match said["type"]:
            case "log":
                self._calls.log(str(said["text"]))
            case "warning":
                self._calls.warn(str(said["text"]))
            case "phase":
                self._calls.set_phase(said["title"])
            case "done":
                return EngineDone(said["value"])
            case "failed":
                line = said["line"] if isinstance(said["line"], int) else None
                return self._failed(str(said["kind"]), str(said["message"]), line)
            case _:
                return self._call(said)
        return None

    def _call(self, said: Message) -> EngineFailed | None:
        their_number, branch = cast(int, said["id"]), str(said["branch"])
        try:
            match said["type"]:
                case "agent":
                    number = self._calls.agent(said["prompt"], said["options"], branch)
                case "workflow":
                    number = self._calls.workflow(said["target"], "args" in said, said.get("args"), branch)
                case _:
                    number = self._calls.pause(said["seconds"])
        except CallRefused as refusal:
            return self._answer(their_number, None, {"kind": refusal.kind, "message": refusal.text})
        self._ids[number] = their_number
        return None

    def _broken(self, error: Exception) -> EngineFailed:
        """What the script cannot catch, or what is wrong with its text."""
        message, _, stack = str(error).partition("\n")
        if "interrupted" in message:
            return self._too_long()
        return self._failed("thrown", "out of memory" if message == "null" else message, self._line(stack))

    def _too_long(self) -> EngineFailed:
        line: object = None
        with suppress(quickjs.JSException):
            line = self._bridge("loop", "")
        known = int(line) if isinstance(line, int | float) and line > 0 else None
        return EngineFailed("time", TIME_SPENT.format(self._cpu_seconds), known)

    def _failed(self, kind: str, message: str, line: int | None) -> EngineFailed:
        if "out of memory" in message:
            return EngineFailed("memory", MEMORY_SPENT.format(self._memory_mib), line)
        return EngineFailed(kind, message, line)

    def _line(self, stack: str) -> int | None:
        for frame in stack.splitlines():
            line = frame.rpartition("<input>:")[2].partition(":")[0]
            if line.isdigit() and int(line) > self._lines_before:
                return int(line) - self._lines_before
        return None


def _text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def allow_stack() -> int:
    """How much of the stack the engine may use, after the process was allowed as much."""
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    wanted = STACK_BYTES + STACK_ROOM_BYTES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))
    return STACK_BYTES if soft == resource.RLIM_INFINITY else min(STACK_BYTES, soft // 2)


def _integer(digits: str) -> int | float:
    """Beyond 64 bits it is the number that JavaScript has anyway."""
    number = int(digits)
    return number if abs(number) < 2**63 else float(number)
