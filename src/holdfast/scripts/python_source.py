"""Python, read with `ast`: `meta` is taken from the syntax tree, and what a script cannot have is refused
with a better message than the sandbox's own. The program is the text itself."""

import ast
import threading
import warnings
from contextlib import suppress

from holdfast.core.errors import BadScript
from holdfast.core.shapes import Json
from holdfast.scripts.engines.guest.modules import MODULES, NO_CHANCE, refusal
from holdfast.scripts.engines.guest.program import BODY, FILE, bound_by, wrapped
from holdfast.scripts.meta import Literally, bad
from holdfast.scripts.names import check_name

PARSES = 3
# What is done to warnings is done to those of the whole process: one at a time.
_QUIET = threading.Lock()
_NO_TEXT = "() is not available: a script runs only what is written in it."
# Never, whatever the script calls by this name.
_NAMES = {
    "eval": f"eval{_NO_TEXT}",
    "exec": f"exec{_NO_TEXT}",
    "open": "open() is not available: a script has no files. Let an agent read and write them.",
    "__import__": "__import__() is not available: write an import.",
    "__builtins__": "__builtins__ is not available.",
    BODY: f"the name {BODY} is taken.",
}
# What people expect and is not there. Only told when the script has no such name of its own.
_ABSENT = {
    "compile": f"compile{_NO_TEXT}",
    "input": "input() is not available: nobody sits in front of a script. Pass arguments.",
    "breakpoint": "breakpoint() is not available: nobody sits in front of a script. Use log().",
    **{
        name: f"{refusal(name)}." for name in ["time", "uuid", "secrets", "os", "sys", "subprocess", "socket"]
    },
    **{name: f"{refusal(name)}." for name in ["pathlib", "shutil", "requests", "ctypes", "threading"]},
    "random": f"{NO_CHANCE}.",
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
    bound = {name for node in ast.walk(module) for name in (*bound_by(node), *_parameter(node))}
    imported = {name.name for node in ast.walk(module) if isinstance(node, ast.Import) for name in node.names}
    for node in ast.walk(module):
        _refuse(node, bound, imported)
    meta = _meta(body[0] if body else None)
    _compile(module)
    return meta, text


def _parameter(node: ast.AST) -> tuple[str, ...]:
    return (node.arg,) if isinstance(node, ast.arg) else ()


def _compile(module: ast.Module) -> None:
    """Errors that only a compiler finds: a `break` outside of a loop, an `await` in a plain function."""
    try:
        with _QUIET, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(wrapped(module), FILE, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise bad(error.lineno or 1, f"this is not Python: {error.msg}.") from None
    except (RecursionError, MemoryError, ValueError):
        raise BadScript("The script is nested too deeply to be read.") from None


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


def _refuse(node: ast.AST, bound: set[str], imported: set[str]) -> None:
    line = getattr(node, "lineno", 1)
    match node:
        case ast.Name(id=name) | ast.arg(arg=name):
            if sentence := _NAMES.get(name) or (name not in bound and _ABSENT.get(name)):
                raise bad(line, sentence)
            check_name(name, line)
        case ast.Import(names=names):
            for name in names:
                _check_import(name.name, line)
        case ast.ImportFrom(module=module, names=names, level=level):
            _check_import("." if level else module or ".", line)
            if any(name.name == "*" for name in names):
                raise bad(line, "name what is imported: import * is not available.")
            if module == "random" and any(name.name != "Random" for name in names):
                raise bad(line, f"{NO_CHANCE}.")
        case ast.Attribute(value=ast.Name(id="random"), attr=name) if "random" in imported:
            if name != "Random":
                raise bad(line, f"{NO_CHANCE}.")
        case _:
            pass


def _check_import(name: str, line: int) -> None:
    if name not in MODULES:
        raise bad(line, f"{refusal(name)}.")


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
