"""What is stored of requests and answers: without secrets and file contents, and bounded."""

import base64
import json
import time

import pytest
from typing_extensions import override

from holdfast.core.shapes import Json
from holdfast.providers.exchange_redaction import (
    BODY_BYTES,
    TEXT_CHARACTERS,
    ExchangeRedactor,
    is_secret_name,
)
from holdfast.providers.exchanges import COLLECTED_BYTES
from holdfast.providers.redact import MASK

REDACTOR = ExchangeRedactor(lambda: ["our-own-key-1234"])
REDACTOR.refresh()


@pytest.mark.parametrize(
    "name",
    [
        "api_key",
        "apiKey",
        "x-api-key",
        "access_token",
        "private_key",
        "clientSecret",
        "DB_PASSWORD",
        "credentials",
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["max_tokens", "tokens", "key", "prompt_cache_key", "total_tokens", "name"])
def test_names_of_other_things(name: str) -> None:
    assert not is_secret_name(name)


def test_headers() -> None:
    shown = REDACTOR.headers(
        {"Authorization": "Bearer x", "X-Token-Count": "1", "Accept": "our-own-key-1234"}
    )
    assert shown == {"Authorization": MASK, "X-Token-Count": MASK, "Accept": MASK}


def test_a_long_text_is_cut_and_its_length_is_beside_it() -> None:
    body = json.loads(REDACTOR.request_body(json.dumps({"text": "a" * 12_345}).encode()) or "")
    assert body == {"text": "a" * TEXT_CHARACTERS, "text_length": 12_345}


def test_a_long_body_keeps_its_beginning_and_its_end() -> None:
    messages = [f"message {number} " + "x" * 5000 for number in range(40)]
    body = REDACTOR.request_body(json.dumps({"messages": messages}).encode()) or ""
    assert len(body.encode()) <= BODY_BYTES
    assert "message 0 " in body
    assert body.endswith('x"]}')


def test_contents_of_files_are_left_out() -> None:
    data = base64.b64encode(b"the contents of a file" * 50).decode()
    shapes = [
        {"image_url": {"url": f"data:image/png;base64,{data}"}},
        {"source": {"type": "base64", "media_type": "image/png", "data": data}},
        {"inlineData": {"mimeType": "image/png", "data": data}},
        {"file": {"file_data": f"data:application/pdf;base64,{data}"}},
    ]
    body = REDACTOR.request_body(json.dumps(shapes).encode()) or ""
    assert data[:40] not in body
    assert body.count("characters of a file") == 4


def test_what_the_end_of_a_long_answer_cuts_is_not_kept() -> None:
    """Half of a key is not known for one."""
    answer = b"x" * (COLLECTED_BYTES - 8) + b"our-own-"
    shown = REDACTOR.answer(answer, COLLECTED_BYTES * 2) or ""
    assert "our-own" not in shown
    assert len(shown.encode()) <= BODY_BYTES + 100
    assert str(COLLECTED_BYTES * 2) in shown


def test_events_without_secrets_stay_as_they_are() -> None:
    stream = 'data: {"b":  1, "a": "text"}\n\n: comment\n\ndata: [DONE]\n\n'
    assert REDACTOR.answer(stream.encode(), len(stream)) == stream


@pytest.mark.parametrize(
    "hostile",
    [
        "a" * 60_000 + "://secret",
        "secret=" * 9000,
        'password: "' + '\\"' * 30_000,
        "a://" * 15_000,
        "data:" * 12_000 + "base64,",
    ],
)
def test_hostile_texts_take_no_time(hostile: str) -> None:
    """The processor's time, which others on the machine do not take."""
    began = time.process_time()
    REDACTOR.text(hostile)
    REDACTOR.json({"text": hostile})
    assert time.process_time() - began < 5


@pytest.mark.parametrize("before", ["", " ", "\n", "\t", "\x01", "é", '"', "/", "="])
def test_keys_are_found_wherever_a_word_begins(before: str) -> None:
    key = "sk-live-abcdef123456"
    message = json.dumps(
        {"messages": [{"content": f"fine{before or ' '}{key}"}, {"content": f"{before}{key}"}]}
    )
    assert key not in (REDACTOR.request_body(message.encode()) or "")
    assert key not in REDACTOR.encoded(json.loads(message)).decode()
    events = f'data: {{"a": "fine"}}\n\ndata: {message}\n\ndata: {{"b": "fine"}}\n'
    shown = REDACTOR.answer(events.encode(), len(events.encode())) or ""
    assert key not in shown
    assert shown.startswith('data: {"a": "fine"}\n\ndata: ')
    assert shown.endswith('\n\ndata: {"b": "fine"}\n')


def test_lists_under_the_name_of_a_secret() -> None:
    body = REDACTOR.request_body(b'{"credentials": ["abc"], "messages": ["x"], "n": 1.50}')
    assert body == f'{{"credentials":"{MASK}","messages":["x"],"n":1.50}}'


class Counting(ExchangeRedactor):
    looked_into = 0

    @override
    def json(self, value: Json, depth: int = 0) -> Json:
        self.looked_into += 1
        return super().json(value, depth)


def test_what_requests_have_in_common_is_looked_into_once_until_the_known_keys_change() -> None:
    known = ["our-own-key-1234"]
    redactor = Counting(lambda: known)
    redactor.refresh()
    messages = [f"password={number} the-next-key-5678" for number in range(20)]
    first = redactor.request_body(json.dumps({"messages": messages}).encode())
    assert first is not None
    assert "the-next-key-5678" in first
    at_first = redactor.looked_into
    redactor.request_body(json.dumps({"messages": [*messages, "password=20"]}).encode())
    assert redactor.looked_into == at_first + 1
    known.append("the-next-key-5678")
    redactor.refresh()
    assert "the-next-key-5678" not in (
        redactor.request_body(json.dumps({"messages": messages}).encode()) or ""
    )


def test_words_that_only_end_like_a_key_are_not_looked_into() -> None:
    redactor = Counting(list)
    redactor.refresh()
    redactor.request_body(
        json.dumps({"messages": ["Ask with ask_user; a task-list; monkey-patches"]}).encode()
    )
    assert redactor.looked_into == 0
