"""Python, read with `ast`: `meta` is taken from the tree, what the sandbox lacks is refused with a better
sentence than it would give itself, and the rest becomes the body of one coroutine. The first line of the
program is ours, so its lines are those of the text, plus one (`LINES_BEFORE`)."""

import ast
import threading
import warnings
from contextlib import suppress

from holdfast.core.errors import BadScript
from holdfast.core.shapes import Json
from holdfast.scripts.engines.desk import NO_CHANCE, NO_CLOCK, NO_SYSTEM
from holdfast.scripts.meta import Literally, bad
from holdfast.scripts.names import WORDS, check_name

LINES_BEFORE = 1
PARSES = 3
# What is done to warnings is done to those of the whole process: one at a time.
_QUIET = threading.Lock()
_BODY = "__workflow__"
_THERE = "json, math, re and asyncio.sleep are there without an import."
_NO_TEXT = "() is not available: a script runs only what is written in it."
# Never, whatever the script calls by this name.
_NAMES = {
    "eval": f"eval{_NO_TEXT}",
    "exec": f"exec{_NO_TEXT}",
    "open": "open() is not available: a script has no files. Let an agent read and write them.",
    "__import__": f"imports are not available: {_THERE}",
    "__builtins__": "__builtins__ is not available.",
    _BODY: f"the name {_BODY} is taken.",
}
# What people expect and is not there. Only told when the script has no such name of its own.
_ABSENT = {
    "compile": f"compile{_NO_TEXT}",
    "input": "input() is not available: nobody sits in front of a script. Pass arguments.",
    "breakpoint": "breakpoint() is not available: nobody sits in front of a script. Use log().",
    **{
        name: f"{name}() is not available."
        for name in ("globals", "locals", "vars", "callable", "memoryview")
    },
    **dict.fromkeys(("time", "datetime"), f"{NO_CLOCK}."),
    **dict.fromkeys(("random", "uuid", "secrets"), f"{NO_CHANCE}."),
    **dict.fromkeys(("os", "sys", "subprocess", "socket", "pathlib", "requests", "ctypes"), f"{NO_SYSTEM}."),
}
_STATEMENTS: dict[type[ast.AST], str] = {
    ast.Import: f"imports are not available: {_THERE}",
    ast.ImportFrom: f"imports are not available: {_THERE}",
    ast.Yield: "yield is not available: build a list.",
    ast.YieldFrom: "yield is not available: build a list.",
    ast.Delete: "del is not available: use pop(), or build what you want to keep.",
    ast.AsyncWith: "async with is not available.",
    ast.AsyncFor: "async for is not available: use parallel() or a plain loop with await.",
    ast.TryStar: "except* is not available.",
}


def read_python(text: str) -> tuple[Literally, str]:
    module = _parse(text)
    bound = {name for node in ast.walk(module) for name in _bound_by(node)}
    for node in ast.walk(module):
        _refuse(node, bound)
    return _meta(module.body[0] if module.body else None), _wrap(text, module)


def _parse(text: str) -> ast.Module:
    try:
        with _QUIET, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of backslashes in texts: not worth a word here
            return _tree(text)
    except SyntaxError as error:
        raise bad(error.lineno or 1, f"this is not Python: {error.msg}.") from None
    except (RecursionError, MemoryError, ValueError):
        raise BadScript("The script is nested too deeply to be read.") from None


def _tree(text: str) -> ast.Module:
    """CPython before 3.11.5 may lose count when somebody else reads a program at the same time, and says so
    with a SystemError; the next time it is right."""
    for _ in range(PARSES - 1):
        with suppress(SystemError):
            return ast.parse(text, "script")
    return ast.parse(text, "script")


def _refuse(node: ast.AST, bound: set[str]) -> None:
    line = getattr(node, "lineno", 1)
    if sentence := _STATEMENTS.get(type(node)):
        raise bad(line, " ".join([sentence, *_why_absent(node)]))
    match node:
        case ast.Name(id=name) | ast.arg(arg=name):
            if sentence := _NAMES.get(name) or (name not in bound and _ABSENT.get(name)):
                raise bad(line, sentence)
            check_name(name, line)
        case ast.ClassDef(bases=bases, keywords=keywords) if bases or keywords:
            raise bad(line, "a class cannot have a base class: the sandbox has no inheritance.")
        case _:
            pass


# Meta


def _meta(first: ast.stmt | None) -> Literally:
    match first:
        case ast.Assign(targets=[ast.Name(id="meta")], value=value):
            return _literal(value)
        case ast.AnnAssign(target=ast.Name(id="meta"), value=ast.expr() as value):
            return _literal(value)
        case _:
            pass
    raise bad(
        getattr(first, "lineno", 1),
        'a script begins with meta = {"name": "...", "description": "..."}, before anything else.',
    )


def _literal(node: ast.expr) -> Literally:
    match node:
        case ast.Dict(keys=keys, values=values):
            members = {_key(key, node): _literal(value) for key, value in zip(keys, values, strict=True)}
            return Literally({key: item.value for key, item in members.items()}, node.lineno, {**members})
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            items = [_literal(element) for element in elements]
            return Literally([item.value for item in items], node.lineno, dict(enumerate(items)))
        case _:
            return Literally(_plain(node), node.lineno)


def _key(node: ast.expr | None, parent: ast.Dict) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise _impure(node or parent)


def _plain(node: ast.expr) -> Json:
    match node:
        case ast.Constant(value=None | bool() | int() | float() | str() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case _:
            pass
    raise _impure(node)


def _impure(node: ast.expr) -> BadScript:
    return bad(
        node.lineno,
        "meta must be written out plainly, because it is read without running the script: "
        f"“{ast.unparse(node)[:60]}” is not a plain value. "
        "Use text, numbers, True, False, None, lists and dicts.",
    )


# Wrapping


def _wrap(text: str, module: ast.Module) -> str:
    lines = text.split("\n")
    inside = _lines_in_texts(module)
    shared = _shared_names(module, lines)
    body = "\n".join(line if number in inside else f" {line}" for number, line in enumerate(lines, 1))
    # A word that the script gives another meaning has its own until then, as it would outside of a function.
    words = (WORDS | {"asyncio", "json", "math", "re"}) & (shared | _bound_at_top(module)) - {"meta"}
    names = ",".join(f"{name}={name if name in words else None}" for name in sorted(shared | words))
    return f"async def {_BODY}({names}):\n{body}\n\n_finish(await {_BODY}())"


def _lines_in_texts(module: ast.Module) -> set[int]:
    """Lines that begin within a text, where a space more would change it."""
    return {
        number
        for node in ast.walk(module)
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and node.end_lineno
        for number in range(node.lineno + 1, node.end_lineno + 1)
    }


def _shared_names(module: ast.Module, lines: list[str]) -> set[str]:
    """What the script calls global is a variable of the coroutine around it: each such statement is rewritten
    in its line. Returned are the names that nothing in the body binds by itself."""
    found = [node for node in ast.walk(module) if isinstance(node, ast.Global)]
    top = {id(node) for statement in module.body for node in _same_scope(statement)}
    for node in sorted(found, key=lambda node: node.col_offset, reverse=True):
        # Columns are counted in bytes.
        line, start, word = lines[node.lineno - 1].encode(), node.col_offset, b"global"
        instead = b"nonlocal"
        if id(node) in top:
            word, instead = line[start : node.end_col_offset], b"pass"
        lines[node.lineno - 1] = (line[:start] + instead + line[start + len(word) :]).decode()
    return {name for node in found for name in node.names} - _bound_at_top(module)


def _bound_at_top(module: ast.Module) -> set[str]:
    body = [node for statement in module.body for node in _same_scope(statement)]
    return {name for node in body for name in _bound_by(node)}


def _bound_by(node: ast.AST) -> tuple[str, ...]:
    """The names that a piece of the script gives a meaning to."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            return (name,)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
            return (name,)
        case _:
            return ()


def _same_scope(statement: ast.AST) -> list[ast.AST]:
    """The statement and what is in it, without functions and classes within."""
    found = [statement]
    for node in found:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            found += ast.iter_child_nodes(node)
    return found


def _why_absent(node: ast.AST) -> list[str]:
    """Of modules that are imported: why the sandbox has nothing of the kind."""
    match node:
        case ast.Import(names=names):
            modules = [name.name for name in names]
        case ast.ImportFrom(module=str(module)):
            modules = [module]
        case _:
            return []
    found = {sentence: None for module in modules if (sentence := _ABSENT.get(module.split(".")[0]))}
    return [f"And {sentence}" for sentence in found]
