"""The settings of a worker."""

from typing import Literal

from holdfast.core.debug_runs import DebugMode
from holdfast.core.shapes import Record
from holdfast.providers.backoff import RetryRule
from holdfast.tools.approval import ApprovalRules
from holdfast.tools.modes import Mode
from holdfast.worker.actions import TurnLimits


class WorkerSettings(Record, frozen=True, kw_only=True):
    max_chats: int = 100
    max_agents: int = 100
    max_per_user: int = 50
    lease_seconds: float = 15.0
    grace_seconds: float = 15.0
    poll_seconds: float = 1.0
    # How failed attempts at a model call are retried.
    retry: RetryRule = RetryRule()
    limits: TurnLimits = TurnLimits()
    rules: ApprovalRules = ApprovalRules()
    # The modes of the configuration, beside those that are built in.
    modes: dict[str, Mode] = {}  # noqa: RUF012
    # For a call in flight when the server dies: tell the model that its outcome is unknown, or ask a person.
    ask_when_uncertain: bool = False
    # The same for single tools, by name.
    uncertain_tools: dict[str, Literal["tell", "ask"]] = {}  # noqa: RUF012 - msgspec copies it
    # Timeout of calls in seconds, by the tool's name; otherwise the tool's own.
    tool_seconds: dict[str, float] = {}  # noqa: RUF012
    # The model for summaries; None: the chat's own.
    compaction_model: str | None = None
    compaction_seconds: float = 90.0
    # What it is asked for; None: the built-in text.
    compaction_prompt: str | None = None
    # The model for titles and summaries of turns; None: the first line, without a call.
    title_model: str | None = None
    # Whether the same model is also called for the summary after each turn.
    summaries_by_model: bool = True
    # Which chats have a debug record: none, those for which it is switched on, or all.
    debug: DebugMode = "allow"
    calls_at_once: int = 8
    client_tool_seconds: float = 300.0
    # How long a running chat may take to ask for the end of a sub-agent before a notice reports it.
    notice_seconds: float = 3.0
    # How long cancelled work may take to end before it is given up.
    cancel_seconds: float = 5.0
