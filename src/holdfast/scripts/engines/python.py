"""Python inside the sandbox's process: CPython as WebAssembly (`guest`), which has no way to the machine but
one function of ours. It runs the script until all of it waits; the next answer makes it go on."""

import json
import os
import threading
import time
from typing import cast

from wasmtime import Engine as WasmEngine
from wasmtime import Store, Trap, WasmtimeError
from wasmtime.component import Component, Func, Linker

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
from holdfast.scripts.engines.javascript import allow_stack
from holdfast.scripts.engines.python_image import settings
from holdfast.scripts.engines.script_calls import CallRefused, Json, Message, ScriptCalls

# What the interpreter itself has in memory before a script runs.
OWN_MIB = 32
LOOK_SECONDS = 0.05
NO_MACHINE = "the script asked the machine for something that a sandbox does not have"


class Python:
    def __init__(self, image: str) -> None:
        self._engine = WasmEngine(settings())
        self._component = Component.deserialize_file(self._engine, image)
        # The loop of the script that was entered last, in this turn.
        self._loop: int | None = None
        self._clock = _TurnClock(self._engine)

    def prepare(self, limits: Limits) -> None:
        self._limits = limits
        allow_stack()
        self._store = Store(self._engine)
        self._store.set_limits(memory_size=(int(limits["memory_mib"]) + OWN_MIB) * MIB)
        self._store.set_epoch_deadline(1)
        linker = Linker(self._engine)
        with linker.root() as root:
            root.add_func("say", self._heard)
        instance = linker.instantiate(self._store, self._component)
        begin, settle = (instance.get_func(self._store, name) for name in ("begin", "settle"))
        assert begin is not None
        assert settle is not None
        self._begin, self._settle = begin, settle
        self._clock.start()

    def processes(self) -> list[int]:
        return [os.getpid()]

    def begin(self, start: Message, calls: ScriptCalls) -> State:
        self._calls = calls
        config: Message = {"limits": self._limits, "program": start["program"], "total": calls.total}
        if "args" in start:
            config["args"] = start["args"]
        return self._go(self._begin, config)

    def settle(self, number: int, value: Json, error: Message | None) -> State:
        return self._go(self._settle, {"call": number, "value": value, "error": error})

    def _go(self, function: Func, message: Message) -> State:
        self._loop = None
        self._clock.begin(float(self._limits["cpu_seconds"]))
        try:
            said = function(self._store, json.dumps(message))
            function.post_return(self._store)
        except (Trap, WasmtimeError) as error:
            return self._broken(str(error))
        finally:
            self._clock.end()
        return self._state(cast(Message, json.loads(cast(str, said))))

    def _state(self, said: Message) -> State:
        match said["type"]:
            case "waiting":
                return EngineWaiting()
            case "done":
                return EngineDone(said["value"])
            case _:
                line = said["line"] if isinstance(said["line"], int) else None
                kind, message = str(said["kind"]), str(said["message"])
                if kind == "memory":
                    return EngineFailed("memory", self._memory_spent(), line)
                return EngineFailed(kind, message, line)

    def _broken(self, why: str) -> EngineFailed:
        if self._clock.is_over or "interrupt" in why:
            return EngineFailed("time", TIME_SPENT.format(self._limits["cpu_seconds"]), self._loop)
        if "call stack exhausted" in why:
            return EngineFailed("thrown", "RecursionError: too many calls within each other", self._loop)
        if "memory" in why:
            return EngineFailed("memory", self._memory_spent(), self._loop)
        return EngineFailed("crashed", NO_MACHINE)

    def _memory_spent(self) -> str:
        return MEMORY_SPENT.format(self._limits["memory_mib"])

    # What the script asks

    def _heard(self, _store: object, message: str) -> str:
        try:
            return json.dumps({"value": self._answer(cast(Message, json.loads(message)))})
        except CallRefused as refusal:
            return json.dumps({"refused": refusal.kind, "text": refusal.text})
        except (KeyError, TypeError, ValueError):  # the script spoke for itself
            return json.dumps({"refused": "refused", "text": "that is not for scripts"})

    def _answer(self, said: Message) -> Json:
        calls = self._calls
        match said["type"]:
            case "agent":
                return calls.agent(said["prompt"], said["options"], str(said["branch"]))
            case "workflow":
                return calls.workflow(said["target"], "args" in said, said.get("args"), str(said["branch"]))
            case "pause":
                return calls.pause(said["seconds"])
            case "spent":
                return calls.spent
            case "loop":
                self._loop = int(cast(int, said["line"]))
            case "warn":
                calls.warn(str(said["text"]))
            case "log":
                calls.log(str(said["text"]))
            case "print":
                calls.print(str(said["text"]))
            case "phase":
                calls.set_phase(said["title"])
            case _:
                raise ValueError("unknown")
        return None


class _TurnClock:
    """Stops the interpreter when a turn has computed for too long: from a thread, because nothing else runs
    meanwhile. The kernel's own limit stands behind it."""

    def __init__(self, engine: WasmEngine) -> None:
        self._engine = engine
        self._turn = threading.Event()
        self._until = 0.0
        self.is_over = False

    def start(self) -> None:
        threading.Thread(target=self._watch, daemon=True).start()

    def begin(self, seconds: float) -> None:
        self._until = time.process_time() + seconds
        self._turn.set()

    def end(self) -> None:
        self._turn.clear()

    def _watch(self) -> None:
        while self._turn.wait():
            left = self._until - time.process_time()
            if left <= 0:
                self.is_over = True
                self._engine.increment_epoch()
                return
            # Computing takes at least as long as it counts.
            time.sleep(min(left, 1.0) + LOOK_SECONDS)
