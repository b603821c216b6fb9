"""Reads providers' error messages in their many shapes, and classifies them in one place: the kind of a
failure decides whether another attempt can help."""

import re
from typing import Literal, cast

import msgspec

from holdfast.core.shapes import Json, Record
from holdfast.core.text import clean
from holdfast.providers.model_limits import output_limit, refuses_tools

FailureKind = Literal[
    "overloaded",
    "rate_limit",
    "timeout",
    "transport",
    "server",
    "auth",
    "usage_limit",
    "config",
    "content_filter",
    "context_overflow",
    "output_limit",
    "no_tools",
    "disabled",
]
RETRYABLE = frozenset[FailureKind]({"overloaded", "rate_limit", "timeout", "transport", "server"})


class Complaint(Record, frozen=True, kw_only=True):
    """What a provider says is wrong, in whatever shape its family says it."""

    type: str = ""
    code: str = ""
    text: str = ""


_OVERFLOW = re.compile(
    r"maximum context length|context[ _]length|context window|prompt is too long|input is too long"
    r"|available context size|exceed context limit|reduce the length of the (?:messages|prompt)"
    r"|input token count .{0,40}exceeds",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"credit balance is too low|insufficient[ _](?:balance|quota|credit|funds)|exceeded your current quota"
    r"|spend(?:ing)?[ _]limit|billing|usage_limit|credit_balance_exhausted|hard limit",
    re.IGNORECASE,
)
_OVERLOADED = re.compile(r"overloaded|over capacity|insufficient_system_resource", re.IGNORECASE)
_RATE = re.compile(r"rate[ _-]?limit|too[ _]many[ _]requests|throttl", re.IGNORECASE)
_AUTH = re.compile(
    r"authentication_error|permission_error|invalid_api_key|unauthorized|invalid api key", re.IGNORECASE
)
_KEY = re.compile(r"\bAPI key (?:not valid|expired)|API_KEY_INVALID", re.IGNORECASE)
RETRY_IN = re.compile(r"retry in (\d{1,6}(?:\.\d{1,9})?)s\b", re.IGNORECASE)
_FILTER = re.compile(
    r"content_filter|content_policy|content management policy|moderation|flagged|safety", re.IGNORECASE
)
_TIMEOUT = re.compile(r"timeout|timed out", re.IGNORECASE)


def classify(status: int | None, complaint: Complaint) -> FailureKind:
    """Words before numbers: a status only tells families of errors apart; only the words tell an empty
    account from a busy minute (both 429), or a long conversation from a wrong parameter (both 400)."""
    label = f"{complaint.type} {complaint.code}"
    words = f"{label} {complaint.text}"
    client_side = status is None or status in (200, 400, 413, 422)
    if (client_side or status == 404) and refuses_tools(words):
        return "no_tools"
    if client_side and output_limit(complaint.text) is not None:
        return "output_limit"
    if complaint.code == "3051" or status == 413 or (client_side and _OVERFLOW.search(words)):
        return "context_overflow"
    if status == 429 and RETRY_IN.search(complaint.text):
        # Google's limits by the minute sound like an empty account.
        return "rate_limit"
    if (
        status == 402
        or _QUOTA.search(label)
        or (status in (400, 403, 429, None) and _QUOTA.search(complaint.text))
    ):
        return "usage_limit"
    if status in (503, 529) or _OVERLOADED.search(label):
        return "overloaded"
    if status == 429 or _RATE.search(label):
        return "rate_limit"
    if status != 400 and _OVERLOADED.search(complaint.text):
        return "overloaded"
    if (status in (400, 403, None) and _FILTER.search(label)) or (
        status == 403 and _FILTER.search(complaint.text)
    ):
        return "content_filter"
    if status in (401, 403, 407) or _AUTH.search(label) or _KEY.search(complaint.text):
        return "auth"
    if status in (408, 504, 522, 524) or _TIMEOUT.search(label):
        return "timeout"
    if status is None or status >= 500 or status in (409, 425):
        return "server" if not label.startswith(("invalid_request", "not_found")) else "config"
    return "config"


def read_complaint(body: bytes) -> Complaint:
    try:
        return complaint_of(msgspec.json.decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        page = body.lstrip().startswith(b"<")
        return Complaint(text="" if page else clean(body.decode("utf-8", "replace")))


def complaint_of(error: Json) -> Complaint:
    """The innermost error: families wrap it in `error`, in a list, in `detail`, or send a bare text."""
    if isinstance(error, list):
        items = cast(list[Json], error)
        return complaint_of(items[0]) if items else Complaint()
    if not isinstance(error, dict):
        return Complaint(text=_word(error))
    fields = cast(dict[str, Json], error)
    if inner := fields.get("error"):
        found = complaint_of(inner)
        # A type beside `error` is Anthropic's envelope, which says no more than that; a code is a gateway's.
        return found if found.code else msgspec.structs.replace(found, code=_word(fields.get("code")))
    text = _word(fields.get("message") or fields.get("detail") or fields.get("msg"))
    if isinstance(metadata := fields.get("metadata"), dict):
        # A gateway's own words say little; what its upstream said is in here.
        behind = cast(dict[str, Json], metadata)
        reasons = _word(behind.get("reasons"))
        pieces = (text, _word(behind.get("raw")), f"flagged: {reasons}" if reasons else "")
        text = " ".join(piece for piece in pieces if piece)
    # Google says its kind of error as a `status` in words.
    kind = fields.get("type") or fields.get("status")
    return Complaint(type=_word(kind), code=_word(fields.get("code")), text=text)


def _word(value: Json) -> str:
    match value:
        case None | bool():
            return ""
        case str():
            return clean(value)
        case _:
            return clean(msgspec.json.encode(value).decode())
