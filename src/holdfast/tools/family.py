"""What the tools for sub-agents need of the server."""

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.bus.interface import Bus
from holdfast.core.clock import Clock
from holdfast.core.ids import Ids
from holdfast.core.shapes import Record
from holdfast.store.interface import Store


class AgentLimits(Record, frozen=True, kw_only=True):
    # How deep sub-agents may start sub-agents, and how many one chat may have.
    depth: int = 4
    per_chat: int = 32


@dataclass(frozen=True, kw_only=True)
class Family:
    store: Store
    bus: Bus
    clock: Clock
    ids: Ids
    limits: Callable[[], AgentLimits]
    # Raises ToolError for a model that cannot be named.
    check_model: Callable[[str], None]
