"""Which response of a provider a conversation goes on from, so that only what is new is sent. Kept in memory:
what is lost costs one whole request. A chain holds only as long as a request begins exactly as the one before
did, followed by the answer to it: an edit, a summary, a fork or another model break it by themselves."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

from holdfast.core.parts import Text, ToolCall
from holdfast.core.shapes import Record
from holdfast.providers.call_ids import provider_id
from holdfast.providers.interface import ModelRequest, PromptMessage

# Conversations that are remembered, the newest.
_MOST = 10_000


class AnswerShape(Record, frozen=True, kw_only=True):
    """What an answer is known again by in the history that follows."""

    text: str
    call_ids: tuple[str, ...]


class _Link(Record, frozen=True, kw_only=True):
    response_id: str
    model: str
    # How many messages were sent before the answer, and their digest.
    count: int
    digest: bytes
    answer: AnswerShape


class Chains:
    def __init__(self) -> None:
        self._links: OrderedDict[str, _Link] = OrderedDict()
        # The turn in which the provider did not know a conversation any more.
        self._lost: OrderedDict[str, int] = OrderedDict()

    def previous(self, request: ModelRequest, items: Sequence[bytes], kind: str) -> tuple[str, int] | None:
        """The response to go on from, and how many messages it stands for."""
        key = _key(request)
        link = self._links.get(key) if key is not None else None
        if key is None or link is None or self._lost.get(key) == request.turn:
            return None
        count = link.count
        if link.model != request.model.model or len(request.messages) < count + 2:
            return None
        if shape_of(request.messages[count], kind) != link.answer or _digest(items[:count]) != link.digest:
            return None
        return link.response_id, count + 1

    def extend(
        self, request: ModelRequest, items: Sequence[bytes], response_id: str, answer: AnswerShape
    ) -> None:
        key = _key(request)
        if key is None:
            return
        self._links[key] = _Link(
            response_id=response_id,
            model=request.model.model,
            count=len(items),
            digest=_digest(items),
            answer=answer,
        )
        self._links.move_to_end(key)
        if len(self._links) > _MOST:
            self._links.popitem(last=False)

    def forget(self, request: ModelRequest) -> None:
        """The provider does not know the response: no chain until the next turn."""
        key = _key(request)
        if key is None:
            return
        self._links.pop(key, None)
        self._lost[key] = request.turn
        self._lost.move_to_end(key)
        if len(self._lost) > _MOST:
            self._lost.popitem(last=False)


def shape_of(message: PromptMessage, kind: str) -> AnswerShape | None:
    if message.role != "assistant":
        return None
    text = "".join(part.text for part in message.parts if isinstance(part, Text))
    calls = [part for part in message.parts if isinstance(part, ToolCall) and not part.provider_executed]
    return answer_shape(text, [provider_id(call, kind) or "" for call in calls])


def answer_shape(text: str, call_ids: Sequence[str]) -> AnswerShape:
    """White space does not count, because parts that are nothing else are not stored."""
    return AnswerShape(text="".join(text.split()), call_ids=tuple(call_ids))


def _key(request: ModelRequest) -> str | None:
    """Only turns are chained: a summary or a title is nobody's next message."""
    return request.cache_key if request.model.chain and request.purpose == "turn" else None


def _digest(items: Sequence[bytes]) -> bytes:
    digest = hashlib.sha256()
    for item in items:
        digest.update(len(item).to_bytes(8))
        digest.update(item)
    return digest.digest()
