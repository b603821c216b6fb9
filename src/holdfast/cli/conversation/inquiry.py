"""Which of the calls that wait for a person is being asked about. Each is asked once, in order; one whose
answer did not arrive is asked again."""

from holdfast.cli.conversation.answers import Asking
from holdfast.core.calls import Action, ActionCall
from holdfast.core.ids import CallId, ChatId


class Inquiry:
    def __init__(self) -> None:
        # What the person is asked now.
        self.asking: Asking | None = None
        self._answered: set[tuple[ChatId, CallId]] = set()

    def look(self, action: Action | None) -> bool:
        """Takes in what waits; whether something else is asked now than before."""
        waiting = [] if action is None else [call for call in action.calls if self._is_open(call)]
        if self.asking is not None and any(_place(call) == _place(self.asking.call) for call in waiting):
            return False
        before, self.asking = self.asking, Asking(waiting[0]) if waiting else None
        return before is not self.asking

    def go_on(self, following: Asking) -> None:
        """The next question of the same call."""
        self.asking = following

    def answered(self, call: ActionCall) -> None:
        self._answered.add(_place(call))

    def not_answered(self, call: ActionCall) -> None:
        """The answer was not taken: it waits as before."""
        self._answered.discard(_place(call))

    def _is_open(self, call: ActionCall) -> bool:
        # A client tool waits for the program that offers it.
        return call.kind != "client_tool" and _place(call) not in self._answered


def _place(call: ActionCall) -> tuple[ChatId, CallId]:
    return call.chat_id, call.call_id
