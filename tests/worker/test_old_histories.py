"""Histories that an older version left, or that were imported: calls without results, results without calls,
empty texts, the wrong order. A model is shown something legal at the first try; what is stored stays as it
is."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import asyncpg
import pytest

from holdfast.core.ids import ChatId
from holdfast.core.messages import Message
from holdfast.core.shapes import encode_text
from holdfast.store.open import FILE_NAME
from tests.worker.engine import Engine

Mess = Callable[[Sequence[Message]], list[str]]
CALLING = 'call: add {"a": 1, "b": 2}\nsay: Three.'
EMPTY_TEXT = '[{"type":"text","text":""}]'


def without_results(history: Sequence[Message]) -> list[str]:
    return [f"DELETE FROM messages WHERE id = '{one.id}'" for one in history if one.role == "tool"]


def without_calls(history: Sequence[Message]) -> list[str]:
    return [f"DELETE FROM messages WHERE id = '{history[1].id}'"]


def results_too_late(history: Sequence[Message]) -> list[str]:
    """The result stands behind the answer that was made of it."""
    result, answer = history[2], history[3]
    return [
        f"UPDATE messages SET role = '{role}', parts = '{encode_text(parts)}' WHERE id = '{message_id}'"
        for role, parts, message_id in (
            (answer.role, answer.parts, result.id),
            (result.role, result.parts, answer.id),
        )
    ]


def empty_texts(history: Sequence[Message]) -> list[str]:
    return [
        f"UPDATE messages SET parts = '{EMPTY_TEXT}' WHERE id = '{one.id}'"
        for one in (history[0], history[3], history[4])
    ]


def without_parts(history: Sequence[Message]) -> list[str]:
    return [
        f"UPDATE messages SET parts = '[]' WHERE id = '{one.id}'"
        for one in (history[0], history[2], history[3])
    ]


def beginning_with_an_answer(history: Sequence[Message]) -> list[str]:
    return [f"DELETE FROM messages WHERE id = '{history[0].id}'"]


async def rewrite(url: str, data: Path, statements: Sequence[str]) -> None:
    """As no version of ours would."""
    if url == "sqlite":
        await asyncio.to_thread(_rewrite_file, data / FILE_NAME, statements)
        return
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


def _rewrite_file(file: Path, statements: Sequence[str]) -> None:
    connection = sqlite3.connect(file, timeout=30)
    try:
        with connection:
            for statement in statements:
                connection.execute(statement)
    finally:
        connection.close()


async def stored(engine: Engine, chat: ChatId) -> list[tuple[str, str]]:
    return [(one.id, encode_text(one.parts)) for one in await engine.history(chat, for_model=True)]


@pytest.mark.parametrize("model", ["default", "claude"])
@pytest.mark.parametrize(
    "mess",
    [
        without_results,
        without_calls,
        results_too_late,
        empty_texts,
        without_parts,
        beginning_with_an_answer,
    ],
    ids=lambda mess: mess.__name__,
)
async def test_a_mess_of_old_heals_on_read(
    engine_everywhere: Engine, request: pytest.FixtureRequest, tmp_path: Path, mess: Mess, model: str
) -> None:
    engine = engine_everywhere
    url = "sqlite" if engine.store.engine == "sqlite" else request.getfixturevalue("postgres_url")
    engine.start()
    chat = await engine.create(CALLING, model=model)
    await engine.idle(chat)
    await engine.send(chat, CALLING)
    await engine.idle(chat)
    await rewrite(url, tmp_path, mess(await engine.history(chat)))
    before, asked = await stored(engine, chat), len(engine.asked)
    await engine.send(chat, "say: Fine.")
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", "Fine.")
    assert engine.server.refusals == []
    assert len(engine.asked) == asked + 1
    assert (await stored(engine, chat))[: len(before)] == before
