"""Expressions and templates of flows: Jinja without statements, in a sandbox that cannot change anything.
Imported by the evaluator process alone, because it evaluates untrusted text."""

import json
import math
from typing import Any, cast

import jinja2
from jinja2 import TemplateError, TemplateSyntaxError, nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from typing_extensions import override

MAX_CHARACTERS = 64 * 1024
MAX_RESULT = 1024 * 1024
# The only names; steps without a result are not in `results`.
NAMES = ("args", "results", "states", "run")


class ExpressionFault(ValueError):
    def __init__(self, sentence: str, line: int = 1) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.line = line


class _Sandbox(ImmutableSandboxedEnvironment):
    # The result of each can be as large as its operands.
    intercepted_binops = frozenset(("**", "*", "+", "%"))

    @override
    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**":
            raise SecurityError("powers are not available")
        if operator == "*" and _repeated(left, right) > MAX_RESULT:
            raise SecurityError("the text would be too large")
        return super().call_binop(context, operator, left, right)

    @override
    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Data and plain methods of strings: nothing with an underscore, none of our functions."""
        return not attr.startswith("_") and super().is_safe_attribute(obj, attr, value)

    @override
    def getattr(self, obj: Any, attribute: str) -> Any:
        """`results.items` is the result of the step `items`, not a method."""
        if isinstance(obj, dict) and attribute in obj:
            return cast(dict[str, Any], obj)[attribute]
        return super().getattr(obj, attribute)


def _repeated(left: Any, right: Any) -> int:
    """The length that a repeated string or list would have."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, str | list | tuple) and isinstance(other, int):
            return len(cast("str | list[Any]", one)) * other
    return 0


def _environment() -> _Sandbox:
    env = _Sandbox(undefined=jinja2.StrictUndefined, autoescape=False, keep_trailing_newline=True)
    env.globals.clear()
    for gone in ("pprint", "xmlattr", "random", "map", "attr"):
        env.filters.pop(gone, None)
    filters = cast(dict[str, Any], env.filters)
    filters["map"] = _map
    filters["tojson"] = filters["json"] = _as_json
    return env


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _map(values: Any, attribute: str) -> list[Any]:
    """`findings | map(attribute="file")`, of data alone."""
    return [value[attribute] for value in values]


_env = _environment()


def check_expression(text: str) -> None:
    """Raises ExpressionFault."""
    _names(_parse(f"{{{{ ({text}\n) }}}}", text), single=True)


def check_template(text: str) -> None:
    _names(_parse(text, text), single=False)


def evaluate(text: str, variables: dict[str, Any]) -> Any:
    """The value of an expression, as JSON."""
    check_expression(text)
    try:
        value = _env.compile_expression(text, undefined_to_none=False)(**variables)
        if isinstance(value, jinja2.Undefined):
            value._fail_with_undefined_error()  # pyright: ignore[reportPrivateUsage]
    except (TemplateError, SecurityError) as error:
        raise _told(error) from None
    except MemoryError:
        raise ExpressionFault("it needs too much memory") from None
    except Exception as error:  # noqa: BLE001 - whatever an operator or a filter raises is the text's fault
        raise ExpressionFault(f"{type(error).__name__}: {error}"[:1000]) from None
    return _json(value)


def render(text: str, variables: dict[str, Any]) -> str:
    check_template(text)
    try:
        found = _env.from_string(text).render(**variables)
    except (TemplateError, SecurityError) as error:
        raise _told(error) from None
    except MemoryError:
        raise ExpressionFault("it needs too much memory") from None
    except Exception as error:  # noqa: BLE001 - whatever an operator or a filter raises is the text's fault
        raise ExpressionFault(f"{type(error).__name__}: {error}"[:1000]) from None
    if len(found) > MAX_RESULT:
        raise ExpressionFault(f"the text is longer than {MAX_RESULT} characters")
    return found


def _parse(template: str, written: str) -> nodes.Template:
    if len(written) > MAX_CHARACTERS:
        raise ExpressionFault(f"it is longer than {MAX_CHARACTERS} characters")
    try:
        return _env.parse(template)
    except TemplateSyntaxError as error:
        raise ExpressionFault(f"it does not parse: {error.message}", error.lineno) from None
    except RecursionError:
        raise ExpressionFault("it is nested too deeply") from None


def _names(tree: nodes.Template, *, single: bool) -> None:
    body = tree.body
    if single and not (
        len(body) == 1
        and isinstance(body[0], nodes.Output)
        and len(body[0].nodes) == 1
        and not isinstance(body[0].nodes[0], nodes.TemplateData)
    ):
        raise ExpressionFault("it must be one expression, without {{ }}")
    waiting: list[nodes.Node] = list(body)
    while waiting:
        node = waiting.pop()
        _check(node)
        waiting += node.iter_child_nodes()


def _check(node: nodes.Node) -> None:
    if isinstance(node, nodes.Stmt) and not isinstance(node, nodes.Output):
        raise ExpressionFault("statements ({% %}) cannot be used, only expressions ({{ }})", node.lineno)
    match node:
        case nodes.Name(name=name) if name not in NAMES:
            raise ExpressionFault(f"there is no {name!r} here, only {', '.join(NAMES)}", node.lineno)
        case nodes.Getattr(attr=attr) if attr.startswith("_"):
            raise ExpressionFault(f"the attribute {attr!r} cannot be used", node.lineno)
        case nodes.Filter(name=name) if name not in _env.filters:
            raise ExpressionFault(f"there is no filter {name!r}", node.lineno)
        case nodes.Test(name=name) if name not in _env.tests:
            raise ExpressionFault(f"there is no test {name!r}", node.lineno)
        case nodes.Pow():
            raise ExpressionFault("powers (**) are not available", node.lineno)
        case _:
            pass


def _told(error: Exception) -> ExpressionFault:
    return ExpressionFault(str(error)[:1000])


def _json(value: Any) -> Any:
    """Generators that filters return become lists; anything that is not JSON is refused."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {str(key): _json(item) for key, item in cast(dict[Any, Any], value).items()}
        case list() | tuple():
            return [_json(item) for item in cast(list[Any], value)]
        case _ if hasattr(value, "__next__") or isinstance(value, set | frozenset):
            return [_json(item) for item in cast(list[Any], value)]
        case _:
            raise ExpressionFault(f"a {type(value).__name__} is no value that can be kept")
