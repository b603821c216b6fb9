"""The contract of a tool. A tool declares what it does to the world (`effect`), and that decides what happens
after a crash: a read is repeated, an idempotent call is repeated with the same key, an unsafe one never
automatically."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, cast

import msgspec

from holdfast.chats.commands import CallFence, DeliveryKey
from holdfast.core.calls import ActionKind, Effect, Reach, Scope, Trait
from holdfast.core.ids import CallId, ChatId, UserId, WorkspaceId
from holdfast.core.parts import Outcome
from holdfast.core.shapes import Json, Record
from holdfast.tools.choice import Policy

Planning = Literal["run", "read_only", "deny"]


class Input(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base class of every tool's input: the schema that a model sees is generated from it."""


class ToolContext(Record, frozen=True, kw_only=True):
    """Where a call runs. `key` is the same for every run of the same call: an idempotent tool repeats with
    it."""

    chat_id: ChatId
    owner_id: UserId
    workspace_id: WorkspaceId | None
    call_id: CallId
    run: int
    # The lease of the chat under which it runs; None: none, as in a trial without a turn.
    lease_number: int | None = None
    # Called by a thread directly before an effect that no database can refuse, such as writing a file. False:
    # another server may own the chat by now, or the call was given up. It may block for a moment.
    still_ours: Callable[[], bool] = lambda: True
    # The configured timeout of the call; None: the tool's own.
    seconds: float | None = None
    # The person who approved this call, or whose own rule did; None: a rule of the server allowed it.
    approved_by: UserId | None = None
    # The scope of that approval.
    approved_for: Scope = "once"
    # Whether the mode of the chat lets programs see the workspace read-only alone.
    read_only: bool = False
    # The call's span, for whoever it asks (W3C traceparent); None: nobody wants to know.
    trace_parent: str | None = None

    @property
    def key(self) -> str:
        return f"{self.chat_id}:{self.call_id}"

    @property
    def fence(self) -> CallFence | None:
        """The fence for everything that is written on behalf of this call, in the same transaction."""
        if self.lease_number is None:
            return None
        return CallFence(
            chat_id=self.chat_id, lease_number=self.lease_number, call_id=self.call_id, run=self.run
        )


class ToolAnswer(Record, frozen=True, kw_only=True):
    output: Json
    outcome: Outcome = "succeeded"
    diff: str | None = None
    # The ends of children that this answer delivers.
    consumes: tuple[DeliveryKey, ...] = ()


class ToolError(Exception):
    """The tool could not do it; the text tells the model what to do next."""


class ToolFunction(Protocol):
    """A coroutine function runs on the loop; a plain function may block and runs in a thread."""

    def __call__(self, context: ToolContext, call_input: Any, /) -> Awaitable[ToolAnswer] | ToolAnswer: ...


@dataclass(frozen=True, kw_only=True)
class Tool:
    name: str
    description: str
    input: type[Input]
    # None: somebody else answers (see `asks`).
    run: ToolFunction | None = None
    effect: Effect = "unsafe"
    # The effect of one call, by its input, where that differs; None: `effect` applies to all.
    effect_of: Callable[[Any], Effect] | None = None
    reach: Reach = "none"
    # Must be the only call of its step.
    exclusive: bool = False
    traits: tuple[Trait, ...] = ()
    # A person answers it, through the API.
    asks: ActionKind | None = None
    # None: the tool enforces its own timeout, and the context's.
    timeout_seconds: float | None = 60.0
    deadline_seconds: float | None = None
    # A person is asked about every single call, unless their own rule covers it.
    always_asks: bool = False
    # Who must agree unless somebody chose a policy for the tool; None: as for all tools.
    policy: Policy | None = None
    # Where the tool comes from, with the configuration that it had then; stored with each call. None: built
    # in.
    source: str | None = None
    # What happens to a call in a mode that changes nothing. read_only: it runs and sees the workspace
    # read-only. None: it runs if its effect is `read`.
    planning: Planning | None = None

    @property
    def while_planning(self) -> Planning:
        return self.planning or ("run" if self.effect == "read" else "deny")

    @cached_property
    def schema(self) -> dict[str, Json]:
        """The JSON Schema of the input, without references: providers handle those differently."""
        (reference,), components = msgspec.json.schema_components(
            (self.input,), ref_template="#/$defs/{name}"
        )
        return cast(dict[str, Json], _inline(reference, components))

    def call_effect(self, parsed: Input) -> Effect:
        return self.effect if self.effect_of is None else self.effect_of(parsed)

    def parse(self, value: Json) -> Input:
        """The input decoded for the tool; ToolError says what is wrong with it and where."""
        try:
            return msgspec.convert(value, self.input, strict=False)
        except msgspec.ValidationError as error:
            raise ToolError(f"The input of {self.name} is not valid: {error}") from error


def _inline(schema: Json, components: dict[str, Any]) -> Json:
    if isinstance(schema, list):
        return [_inline(item, components) for item in cast(list[Json], schema)]
    if not isinstance(schema, dict):
        return schema
    fields = cast(dict[str, Json], schema)
    reference = fields.get("$ref")
    if isinstance(reference, str):
        fields = cast(dict[str, Json], components[reference.rsplit("/", 1)[1]])
        fields = {key: value for key, value in fields.items() if key != "title"}
    return {key: _inline(value, components) for key, value in fields.items()}
