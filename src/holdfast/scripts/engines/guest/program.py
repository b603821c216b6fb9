"""A script's text as one coroutine function, its lines where they were. Names that the script binds at its
top are global, as they are in any module: `global` and closures mean what they always mean. Uses the standard
library alone: the server checks with it what the interpreter will run."""

import ast
from collections.abc import Iterator
from typing import cast

BODY = "__workflow__"
FILE = "script"

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def wrapped(module: ast.Module) -> ast.Module:
    """Of a tree that is not used for anything else."""
    future = [node for node in module.body if _is_future(node)]
    body: list[ast.stmt] = [node for node in module.body if not _is_future(node)]
    names = sorted({name for node in body for name in _bound(node)})
    top = ast.parse(f"async def {BODY}():\n pass", FILE)
    function = cast(ast.AsyncFunctionDef, top.body[0])
    told: list[ast.stmt] = [ast.Global(names=names)] if names else []
    function.body = [*told, *(cast(ast.stmt, _Top().visit(node)) for node in body), ast.Pass()]
    top.body = [*future, function]
    return ast.fix_missing_locations(top)


class _Top(ast.NodeTransformer):
    """What stands at the top and may not stand in a function whose names are global."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)

    def visit_Global(self, node: ast.Global) -> ast.stmt:
        return ast.copy_location(ast.Pass(), node)

    def _leave(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _leave


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _bound(statement: ast.AST) -> Iterator[str]:
    """Names that a statement binds where it stands, without those of functions and classes within."""
    found = [statement]
    for node in found:
        yield from bound_by(node)
        if not isinstance(node, _SCOPES):
            found += ast.iter_child_nodes(node)


def bound_by(node: ast.AST) -> tuple[str, ...]:
    """The names that a piece of the script gives a meaning to."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return (name,)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
            return (name,)
        case ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
            return (name,)
        case ast.Import(names=names):
            return tuple(name.asname or name.name.split(".")[0] for name in names)
        case ast.ImportFrom(names=names):
            return tuple(name.asname or name.name for name in names)
        case ast.Global(names=named):
            return tuple(named)
        case _:
            return ()
