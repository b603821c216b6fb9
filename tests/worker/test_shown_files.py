"""Files of messages as models are sent them, over the wire formats that take them."""

import base64
import io
from pathlib import Path

import pytest
from PIL import Image

from holdfast.chats.commands import Create
from holdfast.core.accounts import User
from holdfast.core.chats import Settings
from holdfast.core.files import StoredFile
from holdfast.core.ids import ChatId, RandomIds, UserId
from holdfast.core.parts import Text
from holdfast.files.stored_files import StoredFiles
from holdfast.store import users
from tests.worker.engine import OWNER, STRANGER, Engine, model

INPUTS = ("text", "image", "pdf")


def png() -> bytes:
    written = io.BytesIO()
    Image.new("RGB", (8, 8), (200, 10, 10)).save(written, "PNG")
    return written.getvalue()


async def kept(engine: Engine, files: StoredFiles, owner: UserId, content: bytes, name: str) -> StoredFile:
    now = engine.clock.now()
    await engine.store.write(
        users.create(User(id=owner, name=owner, role="member", suspended_at=None, created_at=now))
    )
    async with files.incoming() as incoming:
        await incoming.write(content)
        return await files.keep(incoming, owner, name)


async def asked_with(engine: Engine, files: StoredFiles, file: StoredFile, name: str) -> object:
    """The content of the user's message as the provider got it."""
    engine.configure(model(name, inputs=INPUTS))
    engine.start(files=files)
    chat_id = ChatId(RandomIds().uuid7(engine.clock.now()))
    parts = (Text(text="say: I see."), file.part)
    await engine.do(chat_id, Create(owner_id=OWNER, settings=Settings(model=name), parts=parts))
    await engine.idle(chat_id)
    return engine.asked[0].body["messages"][-1]["content"]


def opened(engine: Engine, tmp_path: Path) -> StoredFiles:
    return StoredFiles(
        engine.store, tmp_path, most_bytes=2**20, quota_bytes=2**30, clock=engine.clock, ids=RandomIds()
    )


@pytest.mark.parametrize("name", ["default", "claude"])
async def test_a_picture_reaches_the_model(engine_everywhere: Engine, tmp_path: Path, name: str) -> None:
    engine = engine_everywhere
    files = opened(engine, tmp_path)
    content = png()
    file = await kept(engine, files, OWNER, content, "red.png")
    sent = str(await asked_with(engine, files, file, name))
    assert base64.b64encode(content).decode() in sent
    assert "image/png" in sent
    assert engine.server.refusals == []


async def test_a_text_is_told_in_words(engine: Engine, tmp_path: Path) -> None:
    files = opened(engine, tmp_path)
    file = await kept(engine, files, OWNER, b"The word is holdfast.", "word.txt")
    assert "The word is holdfast." in str(await asked_with(engine, files, file, "default"))


async def test_a_strangers_file_is_not_read(engine: Engine, tmp_path: Path) -> None:
    """AC-10: whatever a message names."""
    files = opened(engine, tmp_path)
    file = await kept(engine, files, STRANGER, b"secret", "theirs.txt")
    sent = str(await asked_with(engine, files, file, "default"))
    assert "secret" not in sent
    assert "theirs.txt" in sent


async def test_files_are_shown_from_the_first_on_as_far_as_they_fit(engine: Engine, tmp_path: Path) -> None:
    files = opened(engine, tmp_path)
    first = await kept(engine, files, OWNER, b"a" * 100, "a.txt")
    second = await kept(engine, files, OWNER, b"b" * 100, "b.txt")
    shown = await files.shown((first.part, second.part, first.part), OWNER)
    assert list(shown) == [first.id, second.id]
