"""Output that fits into a prompt: the head and the tail are kept, the size of the middle is stated. The full
text is stored separately."""

from holdfast.core.shapes import Json, check_json, encode_text
from holdfast.core.text import clean_deep

OUTPUT_LIMIT = 30_000


def bound(text: str, limit: int = OUTPUT_LIMIT) -> tuple[str, bool]:
    """The text as the model gets it, and whether something was left out."""
    if len(text) <= limit:
        return text, False
    head = limit * 2 // 3
    tail = limit - head
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[... {left_out} characters left out ...]\n{text[-tail:]}", True


def shown(output: Json, limit: int = OUTPUT_LIMIT) -> tuple[Json, str | None]:
    """A tool's output as the model gets it, and the full text if that was cut. ValueError: it is not JSON."""
    check_json(output)
    output = clean_deep(output)
    text = output if isinstance(output, str) else encode_text(output)
    bounded, cut = bound(text, limit)
    return (bounded, text) if cut else (output, None)
