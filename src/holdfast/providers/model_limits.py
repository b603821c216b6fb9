"""What a provider's refusal says about a model: how much it can write, how much it accepts, whether it knows
tools. Pure: it reads the words that the families use, and the next attempt respects them."""

import re
from collections.abc import Iterator

from holdfast.core.failures import ModelLimits

# Without any number in the refusal: what nearly every model can write.
USUAL_OUTPUT = 4096
# Less room than this for an answer means that the prompt is too long, not the answer.
LEAST_ROOM = 256

_TOKENS = r"[`'\"]?max(?:_(?:completion_|output_|new_)?tokens|OutputTokens)[`'\"]?"
# The model's own maximum.
_OWN_MAXIMUM = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"supports at most (\d+) completion tokens",
        rf"{_TOKENS}: \d+ > (\d+), which is the maximum allowed",
        rf"{_TOKENS} must be (?:less than or equal to|at most|<=) [`'\"]?(\d+)",
        rf"valid range of {_TOKENS} is \[\d+, ?(\d+)\]",
        rf"{_TOKENS}.{{0,80}}(?:maximum|limit)(?: value)?(?: of| is|:) [`'\"]?(\d+)",
    )
)
_EXCLUSIVE = re.compile(
    rf"{_TOKENS}.{{0,60}}supported range is from \d+ \(inclusive\) to (\d{{1,9}}) \(exclusive\)",
    re.IGNORECASE,
)
# The context, and what the prompt takes of it.
_CONTEXT = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        r"maximum context length is (?P<limit>\d+) tokens and your request has (?P<prompt>\d+) input tokens",
        (
            r"maximum context length is (?P<limit>\d+) tokens.{0,40}requested \d+ tokens "
            r"\((?P<prompt>\d+) in the messages(?:, (?P<more>\d+) in the functions)?, \d+ in the completion\)"
        ),
        rf"input length and {_TOKENS} exceed context limit: (?P<prompt>\d+) \+ \d+ > (?P<limit>\d+)",
        rf"prompt contains (?P<prompt>\d+) tokens.{{0,40}}{_TOKENS}.{{0,40}}with (?P<limit>\d+) maximum",
        r"`inputs` tokens \+ `max_new_tokens` must be <= (?P<limit>\d+)\. Given: (?P<prompt>\d+) `inputs`",
    )
)
_TOO_MUCH = re.compile(
    rf"{_TOKENS}.{{0,40}}(?:too (?:large|high|big)|exceed|greater than|must be|invalid)"
    rf"|\binvalid {_TOKENS}",
    re.IGNORECASE,
)
_NO_TOOLS = re.compile(
    r"does(?: not|n't) support (?:tools?|function)"
    r"|tool[ _]?(?:s|use|calls?|calling)?[`'\"]? (?:is|are) not supported"
    r"|no endpoints found that support tool use"
    r"|tool choice requires --enable-auto-tool-choice"
    r"|tools param requires --jinja"
    r"|function calling is not (?:enabled|supported)",
    re.IGNORECASE,
)


def refuses_tools(words: str) -> bool:
    return _NO_TOOLS.search(words) is not None


def output_limit(words: str) -> ModelLimits | None:
    """What to ask for instead, if this says that too long an answer was asked for. A prompt that leaves no
    room for any answer is another matter."""
    for found in _matches(_CONTEXT, words):
        limit = int(found["limit"])
        room = limit - int(found["prompt"]) - int(found.groupdict().get("more") or 0)
        return ModelLimits(context_limit=limit, room=room) if room >= LEAST_ROOM else None
    if found := _EXCLUSIVE.search(words):
        return ModelLimits(max_output=int(found[1]) - 1) if int(found[1]) > 1 else None
    for found in _matches(_OWN_MAXIMUM, words):
        most = int(found[1])
        return ModelLimits(max_output=most) if most > 0 else None
    return ModelLimits(room=USUAL_OUTPUT) if _TOO_MUCH.search(words) else None


def _matches(patterns: tuple[re.Pattern[str], ...], words: str) -> Iterator[re.Match[str]]:
    return (found for pattern in patterns if (found := pattern.search(words)) is not None)
