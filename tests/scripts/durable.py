"""A run that can crash at any moment and be continued from its journal, all in memory: what the real one does
with a database, in sixty lines. Every write to the journal is a moment at which it may die."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from holdfast.core.runs import CallKey, Ended, RunCall
from holdfast.core.shapes import Json
from holdfast.scripts.engines.messages import (
    AgentCall,
    Call,
    PauseCall,
    ScriptDone,
    ScriptFailed,
    ScriptTurn,
    ScriptWaiting,
    WorkflowCall,
)
from holdfast.scripts.engines.sandbox import Sandbox
from holdfast.scripts.journal import MAIN, Journal
from holdfast.scripts.source import Script
from tests.scripts.host import start_of


class Crash(Exception):
    pass


@dataclass
class Ledger:
    """What survives a crash, and what was paid for."""

    rows: dict[tuple[int, int], RunCall] = field(default_factory=dict[tuple[int, int], RunCall])
    # The agents' own chats, which go on whatever becomes of the run.
    chats: dict[int, Json] = field(default_factory=dict[int, Json])
    paid: Counter[str] = field(default_factory=Counter[str])
    writes: int = 0
    crash_at: int | None = None

    def ask(self, call: Call, answer: Callable[[AgentCall], Json]) -> Json:
        if not isinstance(call, AgentCall):
            return None
        if call.number not in self.chats:
            self.paid[call.prompt] += 1
            self.chats[call.number] = answer(call)
        return self.chats[call.number]

    def write(self, entry: RunCall) -> None:
        self.writes += 1
        if self.writes == self.crash_at:
            raise Crash
        self.rows[entry.scope, entry.number] = entry


async def run(
    script: Script,
    ledger: Ledger,
    *,
    answer: Callable[[AgentCall], Json],
    choose: Callable[[Sequence[Call]], Call],
    args: Json = None,
    budget: int | None = None,
    lent: dict[CallKey, Ended] | None = None,
    cost: int = 10,
) -> ScriptDone | ScriptFailed:
    """From the start, or from where the ledger ends."""
    journal = Journal(ledger.rows.values(), lent)
    replayed = journal.recorded_deliveries()
    waiting: list[Call] = []

    def hear(turn: ScriptTurn) -> None:
        for said in turn.said:
            if isinstance(said, AgentCall | WorkflowCall | PauseCall):
                known = (MAIN, said.number) in ledger.rows
                entry = journal.made(MAIN, said)
                if not known:
                    ledger.write(entry)
                if entry.delivery is None:
                    waiting.append(said)

    async with await Sandbox.open(script.language) as sandbox:
        turn = await sandbox.start(start_of(script, args=args, budget=budget))
        hear(turn)
        for turn in await sandbox.answer_all([delivery.answer for delivery in replayed]):
            hear(turn)
        journal.check_replayed()
        while isinstance(turn.stop, ScriptWaiting):
            call = choose(waiting)
            waiting.remove(call)
            if journal.entry(MAIN, call.number).ended is None:
                value = ledger.ask(call, answer)
                ledger.write(journal.ended(MAIN, call.number, Ended(outcome="succeeded", value=value)))
            paid = [
                entry
                for entry in journal.entries
                if entry.kind == "agent" and entry.ended and not entry.reused
            ]
            entry, delivery = journal.deliver(MAIN, call.number, cost * len(paid))
            ledger.write(entry)
            turn = await sandbox.answer(delivery.answer)
            hear(turn)
        return turn.stop
