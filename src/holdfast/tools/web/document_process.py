"""The process that turns a fetched document into text: HTML into Markdown, PDF into plain text. The kernel
limits its memory and time, because documents are untrusted."""

import json
import resource
import sys
from pathlib import Path
from typing import Literal, get_args

Kind = Literal["html", "pdf"]
KINDS: tuple[Kind, ...] = get_args(Kind)
REFUSED = 3
# More than a model is ever shown, and in no writing more than may be said here.
MOST_CHARACTERS = 1_000_000
_MOST_PAGES = 500
_MEMORY_BYTES = 1024**3
_CPU_SECONDS = 15


def main() -> None:
    """Arguments: the kind, and the file unless it comes on standard input. Prints `{title, text}` as JSON."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    content = Path(sys.argv[2]).read_bytes() if len(sys.argv) > 2 else sys.stdin.buffer.read()
    title, text = _html(content) if sys.argv[1] == "html" else _pdf(content)
    found = {"title": title[:300], "text": text[:MOST_CHARACTERS]}
    sys.stdout.buffer.write(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))


def _html(content: bytes) -> tuple[str, str]:
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

    options = ConversionOptions(
        skip_images=True,
        extract_metadata=True,
        preprocessing=PreprocessingOptions(enabled=True, remove_navigation=True, remove_forms=True),
    )
    found = convert(content.decode("utf-8", "replace"), options)
    title = found.metadata.document.title or ""
    text = found.content or ""
    if text.startswith("---\n"):
        # The page's metadata as YAML: only the title is used.
        text = text[4:].partition("\n---\n")[2]
    return title, text.strip()


def _pdf(content: bytes) -> tuple[str, str]:
    import io

    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(io.BytesIO(content))
        pages = [page.extract_text() for page in reader.pages[:_MOST_PAGES]]
        title = (reader.metadata.title if reader.metadata is not None else None) or ""
    except (PyPdfError, ValueError, KeyError, TypeError, RecursionError, OSError) as error:
        sys.stderr.write(f"the PDF cannot be read ({type(error).__name__})")
        sys.exit(REFUSED)
    return str(title), "\n\n".join(pages).strip()


if __name__ == "__main__":
    main()
