"""How far a run is, folded from its events. Pure: an event in, what is to be shown for good out."""

from dataclasses import dataclass

from holdfast.cli.events import Found, Lost
from holdfast.cli.runs.events import Asks, RunEvent
from holdfast.core.ids import ChatId
from holdfast.core.run_shapes import CallShown, LineShown, RunData
from holdfast.core.runs import OVER, RunPhase
from holdfast.core.usage import Budget

_OPEN = ("pending", "running")


@dataclass(frozen=True, slots=True)
class PhaseBegan:
    title: str


@dataclass(frozen=True, slots=True)
class CallEnded:
    call: CallShown


@dataclass(frozen=True, slots=True)
class Asked:
    """An agent waits for a person."""

    label: str
    chat_id: ChatId
    what: str


@dataclass(frozen=True, slots=True)
class Noted:
    """About the connection."""

    text: str


@dataclass(frozen=True, slots=True)
class Over:
    """The run is; so many calls it had, so many of them reused."""

    run: RunData
    calls: int
    reused: int


Entry = PhaseBegan | CallEnded | LineShown | Asked | Noted | Over


class Progress:
    def __init__(self) -> None:
        self.run: RunData | None = None
        self.budget = Budget()
        self.phase: str | None = None
        self.calls: dict[str, CallShown] = {}
        self.asking: set[ChatId] = set()

    @property
    def open(self) -> list[CallShown]:
        """Those that are at work, or wait for a place; the longest first."""
        return [call for call in self.calls.values() if call.status in _OPEN]

    @property
    def ended(self) -> int:
        return len(self.calls) - len(self.open)

    @property
    def reused(self) -> int:
        return sum(call.reused for call in self.calls.values())

    def apply(self, event: RunEvent) -> list[Entry]:
        match event:
            case RunData():
                self.run, self.budget = event, event.budget
                if event.status in OVER:
                    return [Over(event, len(self.calls), self.reused)]
            case Budget():
                self.budget = event
            case RunPhase(started_at=started) if started is not None:
                self.phase = event.title
                return [PhaseBegan(event.title)]
            case LineShown():
                return [event]
            case CallShown():
                return self._called(event)
            case Asks():
                return self._asked(event)
            case Lost():
                return [Noted("The connection is lost; trying again.")]
            case Found():
                return [Noted("Connected again.")]
            case _:
                pass
        return []

    def _called(self, call: CallShown) -> list[Entry]:
        known = self.calls.get(call.id)
        self.calls[call.id] = call
        if call.status in _OPEN or (known is not None and known.status not in _OPEN):
            return []
        if call.chat_id is not None:
            self.asking.discard(call.chat_id)
        return [CallEnded(call)]

    def _asked(self, asks: Asks) -> list[Entry]:
        """Told once for as long as it waits."""
        from holdfast.cli.wording import waits_for

        chat = asks.chat
        if chat.action is None or chat.id in self.asking:
            return []
        self.asking.add(chat.id)
        label = next((label_of(call) for call in self.calls.values() if call.chat_id == chat.id), chat.title)
        return [Asked(label, chat.id, waits_for(chat.action))]


def label_of(call: CallShown) -> str:
    """What it is called; without a label, by its place in the script."""
    return call.label or f"{call.kind} {call.id.rpartition('.')[2]}"
