"""What is pasted into a chat does not show up where titles do."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from holdfast.providers.redact import without_secrets
from tests.api.serving import Serving, config_for, serving

HEX = "0123456789abcdef" * 4
SECRETS = (
    f"http://127.0.0.1:8420/login#token=hf_{'a1' * 22}",
    f"hf_{'B2' * 22}",
    "sk-ant-api03-abcdefghijklmnop",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "password=correcthorse",
    "postgresql://user:correcthorse@host/db",
    HEX,
)
HARMLESS = (
    "Mend the test in tests/security/test_secrets_in_titles_that_have_very_long_names_indeed_0.py",
    "See https://example.com/a/very/long/address-with-many-words-in-it-0123456789/and?so=on",
    "Antidisestablishmentarianism-and-other-very-long-words-of-ours",
    "What does `key_value` mean in a token bucket?",
    "Rename token_of to owner_of",
)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Serving]:
    async with serving(config_for(tmp_path / "data")) as running:
        yield running


async def test_titles_and_summaries(server: Serving) -> None:
    secret = SECRETS[0].partition("=")[2]
    chat = await server.admin.start_chat(f"Use {SECRETS[0]}\nsay: I used {secret}")
    ended = await server.admin.until(chat["id"], lambda now: bool(now["title"] and now["summary"]))
    assert ended["title"].startswith("Use http://127.0.0.1:8420/login#token=")
    assert "hf_" not in ended["title"] + ended["summary"]
    listed = (await server.admin.get("chats")).json["items"]
    assert "hf_" not in str([one["title"] for one in listed])


async def test_a_secret_at_the_cut(server: Serving) -> None:
    """Cut in the middle it would not be known for what it is."""
    chat = await server.admin.start_chat("x" * 74 + f" hf_{'a1' * 22}\nsay: done")
    ended = await server.admin.until(chat["id"], lambda now: bool(now["title"]))
    assert "hf_" not in ended["title"]


def test_what_is_taken_for_a_secret() -> None:
    for secret in SECRETS:
        line = without_secrets(f"Look at {secret} please")
        assert "[redacted]" in line, secret
        assert secret.rpartition("=")[2].rpartition(":")[2].partition("@")[0] not in line, secret
        assert line.startswith("Look at ")
        assert line.endswith(" please")
    for line in HARMLESS:
        assert without_secrets(line) == line
