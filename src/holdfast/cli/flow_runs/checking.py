"""Checks files with flows without a server."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from holdfast.cli.safe_text import neutral_line
from holdfast.core.errors import BadFlow, WrongUsage
from holdfast.core.shapes import Record
from holdfast.flows.discovery import INSIDE, SUFFIXES, FlowLibrary
from holdfast.flows.evaluator import FlowEvaluator
from holdfast.flows.placed_values import MAX_BYTES
from holdfast.scripts.reader import ScriptReader


class CheckedFlow(Record, frozen=True, kw_only=True):
    path: str
    name: str | None = None
    steps: int = 0
    error: str | None = None
    line: int | None = None
    column: int | None = None

    @property
    def sentence(self) -> str:
        path = neutral_line(self.path, 500)
        if self.error is None:
            return f"{path}: {self.name}, {self.steps} {'step' if self.steps == 1 else 'steps'}"
        at = "".join(f":{place}" for place in (self.line, self.column) if place is not None)
        return f"{path}{at}: {neutral_line(self.error, 1000)}"


def found_files(named: Sequence[Path]) -> list[Path]:
    if named:
        for path in named:
            if not path.is_file():
                raise WrongUsage(f"There is no file {path}.")
        return list(named)
    directory = Path.cwd().joinpath(*INSIDE)
    found = sorted(path for path in directory.glob("*") if path.suffix in SUFFIXES)
    if not found:
        raise WrongUsage(f"There is no flow in {Path(*INSIDE)}. Name the files to check.")
    return found


async def check_files(paths: Sequence[Path]) -> tuple[CheckedFlow, ...]:
    evaluator, reader = FlowEvaluator(), ScriptReader()
    library = FlowLibrary(None, None, evaluator, reader)
    try:
        return tuple([await _check(library, path) for path in paths])
    finally:
        await evaluator.close()
        await asyncio.to_thread(reader.close)


async def _check(library: FlowLibrary, path: Path) -> CheckedFlow:
    try:
        flow = await library.read(_text(path))
    except BadFlow as error:
        return CheckedFlow(path=str(path), error=error.sentence, line=error.line, column=error.column)
    return CheckedFlow(path=str(path), name=flow.name, steps=len(flow.steps))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1).decode()
    except OSError as error:
        raise BadFlow(f"the file cannot be read: {(error.strerror or str(error)).lower()}.") from None
    except UnicodeDecodeError as error:
        raise BadFlow("the file is not UTF-8.", error.object.count(b"\n", 0, error.start) + 1, 1) from None
