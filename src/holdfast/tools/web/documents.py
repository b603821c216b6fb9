"""Fetched documents as text that a model can read. HTML and PDF are converted by a process behind the wall;
other texts are used as they are."""

import json
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.core.text import clean
from holdfast.files.thumbnails import Behind, run_on_file
from holdfast.tools.web.document_process import REFUSED, Kind
from holdfast.tools.web.fetched import Fetched, FetchFailed
from holdfast.workspaces.blocking import blocking

DOCUMENT_SECONDS = 30.0
_PROGRAM = (sys.executable, "-I", "-m", "holdfast.tools.web.document_process")
_HTML = frozenset(("text/html", "application/xhtml+xml"))
_TEXTS = frozenset(("application/json", "application/xml", "application/javascript", "application/x-ndjson"))
_CHARSETS = re.compile(
    r"utf-?8|utf-16(le|be)?|us-ascii|ascii|latin-?1|iso-?8859-([1-9]|1[013-6])|windows-125[0-8]|cp125[0-8]"
    r"|koi8-[ru]|macintosh|gb2312|gbk|gb18030|big5|euc-(jp|kr)|shift-jis|iso-2022-jp"
)


@dataclass(frozen=True, kw_only=True)
class WebPage:
    title: str
    text: str


class Documents:
    """`behind` runs the process behind the wall; None: only its memory and time are limited."""

    def __init__(self, behind: Behind | None) -> None:
        self._run = behind or run_on_file

    async def read(self, fetched: Fetched) -> WebPage:
        """Raises FetchFailed if it cannot be read as text."""
        if fetched.media_type in _HTML:
            page = await blocking(lambda: _decoded(fetched).encode())
            return await self._convert("html", page)
        if fetched.media_type == "application/pdf":
            if fetched.cut:
                raise FetchFailed("The PDF is larger than 10 MiB.")
            return await self._convert("pdf", fetched.content)
        if fetched.media_type.startswith("text/") or _is_text(fetched.media_type):
            return WebPage(title="", text=await blocking(lambda: clean(_decoded(fetched))))
        raise FetchFailed(f"The answer is {fetched.media_type[:80]}, which cannot be read as text.")

    async def _convert(self, kind: Kind, content: bytes) -> WebPage:
        with tempfile.NamedTemporaryFile(prefix="holdfast-web-") as file:
            await blocking(lambda: _write(file.name, content))
            code, said, reason = await self._run((*_PROGRAM, kind), Path(file.name), DOCUMENT_SECONDS)
        if code != 0:
            told = reason.decode("utf-8", "replace")[:200] if code == REFUSED else "it takes too much to read"
            raise FetchFailed(f"The document cannot be read: {told}.")
        found: dict[str, Any] = json.loads(said)
        return WebPage(title=clean(str(found["title"])), text=clean(str(found["text"])))


def _is_text(media_type: str) -> bool:
    return media_type in _TEXTS or media_type.endswith(("+json", "+xml"))


def _decoded(fetched: Fetched) -> str:
    """Only what pages are really written in: there are codecs that take hours for a few megabytes."""
    named = (fetched.charset or "").lower().replace("_", "-")
    return fetched.content.decode(named if _CHARSETS.fullmatch(named) else "utf-8", "replace")


def _write(name: str, content: bytes) -> None:
    Path(name).write_bytes(content)
