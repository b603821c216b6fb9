"""The interpreter that a Python script runs in, compiled to WebAssembly with this program already started.
The process around gives it a script and then answers; it knows nothing else of the world."""

import ast
import asyncio
import json
import sys
import traceback
from typing import Any

import wit_world
from loop import ScriptLoop
from program import BODY, FILE, wrapped
from surroundings import scope
from values import ResultTooLarge
from words import BudgetError, ScriptBudget, Words

RECURSION = 11_000
# One word a line is enough; what is told of an error is cut by the process around.
MAX_MESSAGE = 20_000


def say(kind: str, **what: Any) -> Any:
    heard = json.loads(wit_world.say(json.dumps({"type": kind, **what})))
    if "refused" in heard:
        raise _error(heard["refused"], heard["text"])
    return heard.get("value")


def _error(kind: str, text: str) -> Exception:
    match kind:
        case "budget":
            return BudgetError(text)
        case "refused":
            return TypeError(text)
        case _:
            return RuntimeError(text)


class _Output:
    encoding = "utf-8"

    def write(self, text: str) -> int:
        say("print", text=text)
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


class Interpreter:
    def __init__(self) -> None:
        self._loop = ScriptLoop(lambda seconds: say("pause", seconds=seconds))

    def begin(self, start: dict[str, Any]) -> dict[str, Any]:
        sys.stdout = sys.stderr = _Output()
        sys.setrecursionlimit(RECURSION)
        self._words = Words(start["limits"], say, self._loop)
        names = scope()
        names.update(self._words.named(), args=start.get("args"), BudgetError=BudgetError)
        names["budget"] = ScriptBudget(start["total"], say)
        watch_loops()
        try:
            code = compile(wrapped(ast.parse(start["program"], FILE)), FILE, "exec", dont_inherit=True)
            exec(code, names)
        except Exception as error:
            return _failed(error)
        self._main = self._loop.create_task(names[BODY]())
        return self._go()

    def settle(self, answer: dict[str, Any]) -> dict[str, Any]:
        number = answer["call"]
        sys.monitoring.restart_events()
        if not self._loop.fire(number):
            future = self._words.open.pop(number)
            if not future.done():
                error = answer.get("error")
                if error is None:
                    future.set_result(answer.get("value"))
                else:
                    future.set_exception(_error(error["kind"], error["message"]))
        return self._go()

    def _go(self) -> dict[str, Any]:
        try:
            self._loop.run_ready()
        except BaseException as error:  # of a script that raises what no task keeps: SystemExit
            return _failed(error)
        if not self._main.done():
            return {"type": "waiting"}
        if self._main.cancelled():
            return _failed(asyncio.CancelledError("the script was cancelled by itself"))
        error = self._main.exception()
        if error is not None:
            return _failed(error)
        try:
            return {"type": "done", "value": self._words.packed(self._main.result(), "the result")}
        except ResultTooLarge as error:
            return {"type": "failed", "kind": "result", "message": str(error), "line": None}
        except Exception as error:
            return _failed(error)


def _failed(error: BaseException) -> dict[str, Any]:
    try:
        text = str(error)
    except BaseException:
        text = "(an error that cannot be told)"
    name = type(error).__name__
    kind = (
        "budget"
        if isinstance(error, BudgetError)
        else "memory"
        if isinstance(error, MemoryError)
        else "thrown"
    )
    message = f"{name}: {text}" if text else name
    return {"type": "failed", "kind": kind, "message": message[:MAX_MESSAGE], "line": _line(error)}


def _line(error: BaseException) -> int | None:
    if isinstance(error, SyntaxError) and error.filename == FILE:
        return error.lineno
    lines = [
        line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == FILE
    ]
    return lines[-1] if lines else None


def watch_loops() -> None:
    """The process around is told of each loop when it goes round for the first time since the last answer: of
    a script that never stops, the last one told is the loop it is in."""
    monitoring = sys.monitoring

    def jumped(code: Any, offset: int, destination: int) -> Any:
        if code.co_filename == FILE and destination <= offset:
            say("loop", line=_line_at(code, destination))
        return monitoring.DISABLE

    if monitoring.get_tool(monitoring.PROFILER_ID) is None:
        monitoring.use_tool_id(monitoring.PROFILER_ID, "loops")
    monitoring.register_callback(monitoring.PROFILER_ID, monitoring.events.JUMP, jumped)
    monitoring.set_events(monitoring.PROFILER_ID, monitoring.events.JUMP)


def _line_at(code: Any, offset: int) -> int | None:
    for start, end, line in code.co_lines():
        if start <= offset < end:
            return line
    return None


_interpreter = Interpreter()


class WitWorld(wit_world.WitWorld):
    def begin(self, start: str) -> str:
        return json.dumps(_interpreter.begin(json.loads(start)))

    def settle(self, answer: str) -> str:
        return json.dumps(_interpreter.settle(json.loads(answer)))
