"""The journal of a run while a worker owns it: its stored rows, and what is still to be written. Nothing in
it is valid before it is written, and only what was written is acted upon."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from holdfast.chats.commands import DeliveryKey
from holdfast.core.ids import ChatId
from holdfast.core.runs import Ended, LineKind, PinnedScript, Run, RunCall, RunLine
from holdfast.core.text import clean_deep
from holdfast.core.usage import Usage
from holdfast.scripts.engines.messages import AgentCall, Call, CallAnswer
from holdfast.scripts.journal import MAIN, Journal, JournalDelivery, Place, Scope, lend
from holdfast.scripts.runs.agent_chats import terms_of
from holdfast.store.journals import Ending, Entries

# What all scripts of a run may log in total: it is all in one answer of the API.
MOST_LINES = 5000
MOST_LINE_BYTES = 4 * 1024 * 1024
FULL = "The scripts of this run have said more than is kept; the rest is left out."


class RunJournal:
    def __init__(
        self,
        run: Run,
        calls: Sequence[RunCall] = (),
        lines: Sequence[RunLine] = (),
        lent: Sequence[RunCall] = (),
        *,
        cap: int = 0,
    ) -> None:
        """`cap` is for runs without a budget: the script is not told of it."""
        self.run = run
        self._cap = cap or None
        self._journal = Journal(calls, lend(lent))
        self._lenders = {call.key: call.chat_id for call in lent}
        self._last_line = max((line.number for line in lines), default=0)
        self._line_bytes = sum(len(line.text.encode(errors="replace")) for line in lines)
        if any(line.text == FULL for line in lines):
            self._last_line = max(self._last_line, MOST_LINES)
        # Lines of each script: stored ones, and those logged by the script as it runs now.
        self._stored_lines = Counter(line.scope for line in lines if line.place is not None)
        self._said_lines = Counter[Scope]()
        self._spent = sum((_paid(call) for call in calls), Usage())
        # How many agents all scripts of the run have asked for.
        self.agents = sum(call.kind == "agent" for call in calls)
        # Agents whose calls have ended but whose cost is not known yet.
        self._unpaid = {
            call.chat_id: (call.scope, call.number)
            for call in calls
            if call.chat_id is not None
            and call.outcome is not None
            and not call.reused
            and call.usage is None
        }
        self._dirty: dict[Place, None] = {}
        self._lines: list[RunLine] = []
        self._taken: list[DeliveryKey] = []

    # --- state ---

    def has(self, place: Place) -> bool:
        return place in self._journal

    def row(self, place: Place) -> RunCall:
        return self._journal.entry(*place)

    @property
    def rows(self) -> list[RunCall]:
        """In the order the calls were made."""
        return self._journal.entries

    @property
    def spent(self) -> int:
        """Output tokens of all calls that have ended here."""
        return self._spent.output

    @property
    def budget_is_spent(self) -> bool:
        most = self._cap if self.run.budget.tokens is None else self.run.budget.tokens
        return most is not None and self.spent >= most

    def recorded_deliveries(self) -> list[JournalDelivery]:
        return self._journal.recorded_deliveries()

    def check_replayed(self) -> None:
        self._journal.check_replayed()

    # --- events ---

    @property
    def withheld(self) -> int:
        return self._journal.withheld

    def made(self, scope: Scope, call: Call, now: datetime, *, lends: bool = True) -> RunCall:
        """The row of a call that a script has just made: the stored one, or a new one."""
        place = scope, call.number
        is_known = place in self._journal
        row = self._journal.made(scope, call, lends=lends)
        if is_known:
            return row
        if isinstance(call, AgentCall):
            self.agents += 1
            row = replace(row, terms=terms_of(call))
        if row.reused:
            row = replace(row, chat_id=self._lenders.get(row.key), started_at=now, finished_at=now)
        return self._put(place, row)

    def started(
        self,
        place: Place,
        now: datetime,
        *,
        chat_id: ChatId | None = None,
        script: PinnedScript | None = None,
    ) -> RunCall:
        row = replace(self.row(place), started_at=now, chat_id=chat_id, script=script)
        return self._put(place, row)

    def ended(self, place: Place, ended: Ended, now: datetime, usage: Usage | None = None) -> None:
        """The first end of a call counts."""
        if self.row(place).outcome is not None:
            return
        row = self._journal.ended(*place, clean_deep(ended))
        row = replace(
            row,
            usage=usage,
            started_at=row.started_at or now,
            finished_at=max(now, row.started_at or now),
        )
        self._spent = self._spent + _paid(row)
        if row.chat_id is not None and usage is None:
            self._unpaid[row.chat_id] = place
        self._put(place, row)

    def paid(self, chat_id: ChatId, usage: Usage) -> None:
        """The cost of an agent whose call had ended before it did."""
        place = self._unpaid.pop(chat_id, None)
        if place is not None:
            self._spent = self._spent + usage
            self._put(place, replace(self.row(place), usage=usage))

    def touch(self, place: Place) -> None:
        """Watchers should look at the call again: something that is not in the journal has changed."""
        self._dirty[place] = None

    def never_made(self, place: Place) -> None:
        """The agent of this call could not be started: there is no such chat."""
        self._put(place, replace(self.row(place), chat_id=None))

    def answer(self, place: Place) -> CallAnswer:
        """What the script is told next, if it is told about this call."""
        row = self.row(place)
        return CallAnswer(call=row.number, spent=self.spent, value=row.value, error=row.error)

    def delivered(self, place: Place, answer: CallAnswer) -> None:
        row, _ = self._journal.deliver(*place, answer.spent)
        self._put(place, row)

    def script_said(self, scope: Scope, kind: LineKind, text: str, now: datetime) -> None:
        """Lines that a replayed script logs again are already known."""
        self._said_lines[scope] += 1
        if self._said_lines[scope] > self._stored_lines[scope]:
            self._say(kind, text, now, scope, self._said_lines[scope])

    def say(self, kind: LineKind, text: str, now: datetime) -> None:
        self._say(kind, text, now, MAIN, None)

    def take(self, key: DeliveryKey) -> None:
        self._taken.append(key)

    # --- what is to be written ---

    def unwritten(self, ending: Ending | None = None) -> Entries | None:
        """All of it, which from here on counts as written; None: there is nothing."""
        if not (self._dirty or self._lines or self._taken or ending):
            return None
        entries = Entries(
            calls=tuple(self.row(place) for place in self._dirty),
            lines=tuple(self._lines),
            taken=tuple(self._taken),
            spent_tokens=self._spent.output,
            spent_usd_micros=self._spent.cost_usd_micros,
            ending=ending,
        )
        self._dirty, self._lines, self._taken = {}, [], []
        return entries

    def _put(self, place: Place, row: RunCall) -> RunCall:
        self._journal.put(row)
        self._dirty[place] = None
        return row

    def _say(self, kind: LineKind, text: str, now: datetime, scope: Scope, place: int | None) -> None:
        if self._is_full:
            return
        self._last_line += 1
        self._line_bytes += len(text.encode(errors="replace"))
        if self._is_full:
            # The last one; whatever comes later is left out, in a run that goes on elsewhere too.
            kind, text = "warning", FULL
        self._lines.append(
            RunLine(number=self._last_line, scope=scope, place=place, kind=kind, text=text, at=now)
        )

    @property
    def _is_full(self) -> bool:
        return self._last_line >= MOST_LINES or self._line_bytes >= MOST_LINE_BYTES


def _paid(row: RunCall) -> Usage:
    return Usage() if row.reused or row.usage is None else row.usage
