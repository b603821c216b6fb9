"""No spelling of a key survives, but ordinary text does."""

import base64
import json
from urllib.parse import quote

import pytest

from holdfast.providers.redact import MASK, Redactor

KEY = 'k/ey+with"odd\\chars&more='


@pytest.mark.parametrize(
    "spelled",
    [
        KEY,
        quote(KEY, safe=""),
        json.dumps(KEY),
        base64.b64encode(KEY.encode()).decode(),
        base64.b64encode(b"user:" + KEY.encode()).decode(),
        base64.b64encode(b"x:" + KEY.encode() + b"!").decode(),
        base64.urlsafe_b64encode(KEY.encode()).decode(),
        f"https://host/path?key={quote(KEY)}&x=1",
    ],
)
def test_a_known_key_in_any_spelling(spelled: str) -> None:
    shown = Redactor([KEY]).text(f"before {spelled} after")
    assert MASK in shown
    assert KEY not in shown
    assert "before" in shown
    for start in range(len(spelled) - 12):
        assert spelled[start : start + 12] not in shown.replace("https://host/path", "")


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdefghijklmnop",
        "sk-ant-api03-abcdefgh",
        "sk-ab***wxyz",
        "gsk_abcdefghijkl",
        "AIzaSyA1234567890abcdefghijklmno",
    ],
)
def test_what_looks_like_a_key(secret: str) -> None:
    assert secret not in Redactor().text(f"the key {secret} is wrong")


@pytest.mark.parametrize(
    "text, hidden",
    [
        ("Authorization: Bearer abc.def.ghi", "abc.def.ghi"),
        ('{"x-api-key": "0123456789"}', "0123456789"),
        ("api_key=0123456789&x", "0123456789"),
        ("https://me:hunter22@host/", "hunter22"),
        ("https://host/v1?key=0123456789&alt=sse", "0123456789"),
        ("password: correcthorse", "correcthorse"),
    ],
)
def test_what_is_called_a_secret(text: str, hidden: str) -> None:
    assert hidden not in Redactor().text(text)


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens",
        "The model `gpt-5.6-terra` does not exist or you do not have access to it.",
        "messages.5: `tool_use` ids were found without `tool_result` blocks: toolu_01SWBkC2GPGhoSfEqTZ6y91b",
        "Set ANTHROPIC_API_KEY in the environment",
        "risk-averse task-oriented desk-bound",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert Redactor([KEY, None, ""]).text(text) == text
