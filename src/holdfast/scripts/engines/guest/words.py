"""The words of a workflow script in Python."""

import asyncio
import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from loop import ScriptLoop
from values import Packing

Say = Callable[..., Any]


class BudgetError(RuntimeError):
    """The budget is spent. Neither parallel() nor pipeline() swallows it."""


class ScriptBudget:
    def __init__(self, total: int | None, say: Say) -> None:
        self.total = total
        self._say = say

    def spent(self) -> int:
        return self._say("spent")

    def remaining(self) -> float:
        return math.inf if self.total is None else max(0, self.total - self.spent())

    def __repr__(self) -> str:
        return f"budget(total={self.total}, spent={self.spent()})"


# The branch that calls belong to.
_place: ContextVar[str] = ContextVar("place", default="")


class Words:
    def __init__(self, limits: Mapping[str, Any], say: Say, loop: ScriptLoop) -> None:
        self._say = say
        self._loop = loop
        self._most = int(limits["parallel"])
        self._packing = Packing(limits, lambda text: say("warn", text=text))
        self._groups = 0
        # Calls that wait for their answers.
        self.open: dict[int, asyncio.Future[Any]] = {}

    def named(self) -> dict[str, Any]:
        words = (self.agent, self.workflow, self.phase, self.log, self.parallel, self.pipeline)
        return {word.__name__: word for word in words}

    def packed(self, value: object, what: str) -> Any:
        return self._packing.packed(value, what)

    # Calls

    def agent(self, prompt: object = None, opts: Any = None, /, **more: Any) -> "asyncio.Future[Any]":
        if "prompt" in more and prompt is None:
            prompt = more.pop("prompt")
        if opts is None:
            opts = more.pop("opts", None)
        if opts is not None and not isinstance(opts, dict):
            raise TypeError("the options of agent() must be a dict, or given by name")
        if prompt is not None and not isinstance(prompt, str):
            prompt = (
                json.dumps(self.packed(prompt, "the prompt"))
                if isinstance(prompt, (list, dict, tuple))
                else str(prompt)
            )
        options = self.packed({**(opts or {}), **more}, "options")
        return self._call("agent", prompt=prompt, options=options)

    def workflow(self, name: object, args: object = None) -> "asyncio.Future[Any]":
        given = {} if args is None else {"args": self.packed(args, "args")}
        return self._call("workflow", target=self.packed(name, "the name"), **given)

    def phase(self, title: object) -> None:
        self._say("phase", title=None if title is None else str(title))

    def log(self, *values: object) -> None:
        self._say("log", text=" ".join(str(value) for value in values))

    def _call(self, kind: str, **what: Any) -> "asyncio.Future[Any]":
        future = self._loop.create_future()
        self.open[self._say(kind, branch=_place.get(), **what)] = future
        return future

    # Many at once

    async def parallel(self, functions: Any) -> list[Any]:
        self._check_list("parallel", functions, "functions")
        _check_functions("parallel", "item", functions)
        outer = self._group("parallel")
        return await self._all(
            [
                self._item("parallel", f"{outer}[{index}]", index, function)
                for index, function in enumerate(functions)
            ]
        )

    async def pipeline(self, items: Any, *stages: Any) -> list[Any]:
        self._check_list("pipeline", items, "items")
        _check_functions("pipeline", "stage", stages)
        takes = [_taken(number, stage) for number, stage in enumerate(stages, 1)]
        outer = self._group("pipeline")

        def through(item: Any, index: int) -> Callable[[], Any]:
            async def go() -> Any:
                value = item
                for number, (stage, most) in enumerate(zip(stages, takes, strict=True)):
                    _place.set(f"{outer}[{index}].{number}")
                    value = await _result(stage(*(value, item, index)[:most]))
                    if value is None:
                        return None
                return value

            return go

        return await self._all(
            [
                self._item("pipeline", f"{outer}[{index}]", index, through(item, index))
                for index, item in enumerate(items)
            ]
        )

    def _group(self, word: str) -> str:
        self._groups += 1
        outer = _place.get()
        return f"{outer}/{word}#{self._groups}" if outer else f"{word}#{self._groups}"

    async def _all(self, parts: Sequence[Any]) -> list[Any]:
        results = await asyncio.gather(*parts)
        for result in results:
            if isinstance(result, _Over):
                raise result.error
        return results

    async def _item(self, word: str, place: str, index: int, function: Callable[[], Any]) -> Any:
        _place.set(place)
        try:
            return await _result(function())
        except BudgetError as error:
            return _Over(error)
        except Exception as error:
            self._say("log", text=f"{word}: item {index + 1} failed: {type(error).__name__}: {error}")
            return None

    def _check_list(self, word: str, items: Any, kind: str) -> None:
        if not isinstance(items, (list, tuple)):
            raise TypeError(f"{word}() takes a list of {kind}")
        if len(items) > self._most:
            raise ValueError(f"{word}() takes at most {self._most} {kind}, not {len(items)}")


class _Over:
    def __init__(self, error: BudgetError) -> None:
        self.error = error


async def _result(value: Any) -> Any:
    while inspect.isawaitable(value):
        value = await value
    return value


def _check_functions(word: str, what: str, values: Sequence[Any]) -> None:
    for index, value in enumerate(values, 1):
        if inspect.isawaitable(value):
            if inspect.iscoroutine(value):
                value.close()
            raise TypeError(
                f"{word}() takes functions, and {what} {index} already runs: write lambda: agent(...)"
            )
        if not callable(value):
            kind = type(value).__name__
            raise TypeError(
                f"{word}() takes functions, and {what} {index} is a {kind}: write lambda: agent(...)"
            )


def _taken(number: int, stage: Callable[..., Any]) -> int:
    """How many of (previous, item, index) a stage takes."""
    try:
        signature = inspect.signature(stage)
    except (TypeError, ValueError):  # built in, and says nothing of itself
        return 1
    least = most = 0
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            most = 3
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            most += 1
            least += parameter.default is parameter.empty
        elif parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty:
            least = 4
    if most < 1 or least > 3:
        raise TypeError(
            f"stage {number} of pipeline() takes {max(least, most)} arguments: "
            "it is given one to three (previous, item, index)"
        )
    return min(3, most)
