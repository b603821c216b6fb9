"""The order in which a model is told things, and what a feature implements to add its own text. A text that
enters history is committed there once, so that the prefix of later requests stays the same."""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, Protocol, get_args

from holdfast.core.accounts import NamedAgent
from holdfast.core.chats import Settings
from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.core.shapes import Record

# From the most stable to the least: the system prompt comes first in every request; instructions, skills and
# memory are one message in history, before the first answer that needs them; notices come as things happen.
PromptPlace = Literal["system", "instructions", "skills", "memory", "notices"]
ORDER: tuple[PromptPlace, ...] = get_args(PromptPlace)


class PromptChat(Record, frozen=True, kw_only=True):
    """A chat and its workspace."""

    chat_id: ChatId
    owner_id: UserId
    workspace_id: WorkspaceId | None


class PromptSource(Protocol):
    """A text that enters history once per workspace, and again after a summary has hidden it."""

    @property
    def place(self) -> PromptPlace: ...

    async def text(self, where: PromptChat) -> str | None:
        """None or empty: there is nothing to say."""
        ...


async def told(sources: Iterable[PromptSource], where: PromptChat) -> str | None:
    """All texts in order; sources with the same place in the order of the list."""
    found = [await source.text(where) for source in in_order(sources)]
    return "\n\n".join(text for text in found if text) or None


def in_order(sources: Iterable[PromptSource]) -> list[PromptSource]:
    return sorted(sources, key=lambda source: ORDER.index(source.place))


class PromptSubject(Record, frozen=True, kw_only=True):
    """The chat that a system prompt is for: its settings, and the named agent it was started as."""

    chosen: Settings
    agent: NamedAgent | None = None
    began_at: datetime | None = None


# One segment of the system prompt. It has to be the same for all requests of a turn.
class SystemSource(Protocol):
    __name__: str

    def __call__(self, subject: PromptSubject, /) -> str | None: ...


def segments(sources: Iterable[SystemSource], subject: PromptSubject) -> tuple[str, ...]:
    """One segment for each source that has a text."""
    found = (source(subject) for source in sources)
    return tuple(text.strip() for text in found if text is not None and text.strip())
