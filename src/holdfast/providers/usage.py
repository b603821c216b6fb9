"""Token counts as providers report them, made trustworthy: an absurd or missing number counts as not
reported, the parts never exceed the whole, and `input` includes what was read from or written to the
cache."""

from holdfast.core.shapes import Json
from holdfast.core.usage import Usage

# More than any model can read or write in one call.
MOST_TOKENS = 100_000_000


def tokens(value: Json) -> int:
    """A count of tokens; 0 when it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    # NaN fails both comparisons.
    return int(value) if 0 <= value <= MOST_TOKENS else 0


def usage(
    *,
    total_input: Json,
    output: Json,
    cache_read: Json = 0,
    cache_write: Json = 0,
    reasoning: Json = 0,
    total: Json = 0,
) -> Usage:
    """`total` counts where nothing says what of it was read: then all that was not written was."""
    known_output = tokens(output)
    known_input = tokens(total_input) or max(tokens(total) - known_output, 0)
    read = min(tokens(cache_read), known_input)
    return Usage(
        input=known_input,
        output=known_output,
        reasoning=min(tokens(reasoning), known_output),
        cache_read=read,
        cache_write=min(tokens(cache_write), known_input - read),
        total=known_input + known_output,
        context_used=known_input or None,
    )
