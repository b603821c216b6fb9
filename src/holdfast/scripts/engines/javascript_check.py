"""Checks a JavaScript program with the engine that will run it: all early errors, with their lines. The
program is one function, which is created here and never called."""

from holdfast.core.errors import BadScript
from holdfast.scripts.engines.javascript import allow_stack, quickjs
from holdfast.scripts.meta import bad

MEMORY_BYTES = 256 * 1024 * 1024
SECONDS = 5.0
_TOO_DEEP = "The script is nested too deeply, or too large, to be run."
# Complaints that come with the word after the one they are about.
_LATE = ("missing", "expecting", "break", "continue", "invalid redefinition")


def check_javascript(program: str) -> None:
    context = quickjs.Context()
    context.set_memory_limit(MEMORY_BYTES)
    context.set_max_stack_size(allow_stack())
    context.set_time_limit(SECONDS)
    try:
        context.eval(program)
    except quickjs.JSException as error:
        raise _complaint(str(error), program) from None


def _complaint(error: str, program: str) -> BadScript:
    message, _, stack = error.partition("\n")
    kind, _, text = message.partition(": ")
    if kind != "SyntaxError":
        return BadScript(_TOO_DEEP)
    line, _, column = stack.rpartition("<input>:")[2].strip(" \n)").partition(":")
    if not (line.isdigit() and column.isdigit()):
        return BadScript(f"This is not JavaScript: {text}.")
    return bad(_line(program, int(line), int(column), text), f"this is not JavaScript: {text}.")


def _line(program: str, line: int, column: int, text: str) -> int:
    """What is missing at the end of a line is noticed at the next word, which may stand further below."""
    lines = program.split("\n")
    if text.startswith(_LATE):
        while line > 1 and not lines[line - 1][: column - 1].strip():
            line -= 1
            column = len(lines[line - 1]) + 1
    return line
