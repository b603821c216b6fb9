"""The judge: what must hold after any number of kills, told from the client's log, the provider's log, the
ledger and the final state. Each rule gives sentences about what is wrong; the letters are those of the
invariants in the design."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from holdfast.chats import synthetic
from holdfast.chats.commands import (
    Create,
    Decide,
    DeleteQueued,
    Edit,
    Interrupt,
    PeopleCommand,
    Promote,
    Send,
)
from holdfast.chats.draft import LATE
from holdfast.chats.view import Call
from holdfast.core.ids import CallId, ChatId
from holdfast.core.messages import Message
from holdfast.core.parts import Text, ToolCall, ToolResult
from tests.crash.clients import CLIENT_TOOL, Asked
from tests.crash.ledger import Line
from tests.crash.orders import Dump
from tests.crash.scripts import is_whole, tag_of
from tests.crash.stage import Stage
from tests.crash.summaries import first_tag

NOTHING: frozenset[str] = frozenset()


async def judge(stage: Stage, scripted_failures: frozenset[str] = NOTHING) -> list[str]:
    """Everything that is wrong, once the stage has settled. Turns may only fail as they were told to."""
    dumps = await stage.dumps()
    lines = stage.ledger.lines()
    found = [f"I-14: {flaw}" for flaw in await stage.check()]
    for dump in dumps.values():
        about = [
            *settled(dump, scripted_failures),
            *legal(dump.messages),
            *ordered(dump),
            *whole(dump),
            *counted(dump),
        ]
        own_lines = [line for line in lines if line.chat_id == dump.chat.id]
        about += once_each(dump, own_lines, repeated(stage.log))
        found += [f"chat {dump.chat.id}: {text}" for text in about]
    found += kept(stage.log, dumps)
    found += in_order(stage.log, dumps)
    found += recorded(lines, dumps)
    found += asked_for(stage, dumps)
    return found


# --- the chat ---


def settled(dump: Dump, scripted_failures: frozenset[str]) -> Iterator[str]:
    chat, view = dump.chat, dump.view
    if chat.status == "error":
        failure = chat.last_error
        if failure is None or failure.kind not in scripted_failures:
            yield f"I-6: it ended with {failure}"
    elif chat.status != "idle":
        yield f"I-6: it is {chat.status}"
    if view.chat.lease is not None or view.calls or view.inbox:
        yield "I-6: it rests and something is still open"
    for number, turn in enumerate(dump.turns, start=1):
        if turn.number != number:
            yield f"turn {turn.number} stands at place {number}"
        if turn.outcome is None:
            yield f"turn {turn.number} never ended"
        elif turn.outcome == "failed" and (
            turn.failure is None or turn.failure.kind not in scripted_failures
        ):
            yield f"turn {turn.number} failed: {turn.failure}"


def legal(messages: Sequence[Message]) -> Iterator[str]:
    """I-5: each call has exactly one result, in the message behind it. Removed history too."""
    open_calls: set[CallId] = set()
    for message in messages:
        results = [part.call_id for part in message.parts if isinstance(part, ToolResult)]
        if message.role == "tool":
            if len(set(results)) != len(results) or set(results) != open_calls:
                yield f"I-5: results {results} stand where {sorted(open_calls)} were called"
        elif open_calls:
            yield f"I-5: calls {sorted(open_calls)} have no result before the next {message.role} message"
        open_calls = {
            part.call_id
            for part in message.parts
            if isinstance(part, ToolCall) and not part.provider_executed
        }
    if open_calls:
        yield f"I-5: calls {sorted(open_calls)} have no result at the end"


def ordered(dump: Dump) -> Iterator[str]:
    """I-3: ids rise strictly in commit order."""
    ids = [message.id for message in dump.messages]
    if ids != sorted(set(ids)):
        yield "I-3: message ids do not rise"
    revisions = [message.revision for message in dump.messages if not message.removed]
    if revisions != sorted(revisions):
        yield f"I-3: messages were not committed in the order of their ids: {revisions}"
    if any(revision > dump.chat.history_version for revision in revisions):
        yield "a message is newer than the history"


def whole(dump: Dump) -> Iterator[str]:
    """What the model said is there from its first to its last word, once; what was interrupted is marked."""
    for message in dump.messages:
        if message.role != "assistant" or message.compaction:
            continue
        text = "".join(part.text for part in message.parts if isinstance(part, Text))
        if text and not message.interrupted and not is_whole(text):
            yield f"I-9: a text is not what the model said: {text!r}"
    for turn in dump.turns:
        spoke = any(message.role == "assistant" and message.turn == turn.number for message in dump.messages)
        if turn.outcome == "finished" and turn.kind == "message" and not spoke:
            yield f"turn {turn.number} is finished and nobody answered"


def counted(dump: Dump) -> Iterator[str]:
    """Steps are numbered without gaps, and no turn compacts more than twice without progress. Attempts that
    were given up after their turn had ended are not on the way; one that a death cut off is no try."""
    steps = [step for step in dump.steps if step.number <= LATE]
    for number, step in enumerate(steps):
        before = steps[number - 1] if number else None
        expected = before.number + 1 if before is not None and before.turn == step.turn else 1
        if step.number != expected:
            yield f"step {step.turn}.{step.number} stands where {expected} should"
    for turn in {step.turn for step in steps}:
        finished = [step for step in steps if step.turn == turn and step.outcome == "finished"]
        in_row = 0
        for step in finished:
            in_row = in_row + 1 if step.kind == "compaction" else 0
            if in_row > 2:
                yield f"I-10: compacted more than twice without progress in turn {turn}"


# --- calls and their effects ---


def repeated(log: Sequence[Asked]) -> Counter[CallId]:
    """How often a person said that a call whose outcome is unknown is to be run again."""
    return Counter(
        asked.command.call_id
        for asked in log
        if isinstance(asked.command, Decide) and asked.command.verdict == "retry" and asked.succeeded
    )


def once_each(dump: Dump, lines: Sequence[Line], again: Counter[CallId]) -> Iterator[str]:
    results = {
        part.call_id: part
        for message in dump.messages
        for part in message.parts
        if isinstance(part, ToolResult)
    }
    for call in dump.calls:
        effects = [line for line in lines if line.call_id == call.call_id and line.event == "effect"]
        result = results.get(call.call_id)
        if call.state != "answered" or result is None:
            yield f"I-5: call {call.call_id} ({call.name}) is {call.state}, result {result}"
        elif not call.abandoned and (call.outcome, call.output) != (result.outcome, result.output):
            yield f"call {call.call_id}: its row says {call.outcome}, its result {result.outcome}"
        if call.name != CLIENT_TOOL.name:
            for text in _effects_of(call, effects, 1 + again[call.call_id]):
                yield f"I-4: call {call.call_id} ({call.name}, {call.outcome}, run {call.run}) {text}"
        yield from _nothing_after_the_end(call, lines)


def _effects_of(call: Call, effects: Sequence[Line], allowed: int) -> Iterator[str]:
    output, receipts = str(call.output), [line.receipt for line in effects]
    if call.effect == "unsafe":
        if len(effects) > allowed or call.run > allowed:
            yield f"took effect {len(effects)} times"
        if call.outcome == "succeeded" and output != synthetic.DONE and not 1 <= len(effects) <= allowed:
            yield f"succeeded with {len(effects)} effects"
    if len({line.run for line in effects}) != len(effects) or len(effects) > call.run:
        yield f"has {len(effects)} effects in {call.run} runs"
    if output.startswith("done: ") and output.removeprefix("done: ") not in receipts:
        yield f"says {output}, the ledger {receipts}"
    if "not run, because" in output and effects and call.effect != "read":
        yield "is said not to have run, and had an effect"
    if call.outcome == "failed":
        yield f"failed: {output}"


def _nothing_after_the_end(call: Call, lines: Sequence[Line]) -> Iterator[str]:
    """What was recorded as finished is not run again."""
    finished = False
    for line in lines:
        if line.call_id == call.call_id:
            if line.event == "effect" and finished:
                yield f"F-11: call {call.call_id} ({call.name}) ran again after its end was recorded"
            finished = finished or line.event == "finished"


def recorded(lines: Sequence[Line], dumps: Mapping[ChatId, Dump]) -> Iterator[str]:
    """Nothing took effect that no row speaks of."""
    known = {(chat_id, call.call_id) for chat_id, dump in dumps.items() for call in dump.calls}
    for line in lines:
        if line.event == "effect" and (line.chat_id, line.call_id) not in known:
            yield f"I-4: {line.tool} of chat {line.chat_id} took effect and has no call"


# --- what clients asked ---


def kept(log: Sequence[Asked], dumps: Mapping[ChatId, Dump]) -> Iterator[str]:
    """I-1, I-2: every message is in one place once, unless it was deleted or an edit cleared the queue."""
    places = Counter[str]()
    for dump in dumps.values():
        said = [message for message in dump.messages if message.role == "user"]
        places.update(tag_of(message.parts) for message in said if message.visibility != "model")
        places.update(tag_of(item.parts) for item in dump.view.queue)
    for number, asked in enumerate(log):
        if not isinstance(asked.command, (Create, Send, Edit)):
            continue
        tag = tag_of(asked.command.parts)
        if places[tag] not in _expected(asked, log[number + 1 :]):
            yield f"I-1: {tag} ({asked.command.kind}, asked {asked.tries} times) is there {places[tag]} times"


def _expected(asked: Asked, later: Sequence[Asked]) -> tuple[int, ...]:
    """How often the message of a request may be found."""
    if not asked.succeeded:
        return (0,)
    assert asked.answer is not None
    assert asked.answer.told is not None
    item_id = asked.answer.told.item_id
    if any(
        isinstance(other.command, DeleteQueued) and other.command.item_id == item_id and other.succeeded
        for other in later
    ):
        return (0,)
    cleared = any(isinstance(other.command, Edit) and other.chat_id == asked.chat_id for other in later)
    return (0, 1) if cleared else (1,)


def in_order(log: Sequence[Asked], dumps: Mapping[ChatId, Dump]) -> Iterator[str]:
    """I-3: of one client's messages, those sent the same way stand in the order in which they were sent."""
    for chat_id, dump in dumps.items():
        if any(isinstance(asked.command, Promote) and asked.chat_id == chat_id for asked in log):
            continue
        history = [tag_of(message.parts) for message in dump.messages if message.visibility != "model"]
        for busy in ("queue", "interrupt", "steer"):
            sent = [
                tag_of(asked.command.parts)
                for asked in log
                if asked.chat_id == chat_id and isinstance(asked.command, Send) and asked.command.busy == busy
            ]
            places = [history.index(tag) for tag in sent if tag in history]
            if places != sorted(places):
                yield f"I-3: chat {chat_id}: {sent} ({busy}) stand in the order {places}"


# --- what the provider was asked ---


def asked_for(stage: Stage, dumps: Mapping[ChatId, Dump]) -> Iterator[str]:
    """I-5: no request was refused. I-10: none was made that a kill or a person does not explain."""
    for text in stage.provider.refusals:
        yield f"I-5: the provider refused a request: {text}"
    requests = Counter(
        first_tag(asked) for asked in stage.provider.log if asked.outcome not in ("failed", "refused")
    )
    for chat_id, dump in dumps.items():
        tags = {tag_of(message.parts) for message in dump.messages}
        made = sum(requests[tag] for tag in tags if tag)
        disturbed = (
            len(stage.kills)
            + stage.ledger.leases_lost()
            + sum(asked.chat_id == chat_id and _interrupts(asked.command) for asked in stage.log)
        )
        if made > len(dump.steps) + disturbed:
            yield f"I-10: chat {chat_id}: {made} requests, {len(dump.steps)} steps, {disturbed} disturbances"


def _interrupts(command: PeopleCommand) -> bool:
    """Whether a model call may be broken off by it."""
    match command:
        case Interrupt() | Edit() | Promote():
            return True
        case Send(busy=busy):
            return busy == "interrupt"
        case _:
            return False
