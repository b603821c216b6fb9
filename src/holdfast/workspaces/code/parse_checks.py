"""Whether source texts can be parsed, asked of a process behind the wall (`parse_process`). What is known is
remembered; what cannot be found out is not asked again. Nothing fails because of it."""

import asyncio
import sys
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path

import msgspec
import structlog

from holdfast.core.errors import HoldfastError
from holdfast.core.shapes import encode
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.code.grammars import language_of
from holdfast.workspaces.code.parse_process import PARSE_SECONDS, ParsedText, SourceText
from holdfast.workspaces.commands.walled_programs import Program, Walled, interpreter

log = structlog.get_logger(__name__)

# Larger texts are not looked at, and of more only the first now: the next question goes on.
TEXT_CHARACTERS = 256 * 1024
_AT_ONCE = 200
_AT_ONCE_CHARACTERS = 4 * 1024 * 1024
# For everything around the parsing on a busy machine.
_MORE_SECONDS = 10.0
_ANSWER_BYTES = 256 * 1024
_REMEMBERED = 10_000
_PROCESS = (sys.executable, "-I", "-m", "holdfast.workspaces.code.parse_process")

# The ending of the path, and what names the content.
TextKey = tuple[str, str]


def text_key(path: str, content: str) -> TextKey | None:
    """None: it is not source code of a language that can be checked."""
    language = language_of(path)
    return None if language is None else (path.rpartition(".")[2].lower(), content)


class ParseChecks:
    def __init__(self, walled: Walled) -> None:
        self._walled = walled
        self._known: OrderedDict[TextKey, str | None] = OrderedDict()
        # One process at a time.
        self._lock = asyncio.Lock()

    def knows(self, key: TextKey) -> bool:
        return key in self._known

    async def problems(self, texts: Mapping[TextKey, SourceText]) -> None:
        """Finds out about these what is not known yet."""
        if not self._walled.stands:
            return
        async with self._lock:
            asked: dict[TextKey, SourceText] = {}
            room = _AT_ONCE_CHARACTERS
            for key, source in texts.items():
                if key in self._known:
                    continue
                if len(source.text) > TEXT_CHARACTERS:
                    self._remember(key, None)
                elif len(asked) < _AT_ONCE and len(source.text) <= room:
                    asked[key] = source
                    room -= len(source.text)
            if asked:
                await self._ask(asked)

    def problem(self, key: TextKey) -> str | None:
        """None: there is none, or nobody knows."""
        return self._known.get(key)

    async def _ask(self, asked: Mapping[TextKey, SourceText]) -> None:
        keys = iter(asked)
        try:
            async with self._walled.room() as room:
                given = room.own / "texts"
                await blocking(lambda: given.write_bytes(encode(tuple(asked.values()))))
                program = Program(argv=(*_PROCESS, str(given)), cwd=Path("/"), system=interpreter())
                ran = await room.run(program, limit=_ANSWER_BYTES, seconds=PARSE_SECONDS + _MORE_SECONDS)
            for line in ran.output.splitlines():
                self._remember(next(keys), msgspec.json.decode(line, type=ParsedText).problem)
            if ran.code == 0:
                return
            log.info("a text was not parsed", reason=ran.reason)
            # It ended the process. Those behind it are asked about again.
            if (culprit := next(keys, None)) is not None:
                self._remember(culprit, None)
        except (HoldfastError, OSError, msgspec.DecodeError, StopIteration) as error:
            log.info("texts were not parsed", reason=str(error))
            for key in asked:
                self._remember(key, self._known.get(key))

    def _remember(self, key: TextKey, problem: str | None) -> None:
        self._known[key] = problem
        self._known.move_to_end(key)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
