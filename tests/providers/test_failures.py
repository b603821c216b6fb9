"""The one classification of failures, by what each family really says; how long to wait; what people are
told."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import msgspec
import pytest

from holdfast.providers.backoff import RETRY_RULE, retry_after_seconds
from holdfast.providers.error_bodies import Complaint, classify, read_complaint
from holdfast.providers.failures import Endpoint
from holdfast.providers.redact import Redactor

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Said(msgspec.Struct):
    """A row of complaints.jsonl: what a provider really said, and what we make of it."""

    status: int
    kind: str
    body: str


SAID = [
    msgspec.json.decode(line, type=Said)
    for line in (Path(__file__).parent / "complaints.jsonl").read_bytes().splitlines()
]


@pytest.mark.parametrize("said", SAID, ids=lambda said: f"{said.status}-{said.kind}")
def test_what_providers_say(said: Said) -> None:
    assert classify(said.status, read_complaint(said.body.encode())) == said.kind


@pytest.mark.parametrize(
    "complaint, kind",
    [
        (Complaint(type="overloaded_error"), "overloaded"),
        (Complaint(type="api_error"), "server"),
        (Complaint(type="rate_limit_error"), "rate_limit"),
        (Complaint(type="timeout_error"), "timeout"),
        (Complaint(type="authentication_error"), "auth"),
        (Complaint(type="invalid_request_error", text="bad"), "config"),
        (Complaint(code="insufficient_system_resource"), "overloaded"),
        (Complaint(code="context_length_exceeded"), "context_overflow"),
        (Complaint(code="content_filter"), "content_filter"),
        (Complaint(), "server"),
    ],
)
def test_errors_inside_a_stream(complaint: Complaint, kind: str) -> None:
    assert classify(None, complaint) == kind


def test_a_very_deep_body_is_only_text() -> None:
    assert classify(400, read_complaint(b"[" * 100_000)) == "config"


# Waiting


def test_the_schedule() -> None:
    delays = [RETRY_RULE.delay_seconds(attempt) for attempt in range(1, 26)]
    assert delays == [1, 2, 4, 8, 16, 32, *[60] * 18, None]


@pytest.mark.parametrize(
    "attempt, asked, delay", [(1, 7, 7), (5, 7, 16), (1, 1e9, 60), (1, 0, 1), (24, None, 60), (25, 7, None)]
)
def test_the_wait_is_at_least_what_the_provider_asks_for(
    attempt: int, asked: float | None, delay: float | None
) -> None:
    assert RETRY_RULE.delay_seconds(attempt, asked) == delay


@pytest.mark.parametrize(
    "written, seconds",
    [
        ("7", 7),
        ("7.5", 7.5),
        ("1000000000", 60),
        ("9" * 500, None),
        ("1e400", None),
        ("nan", None),
        ("-1", None),
        ("", None),
        ("tomorrow", None),
        (format_datetime(NOW + timedelta(seconds=20), usegmt=True), 20),
        (format_datetime(NOW + timedelta(days=20), usegmt=True), 60),
        (format_datetime(NOW - timedelta(days=20), usegmt=True), 0),
        ("Thu, 01 Jan 2026 00:00:30", 30),
    ],
)
def test_retry_after_is_read_and_capped(written: str, seconds: float | None) -> None:
    assert retry_after_seconds({"retry-after": written}, NOW) == seconds


def test_milliseconds_count_more() -> None:
    assert retry_after_seconds({"retry-after-ms": "1500", "retry-after": "9"}, NOW) == 1.5
    assert retry_after_seconds({}, NOW) is None


# Texts


def endpoint(key: str = "sk-live-abcdefghijkl") -> Endpoint:
    return Endpoint(
        provider="corp",
        url="https://models.corp.example/v1",
        key_place="the environment variable CORP_KEY",
        redactor=Redactor([key]),
    )


def told(status: int, body: str) -> str:
    return endpoint().refused("big-model", status, {}, body.encode(), NOW).failure.message


def test_people_are_told_what_to_change() -> None:
    assert (
        told(401, "{}")
        == "corp (HTTP 401) refused the key. Set a valid one in the environment variable CORP_KEY."
    )
    assert "base_url of [providers.corp]" in told(404, '{"detail":"Not Found"}')
    assert "base_url of [providers.corp]" in told(301, "")
    unknown = told(
        404, '{"error":{"message":"The model `big-model` does not exist","code":"model_not_found"}}'
    )
    assert unknown.startswith(
        "corp (HTTP 404) does not know the model big-model. Change `model` in its config."
    )
    assert "no credit left" in told(402, "{}")
    assert "big-model" in told(400, '{"error":{"code":"context_length_exceeded"}}')
    assert told(400, '{"error":{"message":"max_tokens: 32000 > 8192"}}').endswith("max_tokens: 32000 > 8192")


def test_what_a_provider_said_is_kept_in_short() -> None:
    found = endpoint().refused("m", 500, {}, b"x" * 100_000, NOW).failure
    assert found.detail is not None
    assert len(found.detail) == 2000
    assert len(found.message) < 400


def test_keys_that_providers_echo_are_removed() -> None:
    key = "sk-live-abcdefghijkl"
    body = f'{{"error":{{"message":"Key {key} is wrong","code":"invalid_api_key"}}}}'
    found = endpoint(key).refused("m", 400, {}, body.encode(), NOW).failure
    assert key not in repr(found)
    broken = endpoint(key).broken(OSError(f"headers: Authorization: Bearer {key}")).failure
    assert key not in repr(broken)
    cut = endpoint(key).refused("m", 500, {}, ("x" * 1990 + key).encode(), NOW).failure
    assert "sk-live" not in repr(cut)
