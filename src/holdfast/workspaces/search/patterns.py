"""Regular expressions of models and people, by RE2: linear time, no surprises. Features that RE2 does not
have are refused by name, with what to write instead."""

import re

from holdfast.core.errors import InvalidInput
from holdfast.workspaces.search.re2_engine import BadExpression, Expression

PATTERN_CHARACTERS = 10_000

# Features of other engines: how they look, what they are called, what to do without them.
_MISSING = (
    (r"\(\?=", "lookahead (?=…)", "Match more than you need, or search twice."),
    (r"\(\?!", "negative lookahead (?!…)", "Search for what is wanted and leave out the rest yourself."),
    (r"\(\?<[=!]", "lookbehind (?<=…)", "Take what comes before into the pattern."),
    (r"\\[1-9]|\\k[<{']|\(\?P=", "backreferences (\\1)", "Write out what may be repeated."),
    (r"\(\?>", "atomic groups (?>…)", "A plain group (?:…) does it: this engine never backtracks."),
    (r"[*+?}]\+", "possessive repetition (*+, ++)", "Leave out the second +: this engine never backtracks."),
    (r"\(\?\(", "conditions (?(…)…)", "Write the cases as alternatives."),
    (r"\(\?(R|[0-9]|&|P>)", "recursion (?R)", "Use a command for nested structures."),
    (r"\(\?#", "comments (?#…)", "Leave the comment out."),
    (r"\(\?[a-zA-Z]*x", "the flag x", "Write the pattern without blanks and comments."),
    (r"\\Z", "\\Z", "Write $ or \\z."),
    (r"\\u", "\\u escapes", "Write \\x{1F600} or the character itself."),
    (r"\\[hHRXKGN]", "this escape", "Write out the characters, for example [ \\t]."),
)
# RE2 itself refuses larger repetitions.
_REPETITION = "Repetitions go up to 1000."

# What ripgrep's engine reads like RE2, or more broadly. What it reads differently (its \W covers all scripts,
# its [a&&b] is a set) must not be passed to it.
_SHARED_ESCAPE = re.compile(r"\\(?:[wdstrnf.\\/|(){}\[\]^$*+?\"'#!%,:;=@_`~-]|x[0-9A-Fa-f]{2})")
_UNSHARED = re.compile(r"\\|&&|--|~~|\[\^?\]?[^\]]*\[|\{,|\(\?[^:iP]")
_NEGATED_CLASS = re.compile(r"\[\^[^\]]*\\[wds]")
_BOUNDARY = re.compile(r"(\\\\)|\\b")


def compile_pattern(pattern: str) -> Expression:
    """It never matches across lines; `^` and `$` are those of a line."""
    if not pattern:
        raise InvalidInput("The pattern is empty. Use glob to find files by name.")
    if len(pattern) > PATTERN_CHARACTERS:
        raise InvalidInput(
            f"The pattern has {len(pattern)} characters, more than the {PATTERN_CHARACTERS} it may have. "
            "Search for less at once."
        )
    try:
        return Expression(pattern, across_lines=False)
    except BadExpression as error:
        raise InvalidInput(_refusal(pattern, str(error))) from error


def for_ripgrep(pattern: str) -> str | None:
    """A pattern with which ripgrep's engine finds every line that this one finds, and perhaps more."""
    pattern = _BOUNDARY.sub(lambda found: found.group(1) or r"(?-u:\b)", pattern)
    plain = _SHARED_ESCAPE.sub("", pattern.replace(r"(?-u:\b)", ""))
    return None if _UNSHARED.search(plain) or _NEGATED_CLASS.search(pattern) else pattern


def _refusal(pattern: str, told: str) -> str:
    for looks, name, instead in _MISSING:
        if re.search(looks, pattern):
            return f"The pattern uses {name}, which this engine (RE2) does not have. {instead}"
    if "repetition size" in told:
        return f"The pattern cannot be used: {told}. {_REPETITION}"
    if "too large" in told:
        return "The pattern is too large when its repetitions are written out. Search for less at once."
    return f"The pattern is not a regular expression: {told[:200]}. Put \\ before characters meant as text."
