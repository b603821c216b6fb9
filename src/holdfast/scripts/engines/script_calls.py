"""What a script may ask of the server, in either language: each call is checked here, numbered in the order
it is made, and written out. A refused call gets no number and is not sent. Runs inside the sandbox's process
and uses only the standard library."""

import codecs
import json
from collections.abc import Callable
from typing import Literal, cast

from holdfast.scripts.engines.options import BadOption, read_options

# Imported now: once a script runs, no file can be opened, not even of the library.
codecs.lookup("utf-16-le")

Kind = Literal["agent", "workflow", "pause"]
Json = object
Message = dict[str, Json]

MAX_PAUSE_SECONDS = 24 * 3600
MAX_NAME = 1000
BUDGET_SPENT = "the budget of this run is spent"


class CallRefused(Exception):
    """Thrown where the script made the call. `kind` is `budget` or `refused`."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text


class ScriptCalls:
    def __init__(self, start: Message, write: Callable[[bytes], None]) -> None:
        self._limits = cast(dict[str, int], start["limits"])
        self._write = write
        self._strict = start["language"] == "python"
        self._nested = bool(start["nested"])
        total, spent = start["budget_total"], start["budget_spent"]
        assert total is None or isinstance(total, int)
        assert isinstance(spent, int)
        self.total = total
        self.spent = spent
        self._over = False
        self._made = {"agent": 0, "workflow": 0, "pause": 0}
        self._number = 0
        self._open: set[int] = set()
        self._phase: str | None = None
        self._phases = 0
        self._warnings = 0
        self._lines = 0
        self._printed = ""

    @property
    def waits(self) -> bool:
        """Whether an answer is still to come."""
        return bool(self._open)

    # What the script asks

    def agent(self, prompt: Json, options: Json, branch: str) -> int:
        if not isinstance(prompt, str) or not prompt.strip():
            raise CallRefused("refused", "agent() needs a prompt: text that is not empty")
        most = self._limits["prompt_characters"]
        if len(prompt) > most:
            raise CallRefused(
                "refused", f"the prompt is longer than {most} characters: let the agent read a file"
            )
        if not isinstance(options, dict):
            raise CallRefused("refused", "the options of agent() must be an object")
        try:
            read, unknown, ignored = read_options(cast(Message, options))
        except BadOption as error:
            raise CallRefused("refused", f"agent(): {error}") from None
        if unknown and self._strict:
            raise CallRefused("refused", f"agent() has no option {', '.join(sorted(unknown))}")
        self._check_budget()
        self._count("agent", "agents")
        for name in sorted(unknown):
            self.warn(f"agent() has no option {name[:100]}: it is ignored.")
        for sentence in ignored:
            self.warn(f"agent(): {sentence}.")
        return self._call("agent", branch, prompt=prompt, options=read)

    def workflow(self, target: Json, has_args: bool, args: Json, branch: str) -> int:
        if self._nested:
            raise CallRefused(
                "refused", "a workflow inside a workflow cannot call another one: one level is all"
            )
        name, path = _target(target)
        if (name is None and path is None) or len(name or path or "") > MAX_NAME:
            raise CallRefused("refused", 'workflow() needs a name, or {scriptPath: "path/to/script.js"}')
        self._check_budget()
        self._count("workflow", "workflows")
        extra: Message = {"args": args} if has_args else {}
        return self._call("workflow", branch, name=name, script_path=path, **extra)

    def pause(self, seconds: Json) -> int:
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds != seconds:  # noqa: PLR0124 - NaN
            raise CallRefused("refused", "a pause needs a number")
        self._count("pause", "pauses")
        return self._call("pause", "", seconds=max(0.0, min(float(seconds), MAX_PAUSE_SECONDS)))

    def set_phase(self, title: Json) -> None:
        if not isinstance(title, str) or not title.strip():
            raise CallRefused("refused", "phase() needs a title: text that is not empty")
        self._phase = title.strip()[:200]
        self._phases += 1
        most = self._limits["phases"]
        if self._phases == most + 1:
            self.warn(f"The script began more than {most} phases; the rest is not shown.")
        if self._phases <= most:
            self._say({"type": "phase", "title": self._phase})

    def log(self, text: str) -> None:
        self._lines += 1
        most, longest = self._limits["log_lines"], self._limits["log_characters"]
        if self._lines == most + 1:
            self.warn(f"The script wrote more than {most} lines to the log; the rest is dropped.")
        if self._lines <= most:
            if len(text) > longest:
                text = f"{text[:longest]}… ({len(text) - longest} characters more)"
            self._say({"type": "log", "text": text})

    def print(self, text: str) -> None:
        """Pieces of lines become lines."""
        *lines, rest = (self._printed + text).split("\n")
        for line in lines:
            self.log(line)
        if len(rest) > self._limits["log_characters"]:
            self.log(rest)
            rest = ""
        self._printed = rest

    def flush(self) -> None:
        if self._printed:
            self.log(self._printed)
            self._printed = ""

    def warn(self, text: str) -> None:
        self._warnings += 1
        if self._warnings <= self._limits["warnings"]:
            self._say({"type": "warning", "text": text[: self._limits["log_characters"]]})

    # What the server answers

    def answered(self, number: int, spent: int, error: Message | None) -> None:
        if number not in self._open:
            raise ValueError(f"call {number} is not open")
        self._open.remove(number)
        self.spent = spent
        if error is not None and error.get("kind") == "budget":
            self._over = True

    def _check_budget(self) -> None:
        if self._over or (self.total is not None and self.spent >= self.total):
            self._over = True
            raise CallRefused("budget", BUDGET_SPENT)

    def _count(self, kind: Kind, plural: str) -> None:
        if self._made[kind] >= self._limits[plural]:
            raise CallRefused("refused", f"a run may start at most {self._limits[plural]} {plural}")
        self._made[kind] += 1

    def _call(self, kind: Kind, branch: str, **what: Json) -> int:
        self._number += 1
        self._open.add(self._number)
        place: Message = {"phase": self._phase, "branch": branch[:500] or None}
        self._say({"type": kind, "number": self._number, **place, **what})
        return self._number

    def _say(self, message: Message) -> None:
        self._write(line_of(message))


def _target(target: Json) -> tuple[str | None, str | None]:
    if isinstance(target, str) and target.strip():
        return target.strip(), None
    if isinstance(target, dict):
        named = cast(Message, target)
        path = named.get("scriptPath", named.get("script_path"))
        if isinstance(path, str) and path.strip():
            return None, path
    return None, None


def line_of(message: Message) -> bytes:
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half a character: U+FFFD, as everywhere
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode() + b"\n"
