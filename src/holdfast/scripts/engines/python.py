"""Python in monty, inside the sandbox's process. Monty runs the script in one more process and stops wherever
the script asks for something; when all of it waits for answers, so do we."""

import json
import os
import time

import pydantic_monty as monty

from holdfast.scripts.engines.inside import (
    MEMORY_SPENT,
    MIB,
    TIME_SPENT,
    EngineDone,
    EngineFailed,
    EngineWaiting,
    Limits,
    State,
    used_seconds,
)
from holdfast.scripts.engines.script_calls import (
    NO_CHANCE,
    NO_CLOCK,
    NO_SYSTEM,
    CallRefused,
    Json,
    Message,
    ScriptCalls,
)

PRELUDE = os.path.join(os.path.dirname(__file__), "python.monty")
# How monty calls the second text it is fed: the script, after the prelude.
SCRIPT = "<python-input-1>"
# The program's first line is not the script's, and its last one neither.
LINES_BEFORE = 1
MEMORY = ("MemoryError: memory limit exceeded", "MemoryError: the worker exceeded its memory limit")
INTERNAL = "Internal error in monty: "
CLOCKS = ("time.", "datetime.", "date.")


class Python:
    def __init__(self, binary: str) -> None:
        with open(PRELUDE, encoding="utf-8") as file:
            self._prelude = file.read()
        self._pool = monty.Monty(binary_path=binary, max_processes=1).__enter__()
        # Numbers of calls, by ours: monty's.
        self._ids: dict[int, int] = {}
        # Coroutines of the script that wait for others of it: monty's numbers by the prelude's; and those of
        # which the signal was given.
        self._signals: dict[int, int] = {}
        self._given: list[int] = []

    def prepare(self, limits: Limits) -> None:
        self._limits = limits
        self._session = self._pool.checkout(
            limits={
                "max_turn_duration_secs": limits["cpu_seconds"],
                "max_memory": int(limits["memory_mib"]) * MIB,
                # Each look at the budget is one; what a script may ask for is counted by `ScriptCalls`.
                "max_suspensions": 2**31 - 1,
            },
            os_policy={"datetime": "call_host", "sleep": "call_host", "random_start": "call_host"},
        ).__enter__()
        self._worker = self._session.worker_pid

    def processes(self) -> list[int]:
        return [os.getpid()] if self._worker is None else [os.getpid(), self._worker]

    def begin(self, start: Message, calls: ScriptCalls) -> State:
        self._calls = calls
        program = str(start["program"])
        self._last_line = program.count("\n") - LINES_BEFORE
        config: Message = {**self._limits, "total": calls.total, "args": start.get("args")}
        self._begin_turn()
        try:
            self._session.feed_run(self._prelude, inputs={"_config": config})
            return self._go(self._session.feed_start(program, print_callback=self._print))
        except monty.MontyError as error:
            return self._broken(error)

    def settle(self, number: int, value: Json, error: Message | None) -> State:
        self._begin_turn()
        their_number = self._ids.pop(number)
        result: monty.ExternalSettledResult = {"return_value": value}
        if error is not None:
            result = _exception(str(error["kind"]), str(error["message"]))
        try:
            return self._go(self._blocked.resume({their_number: result}))
        except monty.MontyError as broken:
            return self._broken(broken)

    def _go(self, snapshot: monty.SyncSnapshot) -> State:
        # Monty minds the time between two questions, and a script may ask many.
        while self._computed() - self._began <= self._limits["cpu_seconds"]:
            match snapshot:
                case monty.MontyComplete():
                    return EngineDone(json.loads(str(snapshot.output)))  # made by the prelude
                case monty.FutureSnapshot() if self._given:
                    given, self._given = self._given, []
                    snapshot = snapshot.resume({number: {"return_value": None} for number in given})
                case monty.FutureSnapshot():
                    self._blocked = snapshot
                    return EngineWaiting()
                case monty.NameLookupSnapshot():
                    snapshot = snapshot.resume()
                case monty.FunctionSnapshot():
                    snapshot = snapshot.resume(self._asked(snapshot))
        return self._too_long()

    def _asked(self, snapshot: monty.FunctionSnapshot) -> monty.ExternalResult:
        try:
            if snapshot.is_os_function:
                return self._system(snapshot)
            return self._word(snapshot)
        except CallRefused as refusal:
            return _exception(refusal.kind, refusal.text)
        except (
            ValueError,
            TypeError,
            IndexError,
            KeyError,
        ):  # a word of the prelude's own was called by the script
            return {"exc_type": "TypeError", "message": f"{snapshot.function_name}() is not for scripts"}

    def _word(self, snapshot: monty.FunctionSnapshot) -> monty.ExternalResult:
        calls, given = self._calls, snapshot.args
        match snapshot.function_name:
            case "_agent":
                prompt, options, branch = given
                return self._call(snapshot, calls.agent(prompt, json.loads(options), str(branch)))
            case "_workflow":
                target, args, branch = given
                read = None if args is None else json.loads(args)
                number = calls.workflow(json.loads(target), args is not None, read, str(branch))
                return self._call(snapshot, number)
            case "_spent":
                return {"return_value": calls.spent}
            case "_wait_signal":
                self._signals[int(given[0])] = snapshot.call_id
                return {"future": ...}
            case "_signal":
                self._given.append(self._signals.pop(int(given[0])))
            case "_warn":
                calls.warn(str(given[0]))
            case "_log":
                calls.log(str(given[0]))
            case "_phase":
                calls.set_phase(given[0])
            case name:
                return {"exc_type": "NameError", "message": f"name '{name}' is not defined"}
        return {"return_value": None}

    def _system(self, snapshot: monty.FunctionSnapshot) -> monty.ExternalResult:
        name = str(snapshot.function_name)
        if name == "asyncio.sleep":
            return self._call(snapshot, self._calls.pause(snapshot.args[0]))
        if name.startswith(CLOCKS):
            return {"exc_type": "RuntimeError", "message": NO_CLOCK}
        if name == "os.urandom":
            return {"exc_type": "RuntimeError", "message": NO_CHANCE}
        return {"exc_type": "PermissionError", "message": f"{name} is not available: {NO_SYSTEM}"}

    def _call(self, snapshot: monty.FunctionSnapshot, number: int) -> monty.ExternalResult:
        self._ids[number] = snapshot.call_id
        return {"future": ...}

    def _print(self, _stream: str, text: str) -> None:
        self._calls.print(text)

    def _broken(self, error: monty.MontyError) -> EngineFailed:
        if isinstance(error, monty.MontyCrashedError):
            # What cannot be interrupted is killed some time after its limit.
            if time.monotonic() - self._began_at > self._limits["cpu_seconds"]:
                return self._too_long()
            return EngineFailed("crashed", "the sandbox broke down, most likely for want of memory")
        if not isinstance(error, monty.MontyRuntimeError | monty.MontySyntaxError):
            return EngineFailed("broken", str(error))
        message = error.display("type-msg")
        if INTERNAL in message:
            message = f"the sandbox cannot do this: {message.partition(INTERNAL)[2]}"
        line = self._line(error.traceback())
        if message.startswith("TimeoutError: turn time limit exceeded"):
            return self._too_long()
        if message.startswith(MEMORY):
            return EngineFailed("memory", MEMORY_SPENT.format(self._limits["memory_mib"]), line)
        if message.startswith("TypeError: the result must be JSON"):
            return EngineFailed("result", message.removeprefix("TypeError: "))
        if message.startswith("RuntimeError: BudgetError: "):
            return EngineFailed("budget", message.removeprefix("RuntimeError: "), line)
        return EngineFailed("thrown", message, line)

    def _begin_turn(self) -> None:
        self._began = self._computed()
        self._began_at = time.monotonic()

    def _computed(self) -> float:
        return time.monotonic() if self._worker is None else used_seconds(self._worker) + time.process_time()

    def _too_long(self) -> EngineFailed:
        return EngineFailed("time", TIME_SPENT.format(self._limits["cpu_seconds"]))

    def _line(self, frames: list[monty.Frame]) -> int | None:
        for frame in reversed(frames):
            line = frame.line - LINES_BEFORE
            if frame.filename == SCRIPT and 0 < line < self._last_line:
                return line
        return None


def _exception(kind: str, text: str) -> monty.ExternalExceptionData:
    match kind:
        case "budget":
            return {"exc_type": "RuntimeError", "message": f"BudgetError: {text}"}
        case "refused":
            return {"exc_type": "TypeError", "message": text}
        case _:
            return {"exc_type": "RuntimeError", "message": text}
