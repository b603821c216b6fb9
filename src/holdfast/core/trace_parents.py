"""Spans as other programs name them: the W3C header `traceparent`. The ids of our own follow from what they
are of, so that whoever needs one computes it, in any process and also after a crash."""

import hashlib
import re

from holdfast.core.ids import ChatId
from holdfast.core.shapes import Record

HEADER = "traceparent"

_SAMPLED = 0x01
_FORM = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)


class TraceParent(Record, frozen=True, kw_only=True):
    """A span, and the trace that it is in. `sampled`: whether anybody wants to know of what is below it."""

    trace_id: str
    span_id: str
    sampled: bool = True

    @property
    def text(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{int(self.sampled):02x}"

    def below(self, *of: str | int) -> "TraceParent":
        """A span of ours in the same trace."""
        return TraceParent(trace_id=self.trace_id, span_id=span_id_of(*of), sampled=self.sampled)


def parsed(header: str) -> TraceParent | None:
    """None: it is not one, and is to be ignored."""
    found = _FORM.fullmatch(header.strip(" \t"))
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    # Later versions may append something; the first one is exactly so long.
    if version == "ff" or (version == "00" and more) or not trace_id.strip("0") or not span_id.strip("0"):
        return None
    return TraceParent(trace_id=trace_id, span_id=span_id, sampled=bool(int(flags, 16) & _SAMPLED))


def trace_id_of(*of: str | int) -> str:
    """Of a trace that begins here."""
    return _hash("trace", *of)[:32]


def span_id_of(*of: str | int) -> str:
    return _hash("span", *of)[:16]


def turn_span(chat_id: ChatId, turn: int) -> tuple[str | int, ...]:
    return ("turn", chat_id, turn)


def model_span(chat_id: ChatId, turn: int, number: int) -> tuple[str | int, ...]:
    """Of the step with this number."""
    return ("model", chat_id, turn, number)


def side_span(chat_id: ChatId, turn: int, beside: str) -> tuple[str | int, ...]:
    """Of a title, a summary or a commit message that is made beside this turn (`Step.beside`)."""
    return ("side", chat_id, turn, beside)


def call_span(chat_id: ChatId, call_id: str) -> tuple[str | int, ...]:
    return ("call", chat_id, call_id)


def run_span(run_id: str) -> tuple[str | int, ...]:
    return ("run", run_id)


def _hash(*of: str | int) -> str:
    return hashlib.sha256("\0".join(map(str, of)).encode()).hexdigest()
