"""JavaScript in quickjs-ng, inside the sandbox's process. No function of Python is given to the script: it
pushes what it wants into a list, and after everything that could run has run, the list is emptied here."""

import json
import os
import time
from collections.abc import Callable
from importlib import import_module
from typing import Protocol, cast

from holdfast.scripts.engines.desk import Desk, Json, Message, Refusal
from holdfast.scripts.engines.inside import (
    MEMORY_SPENT,
    MIB,
    TIME_SPENT,
    Done,
    Failed,
    Limits,
    State,
    Waiting,
)

STACK_BYTES = MIB
PRELUDE = os.path.join(os.path.dirname(__file__), "javascript.js")


class Context(Protocol):
    """What is used of the engine, which tells nothing of its types. Values are numbers, text, None or
    functions."""

    def eval(self, code: str) -> object: ...

    def execute_pending_job(self) -> bool: ...

    def set_memory_limit(self, limit: int) -> None: ...

    def set_max_stack_size(self, limit: int) -> None: ...

    def set_time_limit(self, limit: float) -> None: ...


class QuickJS(Protocol):
    Context: Callable[[], Context]
    JSException: type[Exception]


_quickjs = cast(QuickJS, import_module("_quickjs"))


class JavaScript:
    def __init__(self) -> None:
        with open(PRELUDE, encoding="utf-8") as file:
            prelude = file.read()
        # Errors name lines only: the script stands below our own lines, and so the two are told apart.
        self._lines_before = prelude.count("\n") + 1
        self._context = _quickjs.Context()
        self._set_up = cast(Callable[[str], Callable[[str, object], object]], self._context.eval(prelude))
        # Calls of the script that were numbered here, by the number they have there.
        self._ids: dict[int, int] = {}

    def processes(self) -> list[int]:
        return [os.getpid()]

    def prepare(self, limits: Limits) -> None:
        self._limits = limits
        self._cpu_seconds = float(limits["cpu_seconds"])
        self._memory_mib = int(limits["memory_mib"])
        self._context.set_memory_limit(self._memory_mib * MIB)
        self._context.set_max_stack_size(STACK_BYTES)
        self._context.set_time_limit(self._cpu_seconds)

    def begin(self, start: Message, desk: Desk) -> State:
        self._desk = desk
        config: Message = {
            **self._limits,
            "lines": self._lines_before,
            "total": desk.total,
            "spent": desk.spent,
        }
        if "args" in start:
            config["args"] = start["args"]
        self._began = time.process_time()
        try:
            self._bridge = self._set_up(json.dumps(config))
            program = self._context.eval("\n" * self._lines_before + str(start["program"]))
            self._bridge("run", program)
        except _quickjs.JSException as error:
            return self._broken(error)
        return self._go()

    def settle(self, number: int, value: Json, error: Message | None) -> State:
        self._began = time.process_time()
        return self._answer(self._ids.pop(number), value, error) or self._go()

    def _answer(self, their_number: int, value: Json, error: Message | None) -> Failed | None:
        message = {"id": their_number, "value": value, "error": error, "spent": self._desk.spent}
        try:
            self._bridge("settle", json.dumps(message))
        except _quickjs.JSException as broken:
            return self._broken(broken)
        return None

    def _go(self) -> State:
        """Runs whatever can run. Refused calls are answered at once, which lets more of the script run."""
        try:
            while True:
                while self._context.execute_pending_job():
                    if time.process_time() - self._began > self._cpu_seconds:
                        return Failed("time", TIME_SPENT.format(self._cpu_seconds))
                said = self._bridge("take", "")
                if said is None:
                    return Waiting()
                if end := self._hear(json.loads(str(said))):
                    return end
        except _quickjs.JSException as error:
            return self._broken(error)
        except (Refusal, ValueError, TypeError, KeyError, RecursionError):
            return Failed("broken", "the script broke the words it was given")

    def _hear(self, said: Message) -> State | None:
        match said["type"]:
            case "log":
                self._desk.log(str(said["text"]))
            case "phase":
                self._desk.set_phase(said["title"])
            case "done":
                return Done(said["value"])
            case "failed":
                line = said["line"] if isinstance(said["line"], int) else None
                return self._failed(str(said["kind"]), str(said["message"]), line)
            case _:
                return self._call(said)
        return None

    def _call(self, said: Message) -> Failed | None:
        their_number, branch = cast(int, said["id"]), str(said["branch"])
        try:
            match said["type"]:
                case "agent":
                    number = self._desk.agent(said["prompt"], said["options"], branch)
                case "workflow":
                    number = self._desk.workflow(said["target"], "args" in said, said.get("args"), branch)
                case _:
                    number = self._desk.pause(said["seconds"])
        except Refusal as refusal:
            return self._answer(their_number, None, {"kind": refusal.kind, "message": refusal.text})
        self._ids[number] = their_number
        return None

    def _broken(self, error: Exception) -> Failed:
        """What the script cannot catch, or what stands in its text."""
        message, _, stack = str(error).partition("\n")
        if "interrupted" in message:
            return Failed("time", TIME_SPENT.format(self._cpu_seconds))
        return self._failed("thrown", "out of memory" if message == "null" else message, self._line(stack))

    def _failed(self, kind: str, message: str, line: int | None) -> Failed:
        if "out of memory" in message:
            return Failed("memory", MEMORY_SPENT.format(self._memory_mib), line)
        return Failed(kind, message, line)

    def _line(self, stack: str) -> int | None:
        for frame in stack.splitlines():
            line = frame.rpartition("<input>:")[2].partition(":")[0]
            if line.isdigit() and int(line) > self._lines_before:
                return int(line) - self._lines_before
        return None
