"""What the models behind the Anthropic format can do, by name, as data. The first row whose prefix matches
counts; a Claude newer than this table is treated as the newest kind, an unknown model as the oldest."""

from typing import Literal

from holdfast.core.shapes import Record

Thinking = Literal["adaptive", "budget"]
# How thinking is turned off: by saying nothing, or with one of two words.
Off = Literal["omit", "disabled", "between_tools"]

_THREE = ("low", "medium", "high")
_WITH_MAX = (*_THREE, "max")
_ALL = (*_THREE, "xhigh", "max")
_ORDER = ("minimal", *_ALL)


class Traits(Record, frozen=True, kw_only=True):
    thinking: Thinking = "adaptive"
    # The efforts it can be asked for; none where only a budget says how much it thinks.
    efforts: tuple[str, ...] = _ALL
    off: Off = "omit"
    # Whether temperature, top_p and top_k are taken.
    sampling: bool = False
    # Whether a thinking block is only taken back behind the very conversation that it came from.
    bound: bool = False
    # Whether a call can be demanded.
    forced_calls: bool = True


_NEWEST = Traits(bound=True, forced_calls=False)
_TABLE: tuple[tuple[tuple[str, ...], Traits], ...] = (
    (("claude-fable-5-1", "claude-fable-5-2", "claude-opus-5-5"), _NEWEST),
    (("claude-mythos-5-1", "claude-mythos-5-2"), Traits(forced_calls=False)),
    (("claude-sonnet-5-5",), Traits(off="between_tools", bound=True, forced_calls=False)),
    (("claude-haiku-5-5",), Traits(off="disabled", bound=True)),
    (("claude-fable-5", "claude-mythos"), Traits()),
    (("claude-opus-5", "claude-sonnet-5"), Traits(off="disabled")),
    (("claude-opus-4-8", "claude-opus-4-7"), Traits()),
    (("claude-opus-4-6", "claude-sonnet-4-6"), Traits(efforts=_WITH_MAX, sampling=True)),
    (("claude-opus-4-5",), Traits(thinking="budget", efforts=_THREE, sampling=True)),
    (
        ("claude-opus-4", "claude-sonnet-4", "claude-haiku-4", "claude-3", "claude-2", "claude-instant"),
        Traits(thinking="budget", efforts=(), sampling=True),
    ),
    (("claude-",), Traits()),
    (("",), Traits(thinking="budget", efforts=(), off="disabled", sampling=True)),
)

# Tokens to think with, where an effort must be a number.
BUDGETS = {"minimal": 1024, "low": 4096, "medium": 10_000, "high": 20_000, "xhigh": 32_000, "max": 48_000}
LEAST_BUDGET = 1024


def traits_of(model: str) -> Traits:
    # Gateways put a name of their own in front.
    own = model[max(model.find("claude-"), 0) :]
    return next(traits for prefixes, traits in _TABLE if own.startswith(prefixes))


def effort_for(traits: Traits, effort: str | None) -> str | None:
    """The effort as the model knows it: the highest it has that is not above what was asked for, else its
    lowest."""
    if effort is None or effort == "none" or not traits.efforts:
        return None
    if effort not in _ORDER:
        return effort
    asked = _ORDER.index(effort)
    below = [known for known in traits.efforts if _ORDER.index(known) <= asked]
    return below[-1] if below else traits.efforts[0]
