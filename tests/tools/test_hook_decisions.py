"""The same output of a hook script gives the decision that is documented for it, and our tools go by the
names that such scripts know."""

from typing import Any

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.core.hooks import EventName, HookVerdict
from holdfast.core.secret import Secret
from holdfast.tools.hooks.decisions import HookEnd, outcome_of, verdict_of
from holdfast.tools.hooks.definitions import Hook, check_hook, matches
from holdfast.tools.hooks.tool_names import asked_parts, changed_input, names_of

NO_REASON = "A hook objected and gave no reason."


def of_tool(**fields: Any) -> str:
    import json

    return json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}})


# event, exit code, output, errors: the verdict
CASES: list[tuple[EventName, int, str, str, HookVerdict]] = [
    ("pre_tool", 0, "", "", HookVerdict()),
    ("pre_tool", 0, "just some text", "", HookVerdict()),
    ("pre_tool", 2, '{"decision": "approve"}', "no", HookVerdict(ruling="deny", reason="no")),
    ("pre_tool", 2, "", "", HookVerdict(ruling="deny", reason=NO_REASON)),
    ("pre_tool", 0, of_tool(permissionDecision="allow"), "", HookVerdict(ruling="allow")),
    (
        "pre_tool",
        0,
        of_tool(permissionDecision="deny", permissionDecisionReason="why"),
        "",
        HookVerdict(ruling="deny", reason="why"),
    ),
    (
        "pre_tool",
        0,
        of_tool(permissionDecision="ask", permissionDecisionReason="look"),
        "",
        HookVerdict(ruling="ask", reason="look"),
    ),
    (
        "pre_tool",
        0,
        of_tool(permissionDecision="allow", updatedInput={"command": "ls"}),
        "",
        HookVerdict(ruling="allow", input={"command": "ls"}),
    ),
    ("pre_tool", 0, of_tool(additionalContext="note"), "", HookVerdict(context="note")),
    ("pre_tool", 0, of_tool(permissionDecision="perhaps"), "", HookVerdict()),
    (
        "pre_tool",
        0,
        '{"decision": "approve", "reason": "fine"}',
        "",
        HookVerdict(ruling="allow", reason="fine"),
    ),
    ("pre_tool", 0, '{"decision": "block", "reason": "no"}', "", HookVerdict(ruling="deny", reason="no")),
    (
        "pre_tool",
        0,
        '{"decision": "approve", "hookSpecificOutput": {"permissionDecision": "deny"}}',
        "",
        HookVerdict(ruling="deny", reason=NO_REASON),
    ),
    (
        "pre_tool",
        0,
        '{"continue": false, "stopReason": "stop here"}',
        "",
        HookVerdict(ruling="deny", reason="stop here", stop=True),
    ),
    ("pre_tool", 0, '{"systemMessage": "look out"}', "", HookVerdict(message="look out")),
    ("pre_tool", 0, '{"decision": "block"', "", HookVerdict()),
    ("pre_tool", 0, "[1, 2]", "", HookVerdict()),
    ("pre_tool", 1, "", "a bug\nat line 2", HookVerdict(failure="It ended with exit code 1: a bug.")),
    ("pre_tool", 137, "", "", HookVerdict(failure="It ended with exit code 137.")),
    ("post_tool", 2, "", "the linter says", HookVerdict(context="the linter says")),
    ("post_tool", 0, '{"decision": "block", "reason": "fix it"}', "", HookVerdict(context="fix it")),
    ("post_tool", 0, '{"hookSpecificOutput": {"additionalContext": "n"}}', "", HookVerdict(context="n")),
    ("post_tool", 0, '{"continue": false}', "", HookVerdict(reason="A hook ended the turn.", stop=True)),
    ("post_tool", 0, "plain", "", HookVerdict()),
    ("user_prompt", 0, "It is Tuesday.", "", HookVerdict(context="It is Tuesday.")),
    ("user_prompt", 0, '{"hookSpecificOutput": {"additionalContext": "n"}}', "", HookVerdict(context="n")),
    ("user_prompt", 2, "ignored", "no", HookVerdict(ruling="deny", reason="no")),
    ("user_prompt", 0, '{"decision": "block", "reason": "r"}', "", HookVerdict(ruling="deny", reason="r")),
    ("user_prompt", 0, '{"decision": "approve"}', "", HookVerdict()),
    ("turn_end", 2, "", "go on", HookVerdict(ruling="deny", reason="go on")),
    (
        "turn_end",
        0,
        '{"decision": "block", "reason": "go on"}',
        "",
        HookVerdict(ruling="deny", reason="go on"),
    ),
    (
        "turn_end",
        0,
        '{"continue": false, "decision": "block"}',
        "",
        HookVerdict(reason="A hook ended the turn.", stop=True),
    ),
    ("agent_end", 2, "", "go on", HookVerdict(ruling="deny", reason="go on")),
    ("needs_you", 2, "", "seen", HookVerdict(message="seen")),
    ("pre_compact", 2, "", "rather not", HookVerdict(message="rather not")),
]


@pytest.mark.parametrize("event, code, output, errors, verdict", CASES)
def test_a_script_gives_the_documented_decision(
    event: EventName, code: int, output: str, errors: str, verdict: HookVerdict
) -> None:
    assert verdict_of(event, HookEnd(exit_code=code, output=output, errors=errors)) == verdict


def test_one_that_must_pass_objects_when_it_fails_and_only_where_objecting_means_something() -> None:
    end = HookEnd(trouble="It did not end within 1 s.", timed_out=True)
    strict = verdict_of("pre_tool", end, must_pass=True)
    assert strict.ruling == "deny"
    assert outcome_of(strict, timed_out=True) == "timed_out"
    assert verdict_of("pre_tool", end).ruling == "none"
    assert verdict_of("post_tool", end, must_pass=True).ruling == "none"


@pytest.mark.parametrize(
    "matcher, name, fits",
    [
        ("", "Bash", True),
        ("*", "Bash", True),
        ("Bash", "Bash", True),
        ("Bash", "BashOutput", False),
        ("bash", "Bash", False),
        ("Edit|Write", "Write", True),
        ("Edit, Write", "Write", True),
        ("Notebook.*", "NotebookEdit", True),
        ("mcp__.*__write.*", "mcp__files__write_file", True),
        ("mcp__files", "mcp__files__write_file", False),
        ("^Ba.h$", "Bash", True),
    ],
)
def test_matchers(matcher: str, name: str, fits: bool) -> None:
    assert matches(matcher, (name,)) is fits


def test_an_edit_is_told_as_the_tool_by_either_of_its_names() -> None:
    assert matches("MultiEdit", names_of("edit_files"))
    assert matches("Edit", names_of("edit_files"))
    assert names_of("mcp__x__y") == ("mcp__x__y",)


def test_a_call_with_several_edits_is_asked_about_edit_by_edit() -> None:
    """A hook that looks at one path would otherwise not see the others."""
    edits = [
        {"path": "a.py", "old": "1", "new": "2"},
        {"path": "../b.py", "old": "3", "new": "4", "all": True},
    ]
    parts = asked_parts("edit_files", {"edits": edits}, "/w")
    assert [part.input for part in parts] == [
        {"file_path": "/w/a.py", "old_string": "1", "new_string": "2"},
        {"file_path": "/b.py", "old_string": "3", "new_string": "4", "replace_all": True},
    ]
    changed = changed_input("edit_files", {"edits": edits}, 1, {**parts[1].input, "new_string": "5"}, "/w")
    assert changed == {"edits": [edits[0], {**edits[1], "new": "5"}]}


@pytest.mark.parametrize(
    "tool, ours, theirs, changed, then",
    [
        (
            "execute",
            {"command": "rm -r x", "timeout_seconds": 5},
            {"command": "rm -r x", "timeout_seconds": 5, "timeout": 5000},
            {"command": "ls", "timeout": 1000},
            {"command": "ls", "timeout_seconds": 1.0},
        ),
        (
            "execute",
            {"args": ["rm", "a b"]},
            {"args": ["rm", "a b"], "command": "rm 'a b'"},
            {"command": "ls"},
            {"command": "ls"},
        ),
        (
            "write_file",
            {"path": "a", "content": "x"},
            {"file_path": "/w/a", "content": "x"},
            {"file_path": "/w/b", "content": "x"},
            {"path": "b", "content": "x"},
        ),
        (
            "read_file",
            {"path": "a", "start_line": 3, "end_line": 5},
            {"file_path": "/w/a", "offset": 3, "end_line": 5, "limit": 3},
            {"offset": 1},
            {"path": "a", "start_line": 1, "end_line": 5},
        ),
        (
            "spawn_agent",
            {"prompt": "p", "label": "l"},
            {"prompt": "p", "description": "l"},
            {"prompt": "q"},
            {"prompt": "q", "label": "l"},
        ),
        ("mcp__a__b", {"x": 1}, {"x": 1}, {"x": 2}, {"x": 2}),
    ],
)
def test_inputs_in_their_words_and_back(tool: str, ours: Any, theirs: Any, changed: Any, then: Any) -> None:
    (part,) = asked_parts(tool, ours, "/w")
    assert part.input == theirs
    assert changed_input(tool, ours, 0, changed, "/w") == then


KEY = Secret("whsec_" + "QUFB" * 8)


@pytest.mark.parametrize(
    "fields, field",
    [
        ({"event": "pre_tool"}, "command"),
        ({"event": "pre_tool", "command": "x", "url": "https://example.com"}, "command"),
        ({"event": "pre_tool", "command": "x", "matcher": "("}, "matcher"),
        ({"event": "turn_end", "command": "x", "matcher": "y"}, "matcher"),
        ({"event": "needs_you", "command": "x", "on_failure": "block"}, "on_failure"),
        (
            {"event": "pre_tool", "url": "https://example.com", "secret": KEY, "on_failure": "block"},
            "on_failure",
        ),
        ({"event": "pre_tool", "url": "https://example.com"}, "secret"),
        ({"event": "pre_tool", "url": "https://example.com", "secret": Secret("c2hvcnQ=")}, "secret"),
        ({"event": "pre_tool", "url": "http://127.0.0.1/x", "secret": KEY}, "url"),
        ({"event": "pre_tool", "url": "http://metadata.google.internal/", "secret": KEY}, "url"),
        ({"event": "pre_tool", "url": "file:///etc/passwd", "secret": KEY, "private": True}, "url"),
    ],
)
def test_what_a_hook_cannot_be(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_hook(Hook(source="config", path="test", **fields))
    assert refused.value.field == field


def test_a_name_tells_no_argument() -> None:
    hook = Hook(source="config", event="pre_tool", path="t", command="KEY=abc /opt/guard.sh --token=abc")
    assert hook.name == "guard.sh"
