"""The contract of a tool. A tool says what it does to the world (`effect`), and that decides what happens
after a crash: a read is repeated, an idempotent call is repeated with the same key, an unsafe one never by
itself."""

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
    """Base of every tool's input: the schema a model sees is made from it."""


class ToolContext(Record, frozen=True, kw_only=True):
    """Where a call runs. `key` is the same for every run of the same call: what an idempotent tool repeats
    with."""

    chat_id: ChatId
    owner_id: UserId
    workspace_id: WorkspaceId | None
    call_id: CallId
    run: int
    # The lease of the chat under which it runs; None: nobody's, as in a trial without a turn.
    lease_number: int | None = None
    # Asked by a thread directly before an effect that no database can refuse, such as writing a file. False:
    # the chat may be another server's by now, or the call was given up. It may block for a moment.
    still_ours: Callable[[], bool] = lambda: True
    # How long the call may take, as it was chosen for the tool; None: as long as the tool says.
    seconds: float | None = None
    # The person who approved this call, or whose own rule did; None: a rule of the server let it run.
    approved_by: UserId | None = None
    # How far that approval reaches.
    approved_for: Scope = "once"
    # Whether the mode of the chat lets programs see the workspace read-only alone.
    read_only: bool = False

    @property
    def key(self) -> str:
        return f"{self.chat_id}:{self.call_id}"

    @property
    def fence(self) -> CallFence | None:
        """For everything that is written on behalf of this call, in the same transaction."""
        if self.lease_number is None:
            return None
        return CallFence(
            chat_id=self.chat_id, lease_number=self.lease_number, call_id=self.call_id, run=self.run
        )


class ToolAnswer(Record, frozen=True, kw_only=True):
    output: Json
    outcome: Outcome = "succeeded"
    diff: str | None = None
    # The ends of children that this answer hands over.
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
    # Of one call, by its input, where that differs; None: `effect` is that of all.
    effect_of: Callable[[Any], Effect] | None = None
    reach: Reach = "none"
    # Must be the only call of its step.
    exclusive: bool = False
    traits: tuple[Trait, ...] = ()
    # A person answers it, through the API.
    asks: ActionKind | None = None
    # None: it minds the time itself, and what the context says of it.
    timeout_seconds: float | None = 60.0
    deadline_seconds: float | None = None
    # A person is asked about every single call, unless their own rule covers it.
    always_asks: bool = False
    # Who must agree unless somebody chose a policy for the tool; None: as for all tools.
    policy: Policy | None = None
    # Where it comes from and as what that is configured, kept with each call; None: it is built in.
    source: str | None = None
    # In a mode that changes nothing. read_only: it runs, and sees the workspace read-only; None: a read runs.
    planning: Planning | None = None

    @property
    def while_planning(self) -> Planning:
        return self.planning or ("run" if self.effect == "read" else "deny")

    @cached_property
    def schema(self) -> dict[str, Json]:
        """The JSON Schema of the input, inlined: providers differ in how they follow references."""
        (reference,), components = msgspec.json.schema_components(
            (self.input,), ref_template="#/$defs/{name}"
        )
        return cast(dict[str, Json], _inline(reference, components))

    def call_effect(self, parsed: Input) -> Effect:
        return self.effect if self.effect_of is None else self.effect_of(parsed)

    def parse(self, value: Json) -> Input:
        """The input as the tool wants it; ToolError says what is wrong with it and where."""
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
