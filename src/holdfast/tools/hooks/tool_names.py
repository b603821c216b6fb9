"""Our tools in the words of Claude Code, and back: its names, its field names, absolute paths. A call with
several edits is several of its calls, so that a hook that looks at one path sees them all."""

import os
import shlex
from collections.abc import Mapping
from typing import cast

from holdfast.core.shapes import Json, Record

# The first name is what hooks are told; matchers know all of them.
NAMES: Mapping[str, tuple[str, ...]] = {
    "execute": ("Bash",),
    "read_file": ("Read",),
    "write_file": ("Write",),
    "edit_files": ("Edit", "MultiEdit"),
    "glob": ("Glob",),
    "grep": ("Grep",),
    "list": ("LS",),
    "web_fetch": ("WebFetch",),
    "web_search": ("WebSearch",),
    "spawn_agent": ("Task", "Agent"),
    "todo": ("TodoWrite",),
    "ask_user": ("AskUserQuestion",),
    "propose_plan": ("ExitPlanMode",),
    "read_skill": ("Skill",),
}
# Their field for ours; a path is absolute there.
_FIELDS: Mapping[str, Mapping[str, str]] = {
    "execute": {"command": "command", "background": "run_in_background"},
    "read_file": {"path": "file_path", "start_line": "offset"},
    "write_file": {"path": "file_path", "content": "content"},
    "delete_file": {"path": "file_path"},
    "spawn_agent": {"prompt": "prompt", "label": "description", "agent": "subagent_type"},
}
_EDIT = {"path": "file_path", "old": "old_string", "new": "new_string", "all": "replace_all"}
_PATHS = frozenset(("file_path",))
_MILLI = 1000

Fields = dict[str, Json]


class AskedPart(Record, frozen=True, kw_only=True):
    """One piece of a call that a hook is asked about."""

    part: int
    tool: str
    input: Fields


def names_of(tool: str) -> tuple[str, ...]:
    return NAMES.get(tool, (tool,))


def _words(args: Json) -> str:
    """A program and its arguments as a person would type them."""
    words = cast(list[Json], args) if isinstance(args, list) else []
    return shlex.join([str(word) for word in words])


def asked_parts(tool: str, call_input: Json, cwd: str) -> tuple[AskedPart, ...]:
    fields = fields_of(call_input)
    name = names_of(tool)[0]
    edits = fields.get("edits")
    if tool == "edit_files" and isinstance(edits, list) and edits:
        each = cast(list[Json], edits)
        return tuple(
            AskedPart(part=number, tool=name, input=_renamed(fields_of(edit), _EDIT, cwd))
            for number, edit in enumerate(each)
        )
    return (AskedPart(part=0, tool=name, input=_their_input(tool, fields, cwd)),)


def _their_input(tool: str, fields: Fields, cwd: str) -> Fields:
    named = _renamed(fields, _FIELDS.get(tool, {}), cwd)
    args, seconds = fields.get("args"), fields.get("timeout_seconds")
    if tool == "execute":
        if args is not None and "command" not in named:
            # Without a shell; a hook that looks for a program finds it all the same.
            named["command"] = _words(args)
        if isinstance(seconds, int | float):
            named["timeout"] = round(seconds * _MILLI)
    start, end = fields.get("start_line"), fields.get("end_line")
    if tool == "read_file" and isinstance(end, int):
        named["limit"] = end - (start if isinstance(start, int) else 1) + 1
    return named


def changed_input(tool: str, call_input: Json, part: int, changed: Fields, cwd: str) -> Fields:
    """Our input with what a hook changed in this part of it."""
    fields = fields_of(call_input)
    if tool == "edit_files":
        edits = list(cast(list[Json], fields.get("edits") or []))
        if 0 <= part < len(edits):
            edits[part] = _merged(fields_of(edits[part]), changed, _EDIT, cwd)
        return {**fields, "edits": edits}
    merged = _merged(fields, changed, _FIELDS.get(tool, {}), cwd)
    if tool == "execute":
        if isinstance(timeout := changed.get("timeout"), int | float):
            merged["timeout_seconds"] = timeout / _MILLI
        # The command it was asked about stood for the words.
        if (args := fields.get("args")) is not None:
            same = changed.get("command") == _words(args)
            merged.pop("command" if same or "command" not in changed else "args", None)
    if tool == "read_file" and isinstance(limit := changed.get("limit"), int):
        start = merged.get("start_line")
        merged["end_line"] = (start if isinstance(start, int) else 1) + limit - 1
    return merged


def _renamed(fields: Fields, names: Mapping[str, str], cwd: str) -> Fields:
    found: Fields = {}
    for name, value in fields.items():
        theirs = names.get(name, name)
        if theirs in _PATHS and isinstance(value, str):
            value = os.path.normpath(os.path.join(cwd, value))
        found[theirs] = value
    return found


def _merged(fields: Fields, changed: Fields, names: Mapping[str, str], cwd: str) -> Fields:
    """A whole input that takes the place of the old one; what they have no name for stays."""
    ours = {theirs: name for name, theirs in names.items()}
    before = _renamed(fields, names, cwd)
    merged = dict(fields)
    for name, value in changed.items():
        if name in before and before[name] == value:
            continue
        mine = ours.get(name, name)
        if name in _PATHS and isinstance(value, str) and os.path.isabs(value):
            value = _inside(value, cwd)
        if mine in fields or name in ours or (not names and name not in ("timeout", "limit")):
            merged[mine] = value
    return merged


def _inside(path: str, cwd: str) -> str:
    """Our paths are relative to the workspace. One outside stays as it is, and the tool refuses it."""
    relative = os.path.relpath(path, cwd)
    return path if relative.startswith("..") else relative


def fields_of(value: Json) -> Fields:
    return dict(cast(Fields, value)) if isinstance(value, dict) else {}
