"""What fills the context of a chat now, and what changed between two of its requests."""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, cast, get_args

from litestar import Router, get
from litestar.params import QueryParameter

from holdfast.api.instructions import (
    ChatInstructions,
    InstructionsState,
    instructions_of,
    servers_in_trouble,
)
from holdfast.api.problems import invalid, not_found
from holdfast.api.request_text import decoded, readable
from holdfast.api.services import By, InPath, Services, With, needs, own_chat
from holdfast.core.ids import ChatId, MessageId
from holdfast.core.messages import HistoryEntry
from holdfast.core.segments import Segment, SegmentKind, Segments, estimated_tokens, scaled, unchanged
from holdfast.core.shapes import Record
from holdfast.prompt.drift import DriftKind
from holdfast.prompt.history import PromptHistory
from holdfast.prompt.segments import is_of_server, server_label, system_pieces
from holdfast.prompt.sources import PromptSubject
from holdfast.prompt.system import labelled
from holdfast.store import chats, debug_runs, named_agents, settings_rules
from holdfast.store import messages as stored_messages
from holdfast.store.steps import StepRequest, newest_requests, requests
from holdfast.worker.requests import LONGEST_CHAIN, last_sent

SHOWN = 10_000
_STEP = re.compile(r"(?:step|model)-([0-9]{1,9})-([0-9]{1,9})", re.ASCII)


class ContextSegment(Record, frozen=True, kw_only=True):
    """`error` says what is wrong with an instruction file, a skill or an MCP server. `drift`: a file or skill
    that is not as the model was told, or that it was not told of. What is in no request has no tokens."""

    kind: SegmentKind
    label: str
    tokens: int
    message_id: MessageId | None
    error: str | None = None
    drift: DriftKind | None = None


class ChatContext(Record, frozen=True, kw_only=True):
    """`used` is the sum of the segments: what the provider counted for the last request, and an estimate of
    what came since. `threshold` is the percentage of `limit` at which history is summarised. `instructions`:
    whether the instructions in history are those on disk; while `renewing`, the next step gives them anew."""

    used: int
    limit: int | None
    threshold: int
    segments: tuple[ContextSegment, ...]
    instructions: InstructionsState


class ChangedSegment(Record, frozen=True, kw_only=True):
    """`text` is what it says, cut after 10 000 characters: of a message always, of the system prompt and the
    tools where the debug record has it, or where it still is the same; else null."""

    kind: SegmentKind
    label: str
    tokens: int
    message_id: MessageId | None
    text: str | None


class RequestDiff(Record, frozen=True, kw_only=True):
    """`kept` segments are at the beginning of both requests, and only they can be served from a cache."""

    kept: int
    kept_tokens: int
    dropped: tuple[ChangedSegment, ...]
    added: tuple[ChangedSegment, ...]


@get("/chats/{chat_id:str}/context", guards=[needs("chats:read")])
async def read_context(chat_id: InPath, services: With, caller: By) -> ChatContext:
    """What the next request of this chat would be made of, and how much room there is."""
    chat = await own_chat(services, caller, chat_id)
    sent, _ = last_sent(await services.store.read(newest_requests(chat.id, LONGEST_CHAIN + 1)))
    entries = await services.store.read(stored_messages.prompt(chat.id))
    # A long history takes a while to measure.
    shown = await asyncio.to_thread(_measured, entries)
    known = await instructions_of(services, chat, entries)
    before: Segments = () if sent is None else sent.segments
    beginning = tuple(segment for segment in before if segment.kind in ("system", "tools"))
    now = (*beginning, *shown)
    counted = None if sent is None else _counted_now(before, sent.input, now)
    segments = scaled(now, counted)
    return ChatContext(
        used=estimated_tokens(segments),
        limit=chat.usage.context_limit,
        threshold=_threshold(services, chat.model),
        segments=_shown(segments, known, await servers_in_trouble(services, chat)),
        instructions=known.state,
    )


def _shown(
    segments: Segments, known: ChatInstructions, servers: Mapping[str, str]
) -> tuple[ContextSegment, ...]:
    """With what is known of files, skills and servers; those that no request has come last."""
    errors = dict(known.errors)
    drifts: dict[tuple[str, str], DriftKind] = {(one.place, one.label): one.kind for one in known.drift}
    servers = dict(servers)
    found: list[ContextSegment] = []
    for segment in segments:
        name = (segment.kind, segment.label)
        error: str | None = None
        drift: DriftKind | None = None
        if segment.message_id is not None and segment.message_id == known.message_id:
            error, drift = errors.pop(name, None), drifts.pop(name, None)
        elif segment.kind == "tools":
            server = next((server for server in servers if is_of_server(segment, server)), None)
            error = None if server is None else servers.pop(server)
        found.append(
            ContextSegment(
                kind=segment.kind,
                label=segment.label,
                tokens=segment.tokens,
                message_id=segment.message_id,
                error=error,
                drift=drift,
            )
        )
    errors |= {("tools", server_label(server)): error for server, error in servers.items()}
    for name in dict.fromkeys((*errors, *drifts)):
        kind, label = name
        if kind not in get_args(SegmentKind):
            continue
        found.append(
            ContextSegment(
                kind=cast(SegmentKind, kind),
                label=label,
                tokens=0,
                message_id=None,
                error=errors.get(name),
                drift=drifts.get(name),
            )
        )
    return tuple(found)


def _threshold(services: Services, model: str | None) -> int:
    """The model's own, as for a turn."""
    setup = services.providers.setup
    config = setup.models.get(model or "") or setup.models.get(setup.default or "")
    own = None if config is None else config.compaction_threshold
    return services.config().compaction.threshold if own is None else own


def _measured(entries: Iterable[HistoryEntry]) -> Segments:
    return PromptHistory(entries).segments() if entries else ()


def _counted_now(before: Segments, counted: int, now: Segments) -> int | None:
    """What the provider would count now, if it counts like the last time."""
    estimated = estimated_tokens(before)
    return estimated_tokens(now) * counted // estimated if counted and estimated else None


@get("/chats/{chat_id:str}/context/diff", guards=[needs("chats:read")])
async def read_request_diff(
    chat_id: InPath,
    services: With,
    caller: By,
    after: Annotated[
        str | None, QueryParameter(description="A step: the id of its span. Omitted: the last one.")
    ] = None,
    before: Annotated[
        str | None, QueryParameter(description="The step to compare with. Omitted: the one before.")
    ] = None,
) -> RequestDiff:
    """What changed from one request to another."""
    chat = await own_chat(services, caller, chat_id)
    found = await services.store.read(requests(chat.id))
    number = _number(found, after)
    if number is None:
        raise not_found("step with a recorded request")
    if before is None:
        first: Segments = found[number - 1].segments if number else ()
    else:
        earlier = _place("before", before)
        first = next((one.segments for one in found if (one.turn, one.number) == earlier), ())
        if not first:
            raise not_found("step with a recorded request")
    return await _diff(services, chat.id, first, found[number])


def _number(found: Sequence[StepRequest], after: str | None) -> int | None:
    if after is None:
        return len(found) - 1 if found else None
    later = _place("after", after)
    return next((n for n, one in enumerate(found) if (one.turn, one.number) == later), None)


def _place(field: str, span_id: str) -> tuple[int, int]:
    match = _STEP.fullmatch(span_id)
    if match is None:
        raise invalid(field, "not the id of a step's span")
    return int(match[1]), int(match[2])


async def _diff(services: Services, chat_id: ChatId, before: Segments, step: StepRequest) -> RequestDiff:
    after = scaled(step.segments, step.counted)
    kept = unchanged(before, after)
    dropped, added = before[kept:], after[kept:]
    # A segment that only moved is neither.
    known = {segment.hash for segment in dropped} & {segment.hash for segment in added}
    dropped = tuple(segment for segment in dropped if segment.hash not in known)
    added = tuple(segment for segment in added if segment.hash not in known)
    texts = await _texts(services, chat_id, (*dropped, *added))
    return RequestDiff(
        kept=kept,
        kept_tokens=estimated_tokens(after[:kept]),
        dropped=tuple(_changed(segment, texts) for segment in dropped),
        added=tuple(_changed(segment, texts) for segment in added),
    )


async def _texts(services: Services, chat_id: ChatId, segments: Sequence[Segment]) -> Mapping[str, str]:
    """By their hash."""
    texts: dict[str, str] = {}
    for segment in segments:
        if segment.message_id is not None:
            message = await services.store.read(stored_messages.message(chat_id, segment.message_id))
            if message is not None:
                texts[segment.hash] = readable(message.parts)[:SHOWN]
    others = [segment.hash for segment in segments if segment.message_id is None]
    texts |= await services.store.read(debug_runs.texts(chat_id, others))
    if any(segment not in texts for segment in others):
        texts = {**await _as_now(services, chat_id), **texts}
    return texts


async def _as_now(services: Services, chat_id: ChatId) -> Mapping[str, str]:
    """The system prompt that the chat would have now, by the hashes of its segments."""
    chat, chosen, agent = await services.store.read(
        chats.chat(chat_id), settings_rules.settings(chat_id), named_agents.of_chat(chat_id)
    )
    if chat is None or chosen is None:
        return {}
    prompt = labelled(PromptSubject(chosen=chosen, agent=agent, began_at=chat.created_at))
    pieces = system_pieces(tuple(text for _, text in prompt), tuple(label for label, _ in prompt))
    return {piece.segment.hash: piece.content.decode()[:SHOWN] for piece in pieces}


def _changed(segment: Segment, texts: Mapping[str, str]) -> ChangedSegment:
    return ChangedSegment(
        kind=segment.kind,
        label=segment.label,
        tokens=segment.tokens,
        message_id=segment.message_id,
        text=None if (text := texts.get(segment.hash)) is None else decoded(text),
    )


router = Router("/", route_handlers=[read_context, read_request_diff], tags=["trace"])
