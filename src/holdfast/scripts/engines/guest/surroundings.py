"""What a script finds around it: the modules it may import, and built-in functions without those that would
need a machine, a clock or chance."""

import builtins
import importlib
import random
import sys
import time as _time
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from modules import ALONE, MODULES, NO_CHANCE, NO_CLOCK, NO_SYSTEM, refusal

NO_TEXT = "is not available: a script runs only what is written in it"


def _refuse(error: type[Exception], text: str) -> Callable[..., NoReturn]:
    def refused(*_: object, **__: object) -> NoReturn:
        raise error(text)

    return refused


class _Clock:
    """In place of `time`, for the module datetime."""

    time = staticmethod(_refuse(RuntimeError, NO_CLOCK))

    localtime = staticmethod(_time.gmtime)

    def __getattr__(self, name: str) -> Any:
        return getattr(_time, name)


def _datetime() -> ModuleType:
    """The library's own in Python, whose clock can be taken away."""
    pure: Any = importlib.import_module("_pydatetime")
    pure._time = _Clock()
    module = ModuleType("datetime")
    for name in ("date", "datetime", "time", "timedelta", "timezone", "tzinfo", "MINYEAR", "MAXYEAR", "UTC"):
        setattr(module, name, getattr(pure, name))
    return module


class _Seeded(random.Random):
    def __init__(self, seed: Any = None) -> None:
        if seed is None:
            raise RuntimeError(NO_CHANCE)
        super().__init__(seed)

    def seed(self, a: Any = None, version: int = 2) -> None:
        if a is None:
            raise RuntimeError(NO_CHANCE)
        super().seed(a, version)


def _random() -> ModuleType:
    module = ModuleType("random")
    _Seeded.__name__ = _Seeded.__qualname__ = "Random"
    module.Random = _Seeded  # type: ignore[attr-defined]
    for name in random.__all__:
        if name not in ("Random", "SystemRandom"):
            setattr(module, name, _refuse(RuntimeError, NO_CHANCE))
    module.SystemRandom = _refuse(RuntimeError, NO_CHANCE)  # type: ignore[attr-defined]
    return module


# Loaded now: when a script runs there is nothing to load from.
for _name in (*MODULES, *ALONE):
    importlib.import_module(_name)
DATETIME = _datetime()
sys.modules.update(datetime=DATETIME, random=_random())


def _import(name: str, space: Any = None, local: Any = None, wanted: Any = (), level: int = 0) -> ModuleType:
    if level or name not in MODULES:
        raise ImportError(refusal(name if not level else "."))
    return importlib.__import__(name, space, local, wanted or (), 0)


def scope() -> dict[str, Any]:
    """The global names of a script, before it has its words."""
    known = dict(vars(builtins))
    for name in ("eval", "exec", "compile"):
        known[name] = _refuse(RuntimeError, f"{name}() {NO_TEXT}")
    known["open"] = _refuse(PermissionError, f"open() is not available: {NO_SYSTEM}")
    known["input"] = known["breakpoint"] = _refuse(
        RuntimeError, "nobody sits in front of a script: pass arguments"
    )
    for name in ("help", "exit", "quit", "copyright", "credits", "license"):
        known.pop(name, None)
    known["__import__"] = _import
    names: dict[str, Any] = {"__builtins__": known, "__name__": "script"}
    for name in ("asyncio", "json", "math", "re", "textwrap", "statistics", "string"):
        names[name] = sys.modules[name]
    return names
