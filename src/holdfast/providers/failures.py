"""Why an attempt failed, as people are told: the text says what to change. Everything a provider or an
exception said is redacted first."""

import asyncio
import re
import socket
import ssl
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from urllib.parse import urlsplit

from msgspec import structs

from holdfast.core.errors import AttemptFailed
from holdfast.core.failures import Failure, ModelLimits
from holdfast.core.shapes import Json
from holdfast.core.text import clean, one_line
from holdfast.providers.backoff import RETRY_RULE, retry_after_seconds
from holdfast.providers.error_bodies import (
    RETRY_IN,
    RETRYABLE,
    Complaint,
    FailureKind,
    classify,
    complaint_of,
    read_complaint,
)
from holdfast.providers.model_limits import output_limit
from holdfast.providers.redact import Redactor

DETAIL_CHARACTERS = 2000
# Of a longer text not even the beginning of its end is shown.
_LOOKED_AT = 100_000


class Endpoint:
    """Whom a failure is about, so that its text can say what to change; and the redactor of that one's
    secrets."""

    def __init__(self, *, provider: str, url: str, key_place: str, redactor: Redactor) -> None:
        self.provider = provider
        self.url = url
        self.host = urlsplit(url).netloc
        self.key_place = key_place
        self.redactor = redactor

    def failed(
        self,
        kind: FailureKind,
        message: str,
        *,
        detail: str | None = None,
        status: int | None = None,
        retry_after: float | None = None,
        limits: ModelLimits | None = None,
    ) -> AttemptFailed:
        return AttemptFailed(
            Failure(
                kind=kind,
                message=self.redactor.text(clean(message)),
                detail=self._detail(detail),
                provider=self.provider,
                status_code=status,
                retryable=kind in RETRYABLE,
            ),
            retry_after,
            limits,
        )

    def refused(
        self, model: str, status: int, headers: Mapping[str, str], body: bytes, now: datetime | None = None
    ) -> AttemptFailed:
        """An answer whose status is not 200."""
        complaint = self._redacted(read_complaint(body))
        kind = classify(status, complaint)
        if _is_page(headers, body) and kind in ("config", "auth"):
            return self.not_a_model_server(body, status)
        return self.failed(
            kind,
            self._message(kind, model, complaint, status),
            detail=complaint.text or body.decode("utf-8", "replace"),
            status=status,
            retry_after=retry_after_seconds(headers, now or datetime.now(UTC)) or _retry_in(complaint),
            limits=_limits(kind, complaint),
        )

    def complained(self, model: str, error: Json) -> AttemptFailed:
        """An error inside a stream that began well."""
        complaint = self._redacted(complaint_of(error))
        status = int(complaint.code) if re.fullmatch(r"[45]\d\d", complaint.code) else None
        kind = classify(status, complaint)
        return self.failed(
            kind,
            self._message(kind, model, complaint, status),
            detail=complaint.text,
            status=status,
            limits=_limits(kind, complaint),
        )

    def not_a_model_server(self, body: bytes, status: int) -> AttemptFailed:
        return self.failed(
            "config",
            f"What answers at {self.url} is not a model server: it sent a web page. "
            f"Check base_url of [providers.{self.provider}].",
            detail=body.decode("utf-8", "replace"),
            status=status,
        )

    def unstreamed(self) -> AttemptFailed:
        return self.failed(
            "config",
            f"{self.provider} answered in one piece where a stream was asked for. "
            f"Check base_url of [providers.{self.provider}].",
        )

    def other_format(self, asked: str, answered: str) -> AttemptFailed:
        """It answers, but not in the format that it was asked in."""
        hint = _FORMAT_HINTS.get(answered, "its kind")
        return self.failed(
            "config",
            f"{self.provider} was asked in the {asked} format and answers in the {answered} format. "
            f"Check {hint} of [providers.{self.provider}].",
        )

    def cannot_run(self, model: str, tools: Iterable[str]) -> AttemptFailed:
        """Tools were switched on that the provider would have to run, and does not."""
        named = " and ".join(tools)
        return self.failed(
            "config",
            f"{self.provider} does not run {named} for the model {model}. Switch it off (provider_tools), or "
            "choose another model.",
        )

    def silent(self, seconds: float) -> AttemptFailed:
        return self.failed("timeout", f"{self.provider} ({self.host}) sent nothing for {seconds:g} seconds.")

    def cut_off(self) -> AttemptFailed:
        return self.failed("transport", f"The answer of {self.provider} ended before it was complete.")

    def unreadable(self, payload: bytes) -> AttemptFailed:
        return self.failed(
            "server",
            f"{self.provider} sent something that cannot be read as an answer.",
            detail=payload.decode("utf-8", "replace"),
        )

    def broken(self, error: Exception) -> AttemptFailed:
        """The connection failed, or never came to be."""
        kind, message = self._broken(error)
        return self.failed(kind, message, detail=f"{type(error).__name__}: {error}")

    def _broken(self, error: Exception) -> tuple[FailureKind, str]:
        import aiohttp

        where = f"{self.provider} ({self.host})"
        hint = f"check base_url of [providers.{self.provider}]"
        match error:
            case aiohttp.ClientConnectorCertificateError() | ssl.SSLCertVerificationError():
                return (
                    "config",
                    f"The certificate of {where} is not trusted; {hint} or the machine's certificates.",
                )
            case aiohttp.ClientConnectorDNSError() | socket.gaierror():
                return "transport", f"The name of {where} cannot be resolved; {hint} and the network."
            case aiohttp.ClientSSLError() | ssl.SSLError():
                return "transport", f"A secure connection to {where} could not be made; {hint}."
            case aiohttp.ClientProxyConnectionError():
                return (
                    "transport",
                    f"The proxy on the way to {where} cannot be reached; check the proxy settings.",
                )
            case aiohttp.ClientConnectorError() if isinstance(error.os_error, ConnectionRefusedError):
                return "transport", f"Nobody answers at {where}. Is the server running? If it is, {hint}."
            case aiohttp.ClientConnectorError():
                return "transport", f"{where} cannot be reached; {hint} and the network."
            case aiohttp.InvalidURL():
                return "config", f"The address of {where} is not one; {hint}."
            case asyncio.TimeoutError():
                return "timeout", f"{where} could not be reached in time; {hint} and the network."
            case aiohttp.ClientResponseError():
                return "transport", f"What answers at {where} does not speak HTTP; {hint}."
            case _:
                return "transport", f"The connection to {where} was lost."

    def _message(self, kind: FailureKind, model: str, complaint: Complaint, status: int | None) -> str:
        said = one_line(complaint.text, 300)
        by = f"{self.provider} (HTTP {status})" if status else self.provider
        match kind:
            case "auth":
                return f"{by} refused the key. Set a valid one in {self.key_place}."
            case "usage_limit":
                return f"The account at {by} has no credit left or is at its limit. Top it up or use another."
            case "context_overflow":
                return f"The conversation is longer than the model {model} can take."
            case "output_limit":
                return (
                    f"The model {model} writes shorter answers than were asked for. "
                    f"Set a lower max_output for it. It says: {said}"
                )
            case "no_tools":
                return f"The model {model} cannot use tools. Set tools = false for it. It says: {said}"
            case "content_filter":
                return f"{by} refused this because of its rules for content. Change the message or the model."
            case "overloaded":
                return f"{by} is overloaded."
            case "rate_limit":
                return f"{by} allows no more requests for the moment."
            case "timeout":
                return f"{by} took too long."
            case "server" | "transport":
                return f"{by} failed: {said}" if said else f"{by} failed."
            case "disabled":
                return f"{self.provider} is disabled."
            case "config":
                return self._config_message(by, model, complaint, status, said)

    def _config_message(
        self, by: str, model: str, complaint: Complaint, status: int | None, said: str
    ) -> str:
        if status is not None and 300 <= status < 400:
            return (
                f"{by} sends us elsewhere. Set base_url of [providers.{self.provider}] to its final address."
            )
        if _MODEL_UNKNOWN.search(f"{complaint.code} {complaint.type} {complaint.text}"):
            return f"{by} does not know the model {model}. Change `model` in its config. It says: {said}"
        if status in (404, 405):
            hint = f"Check base_url of [providers.{self.provider}]."
            return f"There is no model server at {self.url}. {hint} {said}".rstrip()
        return f"{by} refused the request: {said}" if said else f"{by} refused the request."

    def _redacted(self, complaint: Complaint) -> Complaint:
        """Before anything is cut: a key at the cut would lose the end by which it is known."""
        return structs.replace(complaint, text=self.redactor.text(complaint.text))

    def _detail(self, detail: str | None) -> str | None:
        if not detail:
            return None
        text = self.redactor.text(clean(detail[:_LOOKED_AT]))
        return text if len(text) <= DETAIL_CHARACTERS else text[: DETAIL_CHARACTERS - 1] + "…"


_FORMAT_HINTS = {"chat": 'api ("chat" or "responses")', "responses": 'api ("chat" or "responses")'}
_ANTHROPIC_EVENTS = frozenset(
    {"message_start", "content_block_start", "content_block_delta", "message_delta"}
)


def format_of(kind: str | None, choices: Json, candidates: Json) -> str | None:
    """The format that an event is of, by what only it has; None when that is not clear."""
    if choices is not None:
        return "chat"
    if candidates is not None:
        return "google"
    if kind is not None and kind.startswith("response."):
        return "responses"
    return "anthropic" if kind in _ANTHROPIC_EVENTS else None


_MODEL_UNKNOWN = re.compile(
    r"model_not_found|no such model|unknown model|invalid model|not a valid model|not_found_error model:"
    r"|models?\b.{0,120}\b(?:does not exist|not found|not exist|is not supported)",
    re.IGNORECASE,
)


def _retry_in(complaint: Complaint) -> float | None:
    found = RETRY_IN.search(complaint.text)
    return min(float(found[1]), RETRY_RULE.most_seconds) if found else None


def _limits(kind: FailureKind, complaint: Complaint) -> ModelLimits | None:
    match kind:
        case "output_limit":
            return output_limit(complaint.text)
        case "no_tools":
            return ModelLimits(tools=False)
        case _:
            return None


def _is_page(headers: Mapping[str, str], body: bytes) -> bool:
    return "html" in headers.get("content-type", "").lower() or body.lstrip()[:1] == b"<"
