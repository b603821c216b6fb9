"""The judge: what must hold after any round, decided from its records alone. Each rule returns violations,
which start with the broken invariant."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.chaos.clients import Asked, Json
from tests.chaos.provider import first_tag
from tests.chaos.records import Dump, Records, searchable
from tests.chaos.scripts import CALL_TAG, SAID, tag_of

# On a full disk: it had no effect, and says so.
NOT_STARTED = "could not be started"
SENTENCES = ("The script is done.", "It goes on.")
# A fault breaks off at most so many model calls of one chat: the one under way, and the one of its heir.
BROKEN_OFF = 2


class Violation(NamedTuple):
    invariant: str
    text: str


def judge(records: Records) -> list[Violation]:
    found = [Violation("I-14", flaw) for flaw in records.flaws]
    for dump in records.dumps.values():
        for rule in (settled, timed, legal, ordered, whole, once_said):
            found += [Violation(inv, f"chat {dump.chat['id']}: {text}") for inv, text in rule(dump)]
    for rule in (ran, kept, in_order, once_done, asked_for, shown, named, quiet, secret):
        found += rule(records)
    return found


# --- one chat ---


def settled(dump: Dump) -> Iterator[Violation]:
    chat = dump.chat
    if chat["status"] != "idle":
        yield Violation("I-6", f"it is {chat['status']}: {chat['last_error']}")
    if dump.queue:
        yield Violation("I-6", f"it is at rest, and {len(dump.queue)} messages wait")
    for span in dump.spans:
        if span["kind"] == "turn" and span["outcome"] not in ("finished", "interrupted", "succeeded"):
            yield Violation("I-6", f"turn {span['turn']} ended as {span['outcome']}: {span['failure']}")


def timed(dump: Dump) -> Iterator[Violation]:
    """Nothing takes less than no time, whatever clocks were set."""
    for span in dump.spans:
        took: int = span.get("duration_ms") or 0
        if took < 0:
            yield Violation("I-14", f"{span['id']} took {took} ms")


def legal(dump: Dump) -> Iterator[Violation]:
    """Each call has exactly one result, in the message behind it. Removed history too."""
    open_calls: set[str] = set()
    for message in dump.messages:
        results = [part["call_id"] for part in message["parts"] if part["type"] == "tool_result"]
        if message["role"] == "tool":
            if len(set(results)) != len(results) or set(results) != open_calls:
                yield Violation("I-5", f"results {results} stand where {sorted(open_calls)} were called")
        elif open_calls:
            yield Violation("I-5", f"calls {sorted(open_calls)} have no result before the next message")
        open_calls = {
            part["call_id"]
            for part in message["parts"]
            if part["type"] == "tool_call" and not part["provider_executed"]
        }
    if open_calls:
        yield Violation("I-5", f"calls {sorted(open_calls)} have no result at the end")


def ordered(dump: Dump) -> Iterator[Violation]:
    ids = [message["id"] for message in dump.messages]
    if ids != sorted(set(ids)):
        yield Violation("I-3", "message ids do not rise")
    revisions = [message["revision"] for message in dump.messages if not message["removed"]]
    if revisions != sorted(revisions):
        yield Violation("I-3", f"messages were not committed in the order of their ids: {revisions}")


def whole(dump: Dump) -> Iterator[Violation]:
    """What the model said is there from its first to its last word; what was interrupted is marked."""
    for message in _answers(dump):
        text = _text(message)
        if text and not message["interrupted"] and SAID.sub("", text) and not text.startswith(SENTENCES):
            yield Violation("I-9", f"a text is not what the model said: {text[:200]!r}")


def once_said(dump: Dump) -> Iterator[Violation]:
    """Every answer of the script is unique, so two that are alike come from two who ran the same chat."""
    said = Counter(found[1] for message in _answers(dump) for found in SAID.finditer(_text(message)))
    for tag, count in said.items():
        if count > 1:
            yield Violation("I-7", f"{tag} was said {count} times")


def _answers(dump: Dump) -> list[Json]:
    return [one for one in dump.messages if one["role"] == "assistant" and not one["compaction"]]


def _text(message: Json) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


def ran(records: Records) -> Iterator[Violation]:
    """A workflow comes to its end, with what its agents said, each once."""
    for run in records.runs:
        if run["status"] != "succeeded":
            yield Violation("I-6", f"run {run['id']} is {run['status']}: {run['error']}")
        elif not all(SAID.fullmatch(str(said)) for said in run["result"]):
            yield Violation("I-9", f"run {run['id']} came to {run['result']}")
        elif len(agents := [chat for chat in _chats(records) if chat["run_id"] == run["id"]]) != 2:
            yield Violation("I-2", f"run {run['id']} has {len(agents)} agents instead of 2")


def _chats(records: Records) -> list[Json]:
    return [dump.chat for dump in records.dumps.values()]


# --- what clients asked ---


def kept(records: Records) -> Iterator[Violation]:
    """Every message is in one place once, unless it was deleted or rewritten or an edit cleared the queue."""
    places = Counter[str]()
    for dump in records.dumps.values():
        said = [one for one in dump.messages if one["role"] == "user" and one["visibility"] != "model"]
        places.update(tag_of(message["parts"]) for message in said)
        places.update(tag_of(item["content"]) for item in dump.queue)
    for number, asked in enumerate(records.log):
        if asked.tag and places[asked.tag] not in _expected(asked, records.log[number + 1 :]):
            invariant = "I-1" if asked.tries == 1 else "I-2"
            text = f"{asked.tag} ({asked.kind}, {asked.status}, asked {asked.tries} times)"
            yield Violation(invariant, f"{text} is there {places[asked.tag]} times")


def _expected(asked: Asked, later: Sequence[Asked]) -> tuple[int, ...]:
    """How often the message of a request may be found."""
    if not asked.succeeded:
        return (0,)
    after = [other for other in later if other.chat_id == asked.chat_id and other.succeeded]
    if any(other.kind == "edit" for other in after):
        return (0, 1)
    item_id = asked.about if asked.kind == "change" else asked.json.get("queued", {}).get("id")
    replaced = any(
        other.kind == "delete" or (other.kind == "change" and other.tag)
        for other in after
        if other.about == item_id
    )
    return (0,) if replaced and item_id else (1,)


def in_order(records: Records) -> Iterator[Violation]:
    """Of one client's messages, those sent the same way stand in the order in which they were sent."""
    for chat_id, dump in records.dumps.items():
        log = [asked for asked in records.log if asked.chat_id == chat_id and asked.succeeded]
        if any(asked.kind in ("promote", "change", "edit") for asked in log):
            continue
        history = [tag_of(message["parts"]) for message in dump.messages if message["visibility"] != "model"]
        for busy in ("queue", "interrupt", "steer"):
            sent = [asked.tag for asked in log if asked.kind == "send" and asked.busy == busy]
            places = [history.index(tag) for tag in sent if tag in history]
            if places != sorted(places):
                yield Violation("I-3", f"chat {chat_id}: {sent} ({busy}) stand in the order {places}")


def named(records: Records) -> Iterator[Violation]:
    """What a person called a chat is what it is called."""
    titles = {
        asked.chat_id: asked.about
        for asked in records.log
        if asked.kind in ("create", "rename") and asked.about and asked.succeeded
    }
    for chat_id, title in titles.items():
        if chat_id is not None and (now := records.dumps[chat_id].chat["title"]) != title:
            yield Violation("I-13", f"chat {chat_id} was named {title!r} and is called {now!r}")


# --- effects, the provider ---


def once_done(records: Records) -> Iterator[Violation]:
    """A command takes effect once at most, exactly once if it is said to have succeeded; and none without a
    call that somebody can look up."""
    effects = Counter(records.ledger)
    known: set[str] = set()
    for dump in records.dumps.values():
        results = {
            part["call_id"]: part
            for message in dump.messages
            for part in message["parts"]
            if part["type"] == "tool_result"
        }
        for tag, call_id in _commands(dump):
            known.add(tag)
            outcome = results[call_id]["outcome"] if call_id in results else None
            if effects[tag] > 1:
                yield Violation("I-4", f"{tag} ({outcome}) took effect {effects[tag]} times")
            if outcome == "succeeded" and effects[tag] != 1:
                yield Violation("I-4", f"{tag} succeeded with {effects[tag]} effects")
            if outcome == "failed" and NOT_STARTED not in str(results[call_id]["output"]):
                yield Violation("I-4", f"{tag} failed: {str(results[call_id]['output'])[:200]}")
            if outcome is None:
                yield Violation("I-4", f"{tag} was called and nobody was told what came of it")
    of_round = {tag for tag in effects if int(tag[1:]) >= min((int(one[1:]) for one in known), default=0)}
    for tag in of_round - known:
        yield Violation("I-4", f"{tag} took effect, and no call says so")


def _commands(dump: Dump) -> Iterator[tuple[str, str]]:
    for message in dump.messages:
        for part in message["parts"]:
            if part["type"] == "tool_call" and part["name"] == "execute":
                found = CALL_TAG.search(str(part["input"]))
                if found:
                    yield found[1], part["call_id"]


def asked_for(records: Records) -> Iterator[Violation]:
    """No request was refused, and none was made that a fault or a person does not explain."""
    for one in records.requests:
        if one.refusal is not None:
            yield Violation("I-5", f"the provider refused a request: {one.refusal}")
    requests = Counter(first_tag(one) for one in records.requests if one.outcome not in ("failed", "refused"))
    for chat_id, dump in records.dumps.items():
        tags = {tag_of(message["parts"]) for message in dump.messages} - {""}
        made = sum(requests[tag] for tag in tags)
        steps = sum(span["kind"] in ("step", "compaction") for span in dump.spans)
        disturbed = records.faults * BROKEN_OFF + sum(
            asked.chat_id == chat_id and _breaks_off(asked) for asked in records.log
        )
        if made > steps + disturbed:
            yield Violation(
                "I-10", f"chat {chat_id}: {made} requests, {steps} steps, {disturbed} disturbances"
            )


def _breaks_off(asked: Asked) -> bool:
    return asked.kind in ("interrupt", "edit", "promote") or asked.busy == "interrupt"


# --- watchers, logs ---


def shown(records: Records) -> Iterator[Violation]:
    """Each watcher holds what the server says, byte for byte."""
    for watched in records.watched:
        who = f"the {watched.manner} watcher of chat {watched.chat_id}"
        if watched.complaint:
            yield Violation(
                "I-9" if "was shown" in watched.complaint else "I-8", f"{who}: {watched.complaint}"
            )
        elif watched.left:
            yield Violation("I-8", f"{who} still shows {watched.left[:80]!r}")
        elif list(watched.said) != records.dumps[watched.chat_id].visible:
            yield Violation("I-8", f"{who} holds another history")


def quiet(records: Records) -> Iterator[Violation]:
    """What goes wrong is told as it should be: no 500, no traceback."""
    for complaint in records.complaints:
        yield Violation("errors", complaint)
    if "Traceback" in records.logs:
        place = records.logs.index("Traceback")
        yield Violation(
            "errors", f"a traceback was logged: {records.logs[max(place - 300, 0) : place + 1500]}"
        )


def secret(records: Records) -> Iterator[Violation]:
    everything = searchable(records)
    for canary in records.canaries:
        if canary.encode() in everything:
            yield Violation("I-12", "a secret was found where everybody can read it")
