"""Python, read with `ast`: `meta` is taken from the syntax tree, what the sandbox lacks is refused with a
better message than its own, and the rest becomes the body of one coroutine. The first line of the program is
ours, so its line numbers are those of the text, plus one (`LINES_BEFORE`)."""

import ast
import builtins
import threading
import warnings
from collections.abc import Iterator
from contextlib import suppress

from holdfast.core.errors import BadScript
from holdfast.core.shapes import Json
from holdfast.scripts.engines.script_calls import NO_CHANCE, NO_CLOCK, NO_SYSTEM
from holdfast.scripts.meta import Literally, bad
from holdfast.scripts.names import WORDS, check_name

LINES_BEFORE = 1
PARSES = 3
# What is done to warnings is done to those of the whole process: one at a time.
_QUIET = threading.Lock()
_BODY = "__workflow__"
# Ours, or the sandbox's own and brought along: an import of them only gives them a name.
_BROUGHT = ("asyncio", "json", "math", "re", "textwrap", "statistics", "string")
# What the sandbox has itself.
_IMPORTED = (
    "base64", "bisect", "collections", "copy", "dataclasses", "datetime", "decimal", "functools", "hashlib",
    "itertools", "typing", "__future__",
)  # fmt: skip
_THERE = f"a script can import {', '.join(sorted({*_BROUGHT, *_IMPORTED} - {'__future__'}))}."
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
    **dict.fromkeys(("time", "zoneinfo", "calendar"), f"{NO_CLOCK}."),
    **dict.fromkeys(("random", "uuid", "secrets"), f"{NO_CHANCE}."),
    **dict.fromkeys(("os", "sys", "subprocess", "socket", "pathlib", "requests", "ctypes"), f"{NO_SYSTEM}."),
}
_EXCEPTIONS = frozenset(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, Exception)
)
_STATEMENTS: dict[type[ast.AST], str] = {
    ast.Yield: "yield is not available: build a list.",
    ast.YieldFrom: "yield is not available: build a list.",
    ast.Delete: "del is not available: use pop(), or build what you want to keep.",
    ast.AsyncWith: "async with is not available.",
    ast.AsyncFor: "async for is not available: use parallel() or a plain loop with await.",
    ast.TryStar: "except* is not available.",
}


def read_python(text: str) -> tuple[Literally, str]:
    module = _parse(text)
    if (
        module.body
        and isinstance(module.body[0], ast.Expr)
        and isinstance(module.body[0].value, ast.Constant)
    ):
        return _read(text, module, module.body[1:])
    return _read(text, module, module.body)


def _read(text: str, module: ast.Module, body: list[ast.stmt]) -> tuple[Literally, str]:
    bound = {name for node in ast.walk(module) for name in _bound_by(node)}
    for node in ast.walk(module):
        _refuse(node, bound)
    return _meta(body[0] if body else None), _wrap(text, module)


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
    """CPython before 3.11.5 may lose count if another thread parses a program at the same time, and raises a
    SystemError; the next attempt succeeds."""
    for _ in range(PARSES - 1):
        with suppress(SystemError):
            return ast.parse(text, "script")
    return ast.parse(text, "script")


def _refuse(node: ast.AST, bound: set[str]) -> None:
    line = getattr(node, "lineno", 1)
    if sentence := _STATEMENTS.get(type(node)):
        raise bad(line, sentence)
    match node:
        case ast.Name(id=name) | ast.arg(arg=name):
            if sentence := _NAMES.get(name) or (name not in bound and _ABSENT.get(name)):
                raise bad(line, sentence)
            check_name(name, line)
        case ast.Import() | ast.ImportFrom():
            _check_import(node, line)
        case ast.Call(func=ast.Name(id=name), args=[_, _, *_]) if name in _EXCEPTIONS:
            raise bad(line, f"{name}() takes one text here: write f'...' with all of it.")
        case ast.ClassDef(bases=bases, keywords=keywords) if bases or keywords:
            raise bad(line, _base_class(bases))
        case ast.FunctionDef(decorator_list=[*marks]) if any(
            isinstance(mark, ast.Name) and mark.id in ("property", "classmethod", "staticmethod")
            for mark in marks
        ):
            raise bad(
                line, "properties, class methods and static methods are not available: write a function."
            )
        case _:
            pass


_MINUTES = {
    "enum": "Use plain texts or a dict in place of an Enum",
    "operator": "Write a lambda in place of an operator",
    "heapq": "Use sorted() in place of a heap",
    "contextlib": "Write try and finally",
    "abc": "There is no inheritance here",
    "types": "A dict will do",
    "logging": "Use log()",
    "pydantic": "Use a schema of agent()",
    "numpy": "Use math and statistics",
}


def _check_import(node: ast.Import | ast.ImportFrom, line: int) -> None:
    names = [node.module or "."] if isinstance(node, ast.ImportFrom) else [name.name for name in node.names]
    for name in names:
        top = name.split(".")[0]
        if top in _BROUGHT or top in _IMPORTED:
            if "." in name and name != "collections.abc":
                raise bad(line, f"{name} cannot be imported: {_THERE}")
            continue
        why = _ABSENT.get(top)
        instead = f"{_MINUTES[top]}. " if top in _MINUTES else f"And {why} " if why else ""
        raise bad(line, f"{top or 'a module of your own'} cannot be imported: {_THERE} {instead}".strip())
    if isinstance(node, ast.ImportFrom) and any(name.name == "*" for name in node.names):
        raise bad(line, "name what is imported: import * is not available.")


def _base_class(bases: list[ast.expr]) -> str:
    names = [base.id for base in bases if isinstance(base, ast.Name)]
    if any(name.endswith(("Error", "Exception")) for name in names):
        return (
            "exceptions of your own are not available: the sandbox has no inheritance. "
            "Raise ValueError or RuntimeError, and tell them apart by their text."
        )
    return "a class cannot have a base class: the sandbox has no inheritance."


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
    # The last one first, so that columns stay right. They are counted in bytes.
    for row, start, end, new in sorted(_edits(module), reverse=True):
        line = lines[row - 1].encode()
        lines[row - 1] = (line[:start] + new.encode() + line[end:]).decode()
    body = "\n".join(line if number in inside else f" {line}" for number, line in enumerate(lines, 1))
    # A word that the script gives another meaning has its own until then, as it would outside of a function.
    words = (WORDS | set(_BROUGHT)) & (shared | _bound_at_top(module)) - {"meta"}
    names = ",".join(f"{name}={name if name in words else None}" for name in sorted(shared | words))
    any_number = any(isinstance(node, ast.arguments) and node.vararg for node in ast.walk(module))
    last = f"_any_number[0] = {any_number}; _finish(await {_BODY}())"
    return f"async def {_BODY}({names}):\n{body}\n\n{last}"


# A piece of one line: which one, from where to where, and what stands there instead.
_Edit = tuple[int, int, int, str]
_TYPES = ("str", "int", "float", "list", "dict", "tuple", "set", "bytes")


def _edits(module: ast.Module) -> Iterator[_Edit]:
    for node in ast.walk(module):
        match node:
            case ast.Import() | ast.ImportFrom() if (new := _import_instead(node)) is not None:
                if node.lineno == node.end_lineno and node.end_col_offset is not None:
                    yield node.lineno, node.col_offset, node.end_col_offset, new
            case ast.Call(func=function, args=args, keywords=keywords):
                named = [word.value for word in keywords if word.arg == "key"]
                mapped = (
                    args[:1] if isinstance(function, ast.Name) and function.id in ("map", "filter") else []
                )
                yield from (edit for value in (*named, *mapped) if (edit := _as_function(value)) is not None)
                yield from _told_by_text(node)
            case _:
                pass


def _told_by_text(call: ast.Call) -> Iterator[_Edit]:
    """`ValueError(found)`: the sandbox's exceptions take one text."""
    if isinstance(call.func, ast.Name) and call.func.id in _EXCEPTIONS and len(call.args) == 1:
        (told,) = call.args
        plain = isinstance(told, ast.JoinedStr | ast.Starred)
        if not plain and not (isinstance(told, ast.Constant) and isinstance(told.value, str)):
            assert told.end_lineno is not None
            assert told.end_col_offset is not None
            yield told.lineno, told.col_offset, told.col_offset, "str("
            yield told.end_lineno, told.end_col_offset, told.end_col_offset, ")"


def _import_instead(node: ast.Import | ast.ImportFrom) -> str | None:
    """Of modules that are there already; None: the sandbox imports it itself."""
    if isinstance(node, ast.ImportFrom):
        if node.module == "__future__":
            return "pass"
        if node.module not in _BROUGHT:
            return None
        return ";".join(f"{name.asname or name.name}={node.module}.{name.name}" for name in node.names)
    ours = [name for name in node.names if name.name in _BROUGHT]
    others = [name for name in node.names if name.name not in _BROUGHT]
    if not ours:
        return None
    pieces = [f"{name.asname}={name.name}" for name in ours if name.asname]
    if others:
        pieces.append("import " + ",".join(f"{n.name} as {n.asname}" if n.asname else n.name for n in others))
    return ";".join(pieces) or "pass"


def _as_function(value: ast.expr) -> _Edit | None:
    """`d.get` and `str.lower` as what they mean: the sandbox has methods only where they are called."""
    if not isinstance(value, ast.Attribute) or value.lineno != value.end_lineno:
        return None
    assert value.end_col_offset is not None
    if isinstance(value.value, ast.Name) and value.value.id in _TYPES:
        new = f"(lambda _one: _one.{value.attr}())"
    else:
        new = f"(lambda _one: {ast.unparse(value)}(_one))"
    return value.lineno, value.col_offset, value.end_col_offset, new


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
        case ast.Import(names=names):
            return tuple(
                name.asname or name.name.split(".")[0]
                for name in names
                if name.asname or name.name not in _BROUGHT
            )
        case ast.ImportFrom(names=names):
            return tuple(name.asname or name.name for name in names)
        case _:
            return ()


def _same_scope(statement: ast.AST) -> list[ast.AST]:
    """The statement and what is in it, without functions and classes within."""
    found = [statement]
    for node in found:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            found += ast.iter_child_nodes(node)
    return found
