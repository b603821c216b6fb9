"""What a hook is given on its standard input, in our words or in those of Claude Code."""

from collections.abc import Mapping

from holdfast.core.hooks import EventName
from holdfast.core.ids import CallId, ChatId
from holdfast.core.shapes import Json, Record
from holdfast.tools.hooks.definitions import Dialect
from holdfast.tools.hooks.tool_names import AskedPart, asked_parts, fields_of, names_of

CLAUDE_EVENTS: Mapping[EventName, str] = {
    "pre_tool": "PreToolUse",
    "post_tool": "PostToolUse",
    "user_prompt": "UserPromptSubmit",
    "turn_end": "Stop",
    "agent_end": "SubagentStop",
    "needs_you": "Notification",
    "pre_compact": "PreCompact",
}
EVENT_OF: Mapping[str, EventName] = {theirs: ours for ours, theirs in CLAUDE_EVENTS.items()}


class Occasion(Record, frozen=True, kw_only=True):
    """What happened, and where. `key` is what its runs are recorded under."""

    event: EventName
    key: str
    chat_id: ChatId | None
    turn: int = 0
    cwd: str = ""
    mode: str = "build"
    call_id: CallId | None = None
    tool: str | None = None
    input: Json = None
    output: Json = None
    outcome: str | None = None
    # What else belongs to the event, by our names: prompt, last_message, source, agent, ...
    more: dict[str, Json] = {}  # noqa: RUF012 - msgspec copies it

    def subjects(self, dialect: Dialect) -> tuple[str, ...]:
        """The names that a matcher is compared with."""
        if self.tool is not None:
            # A call that nobody else has a name for goes by ours.
            return names_of(self.tool) if dialect == "claude" else (self.tool,)
        for name in ("source", "agent", "kind", "name"):
            value = self.more.get(name)
            if isinstance(value, str):
                return (_claude_word(value),) if dialect == "claude" else (value,)
        return ("",)


def parts_of(occasion: Occasion, dialect: Dialect) -> tuple[AskedPart, ...]:
    if occasion.tool is None:
        return (AskedPart(part=0, tool="", input={}),)
    if dialect == "claude":
        return asked_parts(occasion.tool, occasion.input, occasion.cwd)
    return (AskedPart(part=0, tool=occasion.tool, input=fields_of(occasion.input)),)


def given_input(occasion: Occasion, dialect: Dialect, part: AskedPart) -> dict[str, Json]:
    return _claude(occasion, part) if dialect == "claude" else _own(occasion, part)


def _own(occasion: Occasion, part: AskedPart) -> dict[str, Json]:
    given: dict[str, Json] = {
        "event": occasion.event,
        "chat_id": occasion.chat_id,
        "cwd": occasion.cwd,
        "turn": occasion.turn,
        **occasion.more,
    }
    if occasion.tool is not None:
        given |= {"tool": occasion.tool, "call_id": occasion.call_id, "input": part.input}
    if occasion.event == "post_tool":
        given |= {"output": occasion.output, "outcome": occasion.outcome}
    elif occasion.outcome is not None:
        given["outcome"] = occasion.outcome
    return given


def _claude(occasion: Occasion, part: AskedPart) -> dict[str, Json]:
    more = occasion.more
    given: dict[str, Json] = {
        "session_id": occasion.chat_id,
        # There is no such file: the chat is in a database.
        "transcript_path": "",
        "cwd": occasion.cwd,
        "permission_mode": "plan" if occasion.mode in ("plan", "ask") else "default",
        "hook_event_name": CLAUDE_EVENTS.get(occasion.event, occasion.event),
    }
    match occasion.event:
        case "pre_tool":
            given |= {"tool_name": part.tool, "tool_input": part.input, "tool_use_id": occasion.call_id}
        case "post_tool":
            given |= {"tool_name": part.tool, "tool_input": part.input, "tool_use_id": occasion.call_id}
            given["tool_response"] = occasion.output
        case "user_prompt":
            given["prompt"] = more.get("prompt", "")
        case "turn_end" | "agent_end":
            given["stop_hook_active"] = more.get("asked_before", False)
            given["last_assistant_message"] = more.get("last_message", "")
            if occasion.event == "agent_end":
                given |= {"agent_id": occasion.chat_id, "agent_type": more.get("agent", "")}
        case "needs_you":
            given |= {
                "message": more.get("message", ""),
                "notification_type": _claude_word(str(more.get("kind", ""))),
            }
        case "pre_compact":
            given |= {"trigger": _claude_word(str(more.get("source", ""))), "custom_instructions": ""}
        case "run_end":
            given |= more
    return given


def _claude_word(word: str) -> str:
    """Of what a matcher of theirs is compared with."""
    return {
        "threshold": "auto",
        "overflow": "auto",
        "approval": "permission_prompt",
        "question": "elicitation_dialog",
        "plan": "elicitation_dialog",
    }.get(word, word)
