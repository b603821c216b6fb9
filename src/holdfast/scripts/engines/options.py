"""The options of `agent()`: their names, their aliases and their types. Pure, and the same for both
languages; runs inside the sandbox's process and uses only the standard library."""

from typing import cast

# What may stand for a name of ours: names of other programs' scripts, and the same in the other case.
ALIASES = {
    "agentType": "agent",
    "agent_type": "agent",
    "capabilities": "tools",
    "max_tool_iters": "max_steps",
    "maxToolIters": "max_steps",
    "maxSteps": "max_steps",
    "maxToolCalls": "max_tool_calls",
}
# For people to read: no reason to refuse a call.
SHOWN = ("label", "phase")
TEXTS = ("model", "effort", "agent")
COUNTS = {"max_steps": 1, "max_tool_calls": 0, "budget": 1}
NAMES = (*SHOWN, *TEXTS, "schema", "tools", *COUNTS, "timeout", "isolation")
MAX_TEXT = 500
MAX_TOOLS = 500
MAX_COUNT = 10**12
MAX_SECONDS = 7 * 24 * 3600


class BadOption(Exception):
    """An invalid option; the text says what it should be."""


def read_options(given: dict[str, object]) -> tuple[dict[str, object], list[str], list[str]]:
    """The options by our names; the unknown names; and what is ignored, as sentences. Null counts as not
    given."""
    read: dict[str, object] = {}
    unknown: list[str] = []
    ignored: list[str] = []
    for name, value in given.items():
        ours = ALIASES.get(name, name)
        if ours not in NAMES:
            unknown.append(name)
        elif value is None:
            continue
        elif _means_nothing(ours, value):
            ignored.append(f"{name} {_SHOULD[ours]}: it is ignored")
        else:
            if ours in read:
                raise BadOption(f"{name} and {ours} mean the same: give one of them")
            read[ours] = _check(ours, value)
    return read, unknown, ignored


# What other programs take no notice of, so that scripts have it.
_SHOULD = {
    "label": "must be text",
    "phase": "must be text",
    "schema": "must be a JSON Schema",
    "isolation": 'can only be "worktree"',
}


def _means_nothing(name: str, value: object) -> bool:
    if name in SHOWN:
        return not isinstance(value, str)
    if name == "isolation":
        return value in (False, 0, "", "none")
    return name == "schema" and value in (False, 0, "")


def _check(name: str, value: object) -> object:
    if name in SHOWN:
        return cast(str, value).strip()[:MAX_TEXT] or None
    if name in TEXTS:
        if not isinstance(value, str) or not value.strip() or len(value) > MAX_TEXT:
            raise BadOption(f"{name} must be text of 1 to {MAX_TEXT} characters")
        return value.strip()
    if name in COUNTS:
        return _count(name, value)
    if name == "timeout":
        return _seconds(name, value)
    if name == "isolation":
        if value != "worktree":
            raise BadOption('isolation must be "worktree"')
        return value
    if name == "tools":
        names = cast(list[object], value) if isinstance(value, list) else [None]
        if len(names) > MAX_TOOLS or not all(
            isinstance(item, str) and len(item) <= MAX_TEXT for item in names
        ):
            raise BadOption(f"tools must be a list of at most {MAX_TOOLS} names")
        return names
    if not isinstance(value, dict):
        raise BadOption("schema must be a JSON Schema: an object")
    return cast(dict[str, object], value)


def _count(name: str, value: object) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not COUNTS[name] <= value <= MAX_COUNT:
        raise BadOption(f"{name} must be a whole number from {COUNTS[name]} up")
    return value


def _seconds(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MAX_SECONDS:
        raise BadOption(f"{name} must be a number of seconds above 0")
    return float(value)
