"""Reads and checks the text of a flow: every field by its kind, then the graph as a whole. An error is one
sentence with line and column. Runs in the evaluator process, because the text is untrusted."""

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, get_args

from holdfast.core.errors import BadFlow, InvalidInput
from holdfast.core.shapes import Json
from holdfast.flows import durations
from holdfast.flows.definition import (
    AGENT_SECONDS,
    BACKOFF_SECONDS,
    KINDS,
    AgentStep,
    ApprovalStep,
    Case,
    CodeStep,
    Flow,
    FlowBatch,
    Step,
    SwitchStep,
    TriggerRule,
    WaitStep,
    WorkflowStep,
)
from holdfast.flows.expressions import ExpressionFault, check_expression, check_template
from holdfast.flows.graph_checks import check_graph, close_name
from holdfast.flows.placed_values import MAX_BYTES, Placed, read_placed
from holdfast.tools.schema import check_answer_schema, check_schema

MAX_STEPS = 1000
MAX_TEXT = 64 * 1024
MAX_RETRIES = 20
MAX_BATCH = 1000
MAX_BUDGET = 10**12

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")
_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. -]{0,99}")
_RULES: tuple[str, ...] = get_args(TriggerRule)

_FLOW = ("name", "description", "when_to_use", "args", "budget", "batches", "steps", "report", "output")
_COMMON = (
    "id",
    "kind",
    "title",
    "deps",
    "trigger_rule",
    "when",
    "timeout",
    "retries",
    "backoff",
    "batch",
    "on_failure",
)
_OF_KIND: dict[str, tuple[str, ...]] = {
    "agent": ("prompt", "agent", "model", "effort", "tools", "schema", "isolation", "budget"),
    "code": ("python", "javascript"),
    "approval": ("text", "form", "approvers", "on_timeout", "on_deny"),
    "switch": ("cases", "default"),
    "workflow": ("name", "args", "budget"),
    "wait": ("for", "until"),
}

T = TypeVar("T")


def read_flow(source: str) -> Flow:
    """Raises BadFlow."""
    size = len(source.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise BadFlow(f"the flow has {size // 1024} KiB; at most {MAX_BYTES // 1024} KiB are read.", 1, 1)
    root = read_placed(source)
    if not isinstance(root.value, dict):
        raise root.bad("a flow is a mapping with a name, a description and steps.")
    _known(root, _FLOW, "a flow")
    batches = _optional(root, "batches", _batches) or {}
    listed = _required(root, "steps", _steps)
    flow = Flow(
        name=_required(root, "name", _flow_name),
        description=_required(root, "description", _text),
        when_to_use=_optional(root, "when_to_use", _text),
        args=_optional(root, "args", _schema),
        budget=_optional(root, "budget", _whole(1, MAX_BUDGET)),
        batches=batches,
        steps=tuple(_step(item) for item in listed),
        report=_optional(root, "report", _template),
        output=_optional(root, "output", _file_name),
    )
    if flow.output is not None and flow.report is None:
        raise root.members["output"].bad(
            "output is the name of the file that has the report: write a report too."
        )
    check_graph(flow, listed)
    return flow


# --- steps ---


def _steps(item: Placed) -> tuple[Placed, ...]:
    if not isinstance(item.value, list) or not item.items:
        raise item.bad("steps must be a list with at least one step.")
    if len(item.items) > MAX_STEPS:
        raise item.items[MAX_STEPS].bad(
            f"a flow has at most {MAX_STEPS} steps; this one has {len(item.items)}."
        )
    return item.items


def _step(item: Placed) -> Step:
    if not isinstance(item.value, dict):
        raise item.bad("a step is a mapping with an id and a kind.")
    kind = _required(item, "kind", _one_of(KINDS), "a step")
    _known(item, (*_COMMON, *_OF_KIND[kind]), f"a step of kind {kind}")
    common: dict[str, Any] = {
        "id": _required(item, "id", _step_id, "a step"),
        "title": _optional(item, "title", _text),
        "deps": _optional(item, "deps", _ids) or (),
        "trigger_rule": _optional(item, "trigger_rule", _one_of(_RULES)) or "all_success",
        "when": _optional(item, "when", _expression),
        "timeout_seconds": _optional(item, "timeout", _duration),
        "retries": _optional(item, "retries", _whole(0, MAX_RETRIES)) or 0,
        "backoff_seconds": _or(_optional(item, "backoff", _duration), BACKOFF_SECONDS),
        "batch": _optional(item, "batch", _plain_name),
        "on_failure": _optional(item, "on_failure", _one_of(("fail_run", "continue"))) or "fail_run",
        "line": item.line,
    }
    return _READERS[kind](item, common)


def _agent(item: Placed, common: dict[str, Any]) -> AgentStep:
    common["timeout_seconds"] = _or(common["timeout_seconds"], AGENT_SECONDS)
    return AgentStep(
        **common,
        prompt=_required(item, "prompt", _template, "an agent"),
        agent=_optional(item, "agent", _short),
        model=_optional(item, "model", _short),
        effort=_optional(item, "effort", _short),
        tools=_optional(item, "tools", _names),
        schema=_optional(item, "schema", _answer_schema),
        isolation=_optional(item, "isolation", _one_of(("worktree",))),  # pyright: ignore[reportArgumentType]
        budget=_optional(item, "budget", _whole(1, MAX_BUDGET)),
    )


def _code(item: Placed, common: dict[str, Any]) -> CodeStep:
    written = [name for name in ("python", "javascript") if name in item.members]
    if len(written) != 1:
        raise item.bad("a step of kind code has its source as python or as javascript: one of both.")
    source = item.members[written[0]]
    if not isinstance(source.value, str) or not source.value.strip():
        raise source.bad(f"{written[0]} must be text.")
    language: Any = written[0]
    return CodeStep(
        **common,
        language=language,
        source=source.value,
        source_line=source.line + source.is_block,
    )


def _approval(item: Placed, common: dict[str, Any]) -> ApprovalStep:
    if common["retries"]:
        raise item.members["retries"].bad("a person is asked once: an approval has no retries.")
    on_timeout: Any = _optional(item, "on_timeout", _one_of(("deny", "approve", "fail"))) or "deny"
    on_deny: Any = _optional(item, "on_deny", _one_of(("fail", "skip"))) or "fail"
    return ApprovalStep(
        **common,
        text=_required(item, "text", _template, "an approval"),
        form=_optional(item, "form", _schema),
        approvers=_optional(item, "approvers", _names),
        on_timeout=on_timeout,
        on_deny=on_deny,
    )


def _switch(item: Placed, common: dict[str, Any]) -> SwitchStep:
    for name in ("timeout", "retries", "batch"):
        if name in item.members:
            raise item.members[name].bad(f"a switch is decided at once: it has no {name}.")
    cases = _optional(item, "cases", _cases) or ()
    labels = [case.label for case in cases]
    for place, label in enumerate(labels):
        if label in labels[:place]:
            raise item.members["cases"].items[place].bad(f"there is a case {label!r} already.")
    return SwitchStep(**common, cases=cases, default=_optional(item, "default", _ids) or ())


def _cases(item: Placed) -> tuple[Case, ...]:
    if not isinstance(item.value, list):
        raise item.bad("cases must be a list of mappings with a label, a condition (when) and steps.")
    return tuple(_case(one) for one in item.items)


def _case(item: Placed) -> Case:
    if not isinstance(item.value, dict):
        raise item.bad("a case is a mapping with a label, a condition (when) and steps.")
    _known(item, ("label", "when", "steps"), "a case")
    return Case(
        label=_required(item, "label", _short, "a case"),
        when=_required(item, "when", _expression, "a case"),
        steps=_required(item, "steps", _ids, "a case"),
    )


def _workflow(item: Placed, common: dict[str, Any]) -> WorkflowStep:
    args = item.members.get("args")
    if args is not None:
        _check_texts(args)
    return WorkflowStep(
        **common,
        name=_required(item, "name", _short, "a workflow"),
        args=None if args is None else args.value,
        budget=_optional(item, "budget", _whole(1, MAX_BUDGET)),
    )


def _check_texts(item: Placed) -> None:
    for inner in (*item.items, *item.members.values()):
        _check_texts(inner)
    if isinstance(item.value, str):
        _template(item)


def _wait(item: Placed, common: dict[str, Any]) -> WaitStep:
    if ("for" in item.members) == ("until" in item.members):
        raise item.bad("a wait has a duration (for), or a time (until): one of both.")
    return WaitStep(
        **common,
        duration=_optional(item, "for", _wait_text(durations.seconds_of)),
        until=_optional(item, "until", _wait_text(durations.moment_of)),
    )


def _wait_text(check: Callable[[object], object]) -> Callable[[Placed], str]:
    def read(item: Placed) -> str:
        value = item.value
        if isinstance(value, str) and "{{" in value:
            return _template(item)
        try:
            check(value)
        except ValueError as error:
            raise item.bad(f"{error}.") from None
        return str(value)

    return read


_READERS: dict[str, Callable[[Placed, dict[str, Any]], Step]] = {
    "agent": _agent,
    "code": _code,
    "approval": _approval,
    "switch": _switch,
    "workflow": _workflow,
    "wait": _wait,
}


def _batches(item: Placed) -> dict[str, FlowBatch]:
    if not isinstance(item.value, dict):
        raise item.bad("batches must be a mapping from names to settings like {max: 2}.")
    return {_checked_id(name, inner): _batch(inner) for name, inner in item.members.items()}


def _batch(item: Placed) -> FlowBatch:
    if not isinstance(item.value, dict):
        raise item.bad("a batch is a mapping like {max: 2, timeout: 20m}.")
    _known(item, ("max", "timeout", "join"), "a batch")
    join: Any = _optional(item, "join", _one_of(_RULES))
    return FlowBatch(
        max=_optional(item, "max", _whole(1, MAX_BATCH)) or 1,
        timeout_seconds=_optional(item, "timeout", _duration),
        join=join,
    )


# --- fields ---


def _required(item: Placed, name: str, read: Callable[[Placed], T], what: str = "a flow") -> T:
    found = item.members.get(name)
    if found is None or found.value is None:
        raise item.bad(
            f"{what} needs {'an' if name[0] in 'aeiou' else 'a'} {name}."
            if name != "steps"
            else f"{what} needs steps."
        )
    return read(found)


def _optional(item: Placed, name: str, read: Callable[[Placed], T]) -> T | None:
    found = item.members.get(name)
    return None if found is None or found.value is None else read(found)


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _known(item: Placed, names: Iterable[str], what: str) -> None:
    known = tuple(names)
    for name, found in item.members.items():
        if name not in known:
            raise found.bad(f"{name[:60]!r} is not a field of {what}.{close_name(name, known)}")


def _text(item: Placed) -> str:
    if not isinstance(item.value, str) or not item.value.strip():
        raise item.bad("this must be text that is not empty.")
    if len(item.value) > MAX_TEXT:
        raise item.bad(f"the text is longer than {MAX_TEXT} characters.")
    return item.value


def _short(item: Placed) -> str:
    text = _text(item)
    if len(text) > 200 or not text.isprintable():
        raise item.bad("this must be one line of at most 200 characters.")
    return text


def _flow_name(item: Placed) -> str:
    if not isinstance(item.value, str) or not _NAME.fullmatch(item.value):
        raise item.bad("a name has small letters, digits, - and _, at most 80 of them, and nothing else.")
    return item.value


def _file_name(item: Placed) -> str:
    if not isinstance(item.value, str) or not _FILE.fullmatch(item.value) or ".." in item.value:
        raise item.bad("output is the name of a file like review.md, without a path.")
    return item.value


def _step_id(item: Placed) -> str:
    return _checked_id(item.value, item)


def _checked_id(value: Json, item: Placed) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise item.bad(
            "an id has letters, digits and _, begins with a letter, and has at most 64 characters: "
            "it is used in expressions like results.merge."
        )
    return value


def _plain_name(item: Placed) -> str:
    return _checked_id(item.value, item)


def _ids(item: Placed) -> tuple[str, ...]:
    found = item.one_or_more
    if item.members or any(not isinstance(one.value, str) for one in found):
        raise item.bad("this must be a list of step ids.")
    return tuple(str(one.value) for one in found)


def _names(item: Placed) -> tuple[str, ...]:
    if not isinstance(item.value, list):
        raise item.bad("this must be a list of names.")
    return tuple(_short(one) for one in item.items)


def _whole(least: int, most: int) -> Callable[[Placed], int]:
    def read(item: Placed) -> int:
        if isinstance(item.value, bool) or not isinstance(item.value, int) or not least <= item.value <= most:
            raise item.bad(f"this must be a whole number from {least} to {most}.")
        return item.value

    return read


def _one_of(words: tuple[str, ...]) -> Callable[[Placed], str]:
    def read(item: Placed) -> str:
        if item.value not in words:
            raise item.bad(f"this must be one of {', '.join(words)}.{close_name(str(item.value), words)}")
        return str(item.value)

    return read


def _duration(item: Placed) -> float:
    try:
        return durations.seconds_of(item.value)
    except ValueError as error:
        raise item.bad(f"{error}.") from None


def _schema(item: Placed) -> dict[str, Json]:
    try:
        return check_schema(item.value)
    except InvalidInput as error:
        raise item.bad(f"this must be a JSON Schema: {error.text}") from None


def _answer_schema(item: Placed) -> dict[str, Json]:
    try:
        return check_answer_schema(item.value)
    except InvalidInput as error:
        raise item.bad(f"this must be a JSON Schema: {error.text}") from None


def _expression(item: Placed) -> str:
    """A condition; `true` and `false` may be written as such."""
    if isinstance(item.value, bool):
        return str(item.value).lower()
    text = _text(item)
    try:
        check_expression(text)
    except ExpressionFault as error:
        raise item.bad(f"the expression {text[:80]!r} cannot be used: {error.sentence}.") from None
    return text


def _template(item: Placed) -> str:
    text = _text(item)
    try:
        check_template(text)
    except ExpressionFault as error:
        line = item.line + item.is_block + error.line - 1
        column = item.column if line == item.line else None
        raise BadFlow(f"the template cannot be used: {error.sentence}.", line, column or 1) from None
    return text
