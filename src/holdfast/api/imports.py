"""A chat from a file written by `export`. It becomes a new idle chat that belongs to the importer. The file
is received piece by piece and read in a thread; the chat is created completely or not at all. The same
content is imported once: the chat's id follows from the importer and the content."""

import asyncio
import hashlib
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from litestar import Request, Response, Router, post
from msgspec import UNSET
from msgspec.structs import replace

from holdfast.accounts.access import Caller
from holdfast.api.bodies import JsonRequest
from holdfast.api.chat_answers import created
from holdfast.api.checks import Labels, budget_of, check_model
from holdfast.api.commands import answered, json_response, key_of, once_of
from holdfast.api.import_scan import Read
from holdfast.api.import_shapes import Exported, read_export
from holdfast.api.problems import Problem, invalid
from holdfast.api.services import By, Services, With, needs
from holdfast.chats.change import Refusal
from holdfast.chats.commands import Import
from holdfast.chats.start import ImportStart, begin
from holdfast.core.chats import Chat
from holdfast.core.files import StoredFile
from holdfast.core.ids import ChatId, FileId, named_uuid7
from holdfast.core.messages import Message
from holdfast.core.parts import File
from holdfast.core.shapes import encode
from holdfast.store import chats, files, idempotency_keys
from holdfast.store.interface import Applied

MAX_IMPORT_BYTES = 50 * 1024 * 1024


async def _key_comes_later(request: Request[Any, Any, Any]) -> None:
    """Looking for an earlier answer now would read the whole body into memory."""
    key_of(request)


@post(
    "/chats/import",
    guards=[needs("chats:write")],
    status_code=201,
    before_request=_key_comes_later,
    request_max_body_size=None,
)
async def import_chat(request: JsonRequest, services: With, caller: By) -> Response[Chat]:
    """Import a chat that `export` wrote as JSON, of at most 50 MiB: a new idle chat of the caller, with new
    ids. Importing the same content again returns the existing chat (200), as long as it exists."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem("unsupported_media_type", "The body must be application/json.")
    async with services.files.incoming(MAX_IMPORT_BYTES) as incoming:
        async for piece in request.stream():
            if incoming.size + len(piece) > MAX_IMPORT_BYTES:
                raise Problem("too_large", "The body is larger than the limit of 50 MiB for an import.")
            if piece:
                await incoming.write(piece)
        return await _import(request, services, caller, incoming.path, incoming.hash)


async def _import(
    request: JsonRequest, services: Services, caller: Caller, path: Path, fingerprint: str
) -> Response[Chat]:
    command: Import | None = None

    def answer(applied: Applied) -> tuple[int, object]:
        assert command is not None
        return 201, created(applied, command.settings, None)

    once = await once_of(caller, request, answer, fingerprint=fingerprint)
    earlier = None if once is None else await services.store.read(idempotency_keys.stored(once))
    if earlier is not None:
        return answered(earlier, answer)
    async with services.importing:
        exported = await asyncio.to_thread(_read, path)
        name = hashlib.sha256(caller.user.id.encode() + exported.digest).digest()
        chat_id = ChatId(named_uuid7(exported.messages[0].created_at, name))
        own = await services.store.read(files.files(exported.files, caller.user.id))
        messages = await asyncio.to_thread(_adopted, services, caller, exported, own)
        await services.files.use(own, chat_id)
        command = begin(_start(services, caller, exported.chat, messages))
        del exported, messages
        outcome = await services.store.transition(chat_id, command, once=once)
    if isinstance(outcome, Refusal) and outcome.code == "wrong_state":
        found = await services.store.read(chats.chat(chat_id))
        if found is not None:
            return json_response(200, encode(found))
    return answered(outcome, answer)


def _read(path: Path) -> Exported:
    with _reading(path) as read:
        return read_export(read)


@contextmanager
def _reading(path: Path) -> Generator[Read]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield lambda at, count: os.pread(descriptor, count, at)
    finally:
        os.close(descriptor)


def _start(services: Services, caller: Caller, chat: Any, messages: tuple[Message, ...]) -> ImportStart:
    """The chat's settings, as far as they are valid here."""
    labels = () if chat.labels is UNSET else chat.labels
    try:
        msgspec.convert(labels, Labels)
    except msgspec.ValidationError as error:
        raise invalid("chat.labels", str(error)) from None
    model, effort = _text(chat.model) or None, _text(chat.effort) or None
    try:
        check_model(services, model, effort)
    except Problem:
        model = effort = None
    return ImportStart(
        owner_id=caller.user.id,
        messages=messages,
        name=_text(chat.title),
        summary=_text(chat.summary),
        model=model,
        effort=effort,
        budget=budget_of(None, services),
        labels=labels,
        pinned=chat.pinned is True,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _adopted(
    services: Services, caller: Caller, exported: Exported, own: Mapping[FileId, StoredFile]
) -> tuple[Message, ...]:
    """As messages of the importer. A file part is only kept as a file if it is the importer's own; any other
    id refers to nothing."""
    now = services.clock.now()
    parts: dict[FileId, File] = {file_id: file.part for file_id, file in own.items()}
    nowhere = {file_id: FileId(services.ids.uuid7(now)) for file_id in exported.files if file_id not in own}

    def adopted(message: Message) -> Message:
        message = replace(message, created_by=caller.user.id if message.role == "user" else None)
        if not exported.files or not any(isinstance(part, File) for part in message.parts):
            return message
        return replace(
            message,
            parts=tuple(
                parts.get(part.file_id) or replace(part, file_id=nowhere[part.file_id])
                if isinstance(part, File)
                else part
                for part in message.parts
            ),
        )

    return tuple(adopted(message) for message in exported.messages)


router = Router("/", route_handlers=[import_chat], tags=["export"])
