"""The text of a workflow script, read without executing anything: its meta, and the program for the engine.
Every error is one sentence with its line."""

from holdfast.core.errors import BadScript
from holdfast.core.runs import Language
from holdfast.core.shapes import Record
from holdfast.scripts.javascript_source import read_javascript
from holdfast.scripts.meta import Meta, bad, make_meta
from holdfast.scripts.python_source import read_python

MAX_BYTES = 512 * 1024
SUFFIXES: dict[str, Language] = {".js": "javascript", ".py": "python"}


class Script(Record, frozen=True, kw_only=True):
    language: Language
    # As it was written: what a run keeps, and what is read again after a crash.
    text: str
    meta: Meta
    # What the engine runs. Its line numbers are those of the text.
    program: str
    warnings: tuple[str, ...] = ()


def read_script(source: str | bytes, language: Language) -> Script:
    text = plain_text(source)
    try:
        literal, program = read_javascript(text) if language == "javascript" else read_python(text)
    except RecursionError:
        raise BadScript("The script is nested too deeply to be read.") from None
    meta, warnings = make_meta(literal)
    return Script(language=language, text=text, meta=meta, program=program, warnings=warnings)


def plain_text(source: str | bytes) -> str:
    """Both kinds of line end become one, as both languages read them anyway: line numbers then agree."""
    size = len(source) if isinstance(source, bytes) else len(source.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise BadScript(
            f"The script has {size // 1024} KiB; at most {MAX_BYTES // 1024} KiB are read. "
            "Pass large data as arguments, or let an agent read it from a file."
        )
    text = _decode(source) if isinstance(source, bytes) else source
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    for character in text if not text.isascii() or "\0" in text else "":
        if character == "\0" or "\ud800" <= character <= "\udfff":
            what = "a NUL character" if character == "\0" else "half of a character (a lone surrogate)"
            raise bad(
                _line(text, text.index(character)),
                f"the text contains {what}. Save the script as UTF-8 text.",
            )
    if not text.strip():
        raise BadScript("The script is empty. It begins with its meta: a name and a description.", 1)
    return text


def _decode(source: bytes) -> str:
    if source.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadScript("The script is UTF-16. Save it as UTF-8.", 1)
    try:
        return source.decode()
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        raise bad(
            line, f"the byte {source[error.start]:#04x} is not UTF-8. Save the script as UTF-8."
        ) from None


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
