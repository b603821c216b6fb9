"""A server's answer as the result of a call: text and structured content unchanged, pictures and files as
files of the chat, links as plain text that is not followed."""

import base64
import binascii
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from holdfast.core.errors import HoldfastError
from holdfast.core.parts import File
from holdfast.core.shapes import Json, Record, check_json
from holdfast.files.stored_files import StoredFiles
from holdfast.tools.contract import ToolAnswer, ToolContext

MOST_FILES = 8
MOST_PIECES = 500
URI_CHARACTERS = 2000


class TextPiece(Record, frozen=True, kw_only=True, tag=True):
    text: str


class FilePiece(Record, frozen=True, kw_only=True, tag=True):
    name: str
    content: bytes


class ServerResult(Record, frozen=True, kw_only=True):
    """An answer in our own types, made in the MCP thread."""

    pieces: tuple[TextPiece | FilePiece, ...]
    structured: Json = None
    is_error: bool = False


def result_of(content: Sequence[Any], structured: Json, *, is_error: bool) -> ServerResult:
    """From the library's content blocks."""
    pieces = tuple(_piece(block) for block in content[:MOST_PIECES])
    if len(content) > MOST_PIECES:
        pieces = (*pieces, TextPiece(text=f"[{len(content) - MOST_PIECES} more pieces left out]"))
    return ServerResult(pieces=pieces, structured=structured, is_error=is_error)


def resource_pieces(contents: Sequence[Any]) -> ServerResult:
    """From the library's contents of a resource."""
    return ServerResult(pieces=tuple(_resource(one) for one in contents[:MOST_PIECES]))


def _piece(block: Any) -> TextPiece | FilePiece:
    match block.type:
        case "text":
            return TextPiece(text=block.text)
        case "image" | "audio":
            return _decoded(block.data, f"{block.type}.{_suffix(block.mime_type)}")
        case "resource":
            return _resource(block.resource)
        case "resource_link":
            return TextPiece(
                text=f"[link, not followed: {str(block.uri)[:URI_CHARACTERS]} ({block.name[:200]})]"
            )
        case kind:
            return TextPiece(text=f"[content of a kind that is not known here: {str(kind)[:100]}]")


def _resource(resource: Any) -> TextPiece | FilePiece:
    text = getattr(resource, "text", None)
    if isinstance(text, str):
        return TextPiece(text=text)
    name = str(resource.uri).rstrip("/").rpartition("/")[2][:200] or "resource"
    return _decoded(resource.blob, name)


def _decoded(data: str, name: str) -> TextPiece | FilePiece:
    try:
        return FilePiece(name=name, content=base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return TextPiece(text=f"[{name}: what the server sent is no valid base64]")


def _suffix(media_type: str) -> str:
    suffix = media_type.rpartition("/")[2].partition("+")[0].partition(";")[0]
    return suffix if suffix.isalnum() and len(suffix) <= 10 else "bin"


async def answer_of(result: ServerResult, context: ToolContext, files: StoredFiles) -> ToolAnswer:
    """Files are stored for the chat before the result names them. One that cannot be a file of a chat is
    named and left out."""
    texts: list[str] = []
    kept: list[File] = []
    for piece in result.pieces:
        match piece:
            case TextPiece(text=text):
                texts.append(text)
            case FilePiece() if len(kept) < MOST_FILES:
                kept_or_why = await _kept(piece, context, files)
                if isinstance(kept_or_why, File):
                    kept.append(kept_or_why)
                    texts.append(f"[file: {piece.name}]")
                else:
                    texts.append(kept_or_why)
            case FilePiece():
                texts.append(f"[{piece.name} left out: at most {MOST_FILES} files are taken]")
    return ToolAnswer(
        output=_output("\n".join(texts), result.structured, kept),
        outcome="failed" if result.is_error else "succeeded",
    )


async def _kept(piece: FilePiece, context: ToolContext, files: StoredFiles) -> File | str:
    try:
        async with files.incoming() as incoming:
            await incoming.write(piece.content)
            file = await files.keep(incoming, context.owner_id, piece.name)
        await files.use((file.id,), context.chat_id, context.fence)
    except HoldfastError as error:
        return f"[{piece.name} was not kept: {error.text}]"
    return file.part


def _output(text: str, structured: Json, kept: list[File]) -> Json:
    """Only the text if there is nothing else: most servers repeat structured content as text."""
    shown = _fit(structured)
    if not kept and shown is None:
        return text
    output: dict[str, Json] = {"text": text}
    if shown is not None and not _says_the_same(text, shown):
        output["structured"] = shown
    if kept:
        output["files"] = cast(Json, msgspec.to_builtins(kept))
    return output if len(output) > 1 else text


def _fit(structured: Json) -> Json:
    try:
        check_json(structured)
    except ValueError:
        return None
    return structured


def _says_the_same(text: str, structured: Json) -> bool:
    try:
        return msgspec.json.decode(text) == structured
    except (msgspec.DecodeError, UnicodeError):
        return False
