"""Things that models are told in words because no wire format has a shape for them."""

from holdfast.core.parts import File, Notice, ToolResult
from holdfast.providers.encoding import stable_text

# Long enough for a source file; what is longer is cut in the middle, so that both ends are seen.
_TEXT_FILE_CHARACTERS = 200_000


def output_text(result: ToolResult) -> str:
    """A tool's output as a model reads it. Never empty: some providers refuse an empty result."""
    text = result.output if isinstance(result.output, str) else stable_text(result.output)
    if text.strip():
        return text
    return "(no output)" if result.outcome == "succeeded" else f"({result.outcome}, no output)"


def notice_words(notice: Notice) -> str:
    return f"[notice: {notice.text}]"


def file_words(part: File, content: bytes | None) -> str:
    """A text file in full; of any other that the model cannot take, what it is."""
    head = f"[file {part.name} ({part.media_type}, {part.size} bytes)"
    if content is None:
        return f"{head}: no longer available]"
    if not _is_text(part.media_type):
        return f"{head}: this model cannot read such files]"
    text = content.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    if len(text) > _TEXT_FILE_CHARACTERS:
        half = _TEXT_FILE_CHARACTERS // 2
        text = f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
    return f"{head}]\n{text}\n[end of {part.name}]"


def _is_text(media_type: str) -> bool:
    return media_type.startswith("text/") or media_type in (
        "application/json",
        "application/xml",
        "application/yaml",
        "application/toml",
    )
