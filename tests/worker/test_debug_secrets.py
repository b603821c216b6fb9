"""No secret is in the debug record: canaries of every kind are looked for in the raw database."""

import asyncio
import base64
import json
from pathlib import Path

from msgspec.structs import replace

from holdfast.core.ids import RandomIds
from holdfast.providers.interface import ModelRequest
from holdfast.store.query import query
from holdfast.telemetry.debug_recording import DebugRecorder
from tests.providers.replies import Status, fails, say
from tests.worker.engine import SETTINGS, Engine, model

KNOWN = "kn0wn-canary-value-0000"
TABLES = ("debug_runs", "debug_steps", "debug_attempts", "debug_texts")


def canary(kind: str) -> str:
    return f"canary-of-{kind}-7f3a9c"


REQUEST_HEADERS = {
    "Authorization": f"Bearer {canary('bearer')}",
    "x-api-key": canary("header"),
    "Cookie": f"session={canary('cookie')}",
    "X-Vendor-Secret": canary("vendor"),
}
ANSWER_HEADERS = {"Set-Cookie": f"id={canary('setcookie')}", "X-Session-Token": canary("session")}
BODY = {
    "model": "m",
    "max_tokens": 4321,
    "api_key": canary("apikey"),
    "auth": {"access_token": canary("access"), "client_secret": canary("client")},
    "db": [{"dbPassword": canary("dbpassword"), "private_key": canary("private")}],
    "aws_credentials": {"id": canary("credentials")},
    "messages": [
        {"content": f"curl https://me:{canary('userinfo')}@h.example/x?a=1&api_key={canary('query')}"},
        {"arguments": json.dumps({"password": canary("embedded"), "path": "/tmp"})},
        {"content": f"It is {KNOWN}, or {base64.b64encode(KNOWN.encode()).decode()}."},
        {"content": f"-----BEGIN PRIVATE KEY-----\n{canary('pem')}\n-----END PRIVATE KEY-----"},
    ],
}
ANSWER = (
    f'data: {{"delta": {{"refresh_token": "{canary("refresh")}", "text": "fine"}}}}\n\n'
    f'data: {{"arguments": "{{\\"secret\\": \\"{canary("streamed")}\\"}}"}}\n\ndata: [DONE]\n\n'
)
URL = f"https://user:{canary('url-user')}@api.example/v1/chat?api-version=1&key={canary('url-key')}"
ERROR = (
    f"no answer from https://u:{canary('error-user')}@api.example/?token={canary('error-token')}: "
    f"api_key={canary('error-named')}, {KNOWN}"
)


async def raw(engine: Engine, directory: Path) -> str:
    """Everything that the database has, as it is stored."""
    if engine.store.engine == "sqlite":
        return await asyncio.to_thread(_files, directory)
    tables = [
        await engine.store.read(
            query(f"SELECT t::text FROM {table} t", read=lambda rows: "\n".join(row[0] for row in rows))
        )
        for table in TABLES
    ]
    return "\n".join(tables)


def _files(directory: Path) -> str:
    files = [file for file in directory.rglob("*") if file.is_file() and ".db" in file.name]
    assert files
    return "".join(file.read_bytes().decode("latin-1") for file in files)


async def test_no_canary_is_in_the_database(engine_everywhere: Engine, tmp_path: Path) -> None:
    engine = engine_everywhere
    async with DebugRecorder(
        engine.store, engine.clock, RandomIds(), engine.metrics, lambda: [KNOWN]
    ) as recorder:
        chat = await engine.create("Hello")
        run = recorder.turn(chat, 1, engine.clock.now(), None)
        step = run.step("stream", ModelRequest(model=model(), messages=()), None)
        exchange = step.exchange("POST", URL, REQUEST_HEADERS, json.dumps(BODY).encode())
        exchange.answered(200, ANSWER_HEADERS)
        exchange.read(ANSWER.encode())
        exchange.failed(ERROR)
        refused = step.exchange("POST", URL, {}, b"")
        refused.answered(401, {})
        refused.read(json.dumps({"error": {"message": ERROR, "token": canary("token")}}).encode())
        refused.failed(ERROR)
        run.end("error")
        await recorder.written()
    stored = await raw(engine, tmp_path)
    assert "api.example" in stored
    assert "4321" in stored
    assert "fine" in stored
    assert "canary-of-" not in stored
    assert KNOWN not in stored
    assert base64.b64encode(KNOWN.encode()).decode()[:-2] not in stored


async def test_a_key_that_its_provider_repeats_is_not_in_the_database(
    engine_everywhere: Engine, tmp_path: Path
) -> None:
    engine = engine_everywhere
    key = "sk-test-123456"
    engine.server.queue(
        fails(Status(529, body=f"busy: {key}", headers={"X-Echo": f"was {key}"})), say("Hello.")
    )
    async with DebugRecorder(
        engine.store, engine.clock, RandomIds(), engine.metrics, engine.providers.known_keys
    ) as recorder:
        engine.start(replace(SETTINGS, debug="on"), debug=recorder)
        chat = await engine.create("Hello")
        await engine.idle(chat)
        await recorder.written()
        await engine.stop()
    stored = await raw(engine, tmp_path)
    assert "X-Echo" in stored
    assert key not in stored
