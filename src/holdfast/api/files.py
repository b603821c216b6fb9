"""Files for messages: uploaded as a form, served as a download that no browser opens by itself."""

import hashlib
from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Any, cast

from litestar import Request, Response, Router, get, post
from multipart import (  # pyright: ignore[reportMissingTypeStubs]
    MultipartError,
    MultipartSegment,
    ParserLimitReached,
    PushMultipartParser,
    parse_options_header,  # pyright: ignore[reportUnknownVariableType]
)

from holdfast.api.bodies import JsonRequest
from holdfast.api.commands import answered, key_of, once_of
from holdfast.api.problems import BODY, Problem, invalid, not_found
from holdfast.api.services import By, InPath, Services, With, needs
from holdfast.core.files import StoredFile
from holdfast.core.ids import FileId, is_uuid7
from holdfast.core.shapes import Record
from holdfast.files.media import disposition
from holdfast.files.stored_files import Incoming
from holdfast.store import idempotency_keys

FIELD = "file"
# A browser may also send the names of other fields.
_MOST_PARTS = 20
_AROUND_BYTES = 64 * 1024
# Even if a browser shows it in spite of everything, it can do nothing.
_SEALED = {"Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff"}


class FileShown(Record, frozen=True, kw_only=True):
    id: FileId
    name: str
    media_type: str
    size: int
    created_at: datetime


async def _key_comes_later(request: Request[Any, Any, Any]) -> None:
    """Looking for an earlier answer now would read the whole body into memory."""
    key_of(request)


@post(
    "/files",
    guards=[needs("chats:write")],
    status_code=201,
    before_request=_key_comes_later,
    request_max_body_size=None,
)
async def upload_file(request: JsonRequest, services: With, caller: By) -> Response[FileShown]:
    """Upload one file (multipart/form-data, in the field `file`) for messages to name: png, jpeg, gif, webp,
    pdf or text. A file that no chat uses is removed after a day."""

    def answer(kept: StoredFile) -> tuple[int, object]:
        return 201, _shown(kept)

    async with services.files.incoming() as incoming:
        name = await _receive(request, incoming)
        # Not of the whole form, because its boundary differs each time.
        fingerprint = hashlib.sha256(f"{incoming.hash} {name}".encode(errors="replace")).hexdigest()
        once = await once_of(caller, request, answer, fingerprint=fingerprint)
        earlier = None if once is None else await services.store.read(idempotency_keys.stored(once))
        if earlier is not None:
            return answered(earlier, answer)
        return answered(await services.files.keep_once(incoming, caller.user.id, name, once), answer)


@get("/files/{file_id:str}", guards=[needs("chats:read")], media_type="application/octet-stream")
async def download_file(file_id: InPath, services: With, caller: By) -> Response[bytes]:
    """The content, always as a download."""
    file = await own_file(services, caller, file_id)
    return Response(
        await services.files.read(file),
        media_type=file.media_type,
        headers={**_SEALED, "Content-Disposition": disposition(file.name)},
    )


@get("/files/{file_id:str}/thumbnail", guards=[needs("chats:read")], media_type="image/png")
async def file_thumbnail(file_id: InPath, services: With, caller: By) -> Response[bytes]:
    """A PNG of at most 300 x 300 pixels; 404 if the file is not a picture."""
    small = await services.files.thumbnail(await own_file(services, caller, file_id))
    if small is None:
        raise not_found("thumbnail")
    return Response(small, media_type="image/png", headers=_SEALED)


async def own_file(services: Services, caller: By, file_id: str) -> StoredFile:
    found = await services.files.find(FileId(file_id), caller.user.id) if is_uuid7(file_id) else None
    if found is None:
        raise not_found("file")
    return found


async def _receive(request: JsonRequest, incoming: Incoming) -> str:
    """Writes the one file of the form as it arrives; returns the name it was sent under."""
    header = request.headers.get("content-type", "")
    kind, options = cast(tuple[str, dict[str, str]], parse_options_header(header))
    if kind != "multipart/form-data" or not options.get("boundary"):
        raise Problem("unsupported_media_type", f"Send it as multipart/form-data, in the field {FIELD}.")
    name: str | None = None
    wanted = False
    try:
        async for event in _events(request, options["boundary"], incoming.most_bytes + _AROUND_BYTES):
            match event:
                case MultipartSegment():
                    wanted = event.name == FIELD and event.filename is not None
                    if wanted and name is not None:
                        raise invalid(FIELD, "one file at a time")
                    name = event.filename if wanted else name
                case bytes() | bytearray() if wanted:
                    await incoming.write(bytes(event))
                case _:
                    pass
    except ParserLimitReached:
        raise Problem("too_large", "The form has too many parts, or a part with too long headers.") from None
    except MultipartError as error:
        raise invalid(BODY, f"the form cannot be read: {error}") from None
    if name is None:
        raise invalid(FIELD, "the form has no file in this field")
    return name


async def _events(
    request: JsonRequest, boundary: str, most_bytes: int
) -> AsyncGenerator[MultipartSegment | bytes | bytearray | None]:
    """The pieces of the form. The last piece of a body is empty, which tells the parser that it is
    complete."""
    parser = PushMultipartParser(boundary, max_segment_count=_MOST_PARTS)
    received = 0
    async for piece in request.stream():
        received += len(piece)
        if received > most_bytes:
            raise Problem("too_large", "The form is larger than a file may be (files.max_mib).")
        for event in parser.parse(piece):
            yield event


def _shown(file: StoredFile) -> FileShown:
    return FileShown(
        id=file.id, name=file.name, media_type=file.media_type, size=file.size, created_at=file.created_at
    )


router = Router("/", route_handlers=[upload_file, download_file, file_thumbnail], tags=["files"])
