"""The order in which a model is told things, and what a feature implements to add its own text. A text that
enters history is committed there once, so that the prefix of later requests stays the same."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal, Protocol, get_args

from msgspec.structs import replace

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


class Passage(Record, frozen=True, kw_only=True):
    """A piece of what a source says, under the name that people know it by: a file, a skill. `error` says
    what is wrong with it; without a text the model is not told of it."""

    label: str
    text: str = ""
    error: str | None = None
    # Whether people are told when it is not what entered history any more.
    watched: bool = True


class PromptSource(Protocol):
    """A text that enters history once per workspace, and again after a summary has hidden it."""

    @property
    def place(self) -> PromptPlace: ...

    async def passages(self, where: PromptChat) -> Sequence[Passage]:
        """Their texts joined are what it says. None: there is nothing to say."""
        ...


class PlacedPassage(Passage, frozen=True, kw_only=True):
    place: PromptPlace


class Told(Record, frozen=True, kw_only=True):
    """A passage of the instructions in history: its place, its name and the length of its text."""

    place: str
    label: str
    length: int


class WorkspaceText(Record, frozen=True, kw_only=True):
    """What a chat is told about its workspace."""

    passages: tuple[PlacedPassage, ...] = ()

    @property
    def text(self) -> str:
        return "".join(passage.text for passage in self.passages)

    @property
    def told(self) -> tuple[Told, ...]:
        """The passages of the text, as they are kept beside it."""
        return tuple(
            Told(place=passage.place, label=passage.label, length=len(passage.text))
            for passage in self.passages
            if passage.text
        )


async def told(sources: Iterable[PromptSource], where: PromptChat) -> WorkspaceText:
    """All passages in order; sources with the same place in the order of the list."""
    found: list[PlacedPassage] = []
    last: int | None = None
    for source in in_order(sources):
        passages = await source.passages(where)
        if last is not None and any(passage.text for passage in passages):
            found[last] = replace(found[last], text=f"{found[last].text}\n\n")
        for passage in passages:
            found.append(
                PlacedPassage(
                    place=source.place,
                    label=passage.label,
                    text=passage.text,
                    error=passage.error,
                    watched=passage.watched,
                )
            )
            last = len(found) - 1 if passage.text else last
    return WorkspaceText(passages=tuple(found))


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
