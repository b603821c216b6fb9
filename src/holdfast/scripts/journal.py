"""The journal of a run, as a pure machine: what identifies each call, its answer, and the order in which the
script received the answers. The same entries give the same deliveries; a script that deviates from its
journal is detected at the first call that differs."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from holdfast.core.errors import Contradiction
from holdfast.core.runs import CallKey, CallKind, Ended, RunCall
from holdfast.core.shapes import Json, Record
from holdfast.core.text import one_line
from holdfast.scripts.engines.messages import AgentCall, Call, CallAnswer, PauseCall, WorkflowCall

# Which script made a call: the run's own, or the workflow that call N of it started.
Scope = int
MAIN: Scope = 0
# A call: which script made it, and its number there.
Place = tuple[Scope, int]

_encode = msgspec.json.Encoder(order="sorted").encode


class JournalDelivery(Record, frozen=True, kw_only=True):
    scope: Scope
    answer: CallAnswer


class Journal:
    """For one run, in memory. What it returns must be stored before it is acted upon."""

    def __init__(self, recorded: Iterable[RunCall] = (), lent: Mapping[CallKey, Ended] | None = None) -> None:
        self._entries: dict[Place, RunCall] = {}
        self._confirmed: set[Place] = set()
        self._occurrences: Counter[str] = Counter()
        self._lent = dict(lent or {})
        self._withheld = 0
        for entry in recorded:
            self._entries[entry.scope, entry.number] = entry
            self._occurrences[entry.hash] = max(self._occurrences[entry.hash], entry.occurrence)
        self._delivered = max((entry.delivery or 0 for entry in self._entries.values()), default=0)

    @property
    def entries(self) -> list[RunCall]:
        """In the order the calls were made."""
        return list(self._entries.values())

    def __contains__(self, place: Place) -> bool:
        return place in self._entries

    def entry(self, scope: Scope, number: int) -> RunCall:
        return self._entries[scope, number]

    def put(self, entry: RunCall) -> None:
        """With what else is known about the call: who works on it, when, at what cost."""
        self._entries[entry.scope, entry.number] = entry

    def recorded_deliveries(self) -> list[JournalDelivery]:
        """What the scripts have already received, to be given again before anything new. A nested workflow
        that has ended is not run again: its answer is known."""
        over = self._over()
        heard = [
            entry
            for entry in self._entries.values()
            if entry.delivery is not None and entry.scope not in over
        ]
        return [_delivery(entry) for entry in sorted(heard, key=lambda entry: entry.delivery or 0)]

    @property
    def withheld(self) -> int:
        """How many answers could have been reused and were not, because something around them changed."""
        return self._withheld

    def made(self, scope: Scope, call: Call, *, lends: bool = True) -> RunCall:
        """The entry of a call that the script has just made: the recorded one, or a new one, which has
        already ended if an earlier run's answer is reused. With `lends=False` none is reused."""
        place = scope, call.number
        found = hash_of(call)
        known = self._entries.get(place)
        if known is not None:
            if known.hash != found or known.kind != kind_of(call):
                raise Contradiction(_contradiction(known, call))
            self._confirmed.add(place)
            return known
        self._confirmed.add(place)
        self._occurrences[found] += 1
        entry = _new_entry(scope, call, found, self._occurrences[found])
        answer = self._lent.get(entry.key)
        if answer is not None and not lends:
            self._withheld += 1
        elif answer is not None:
            entry = replace(_with_end(entry, answer), reused=True)
        self._entries[place] = entry
        return entry

    def ended(self, scope: Scope, number: int, ended: Ended) -> RunCall:
        entry = self._entries[scope, number]
        if entry.outcome is not None:
            return entry  # told twice: what was stored first counts
        entry = self._entries[scope, number] = _with_end(entry, ended)
        return entry

    def deliver(self, scope: Scope, number: int, spent: int) -> tuple[RunCall, JournalDelivery]:
        """The script is given this answer next. An answer is delivered once."""
        entry = self._entries[scope, number]
        assert entry.outcome is not None
        assert entry.delivery is None
        self._delivered += 1
        entry = replace(entry, delivery=self._delivered, spent=spent)
        self._entries[scope, number] = entry
        return entry, _delivery(entry)

    def check_replayed(self) -> None:
        """After all recorded deliveries: the script must have made every call that it made before."""
        over = self._over()
        for place, entry in self._entries.items():
            if place not in self._confirmed and entry.scope not in over:
                raise Contradiction(
                    f"The journal has {_named(entry)}, which the script did not make this time. "
                    "Start the run again with `fresh`."
                )

    def _over(self) -> set[Scope]:
        """The scopes of nested workflows that have ended."""
        return {
            entry.number
            for entry in self._entries.values()
            if entry.kind == "workflow" and entry.outcome is not None
        }


def lend(entries: Iterable[RunCall]) -> dict[CallKey, Ended]:
    """What a finished run offers for reuse: its successful answers. A nested workflow is run again, and its
    own calls are reused one by one; a pause is waited for again, so that timers keep their order."""
    return {
        entry.key: ended
        for entry in entries
        if entry.kind == "agent" and (ended := entry.ended) is not None and ended.outcome == "succeeded"
    }


def hash_of(call: Call) -> str:
    """The hash of what determines the answer, and of nothing else: not the label, the phase or the branch."""
    match call:
        case AgentCall(prompt=prompt, options=options):
            decides: list[Json] = [
                prompt,
                options.model,
                options.effort,
                options.schema,
                options.tools,
                options.agent,
                options.isolation,
            ]
        case WorkflowCall(name=name, script_path=path, args=args):
            decides = [name, path, None if args is msgspec.UNSET else [args]]
        case PauseCall(seconds=seconds):
            decides = [seconds]
    return hashlib.sha256(_encode([kind_of(call), *decides])).hexdigest()


def kind_of(call: Call) -> CallKind:
    match call:
        case AgentCall():
            return "agent"
        case WorkflowCall():
            return "workflow"
        case PauseCall():
            return "pause"


def unawaited(entries: Sequence[RunCall]) -> list[str]:
    """The names of agents that are still working, for a warning when the script ends: nobody waits for them.
    One that has ended, or was reused, is not cancelled and needs none."""
    return [
        entry.label or f"agent {entry.number}"
        for entry in entries
        if entry.kind == "agent" and entry.outcome is None
    ]


def _new_entry(scope: Scope, call: Call, found: str, occurrence: int) -> RunCall:
    label, phase = None, call.phase
    match call:
        case AgentCall(options=options):
            label, phase = options.label, options.phase or phase
        case WorkflowCall(name=name, script_path=path):
            label = name or path
        case PauseCall():
            pass
    return RunCall(
        scope=scope,
        number=call.number,
        kind=kind_of(call),
        hash=found,
        occurrence=occurrence,
        label=label,
        phase=phase,
        branch=call.branch,
    )


def _with_end(entry: RunCall, ended: Ended) -> RunCall:
    return replace(entry, outcome=ended.outcome, value=ended.value, error=ended.error)


def _delivery(entry: RunCall) -> JournalDelivery:
    assert entry.spent is not None
    answer = CallAnswer(call=entry.number, spent=entry.spent, value=entry.value, error=entry.error)
    return JournalDelivery(scope=entry.scope, answer=answer)


def _contradiction(known: RunCall, call: Call) -> str:
    asked = (
        f"an agent with “{one_line(call.prompt, 80)}”"
        if isinstance(call, AgentCall)
        else f"a {kind_of(call)}"
    )
    return (
        f"The journal has {_named(known)}, but the script asked for {asked} there. "
        "It does not take the same way twice, so it cannot be continued. Start the run again with `fresh`."
    )


def _named(entry: RunCall) -> str:
    article = "an" if entry.kind == "agent" else "a"
    label = f" “{one_line(entry.label, 60)}”" if entry.label else ""
    return f"call {entry.number}, {article} {entry.kind}{label}"
