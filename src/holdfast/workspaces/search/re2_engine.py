"""Regular expressions that end in linear time, whatever the pattern and text: the border to RE2."""

from typing import Any, cast

import re2  # pyright: ignore[reportMissingTypeStubs]

_re2 = cast(Any, re2)
# With less, long repetitions fall back to a slower engine; with more, large patterns take seconds to prepare.
_MEMORY = 8 * 1024 * 1024


class BadExpression(Exception):
    """RE2 refuses it; the text is RE2's own."""


class Expression:
    def __init__(self, pattern: str, *, across_lines: bool = True) -> None:
        """`across_lines=False`: it never matches a line end, and `^` and `$` are those of a line."""
        options = _re2.Options()
        options.log_errors = False
        options.never_capture = True
        options.max_mem = _MEMORY
        options.never_nl = not across_lines
        try:
            compiled = _re2.compile(pattern, options)
            if not across_lines:
                # Only now: the prefix must not make an invalid pattern valid.
                compiled = _re2.compile(f"(?m){pattern}", options)
        except _re2.error as error:
            told: object = error.args[0] if error.args else ""
            raise BadExpression(
                told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)
            ) from None
        self._search = compiled.search

    def find(self, text: bytes, at: int = 0) -> int | None:
        """Where the first match from there on starts."""
        found = self._search(text, at)
        return None if found is None else found.start()
