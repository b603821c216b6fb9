"""What Google's models can do, by name, as data. One that is newer than this table is taken for the newest
kind."""

import re
from typing import Literal

from holdfast.core.shapes import Record

Thinking = Literal["none", "budget", "level"]

_ORDER = ("minimal", "low", "medium", "high")
_VERSION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")
# Tokens to think with, where an effort must be a number.
_BUDGETS = {"minimal": 512, "low": 2048, "medium": 8192, "high": 24_576}
# The least that a model thinks with which cannot be told not to.
_LEAST_BUDGET = 128
_LEVELS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("gemini-3-pro", ("low", "high")),
    ("gemini-3.1-pro", ("low", "medium", "high")),
    ("gemini-3.7-flash", ("low", "medium", "high")),
    ("gemini-3.8-flash", ("low", "medium", "high")),
    ("gemini-4-argon", ("low", "medium", "high")),
)


class GeminiTraits(Record, frozen=True, kw_only=True):
    thinking: Thinking = "level"
    levels: tuple[str, ...] = _ORDER
    always_thinks: bool = False
    # Whether calls are refused that came without the signature of the thoughts before them, and whether tools
    # of the provider go together with ours.
    modern: bool = True

    @property
    def efforts(self) -> tuple[str, ...]:
        match self.thinking:
            case "none":
                return ()
            case "budget":
                return ("low", "medium", "high") if self.always_thinks else ("none", "low", "medium", "high")
            case "level":
                return self.levels


def gemini_traits(model: str) -> GeminiTraits:
    name = model.lower().rpartition("/")[2]
    found = _VERSION.search(name)
    version = (int(found[1]), int(found[2] or 0)) if found else None
    pro = "pro" in name and "flash" not in name
    if "gemma" in name or (version is not None and version < (2, 5)) or name == "gemini-pro":
        return GeminiTraits(thinking="none", levels=(), modern=False)
    if version is not None and version < (3, 0):
        if "image" in name:
            return GeminiTraits(thinking="none", levels=(), modern=False)
        return GeminiTraits(thinking="budget", levels=(), always_thinks=pro, modern=False)
    levels = next((known for prefix, known in _LEVELS if name.startswith(prefix)), _ORDER)
    return GeminiTraits(levels=levels, always_thinks=pro)


def thinking_config(model: str, effort: str | None) -> dict[str, bool | int | str] | None:
    """How much the model is asked to think; None: as it likes, and unseen."""
    traits = gemini_traits(model)
    if traits.thinking == "none":
        return None
    if effort is None:
        return {"includeThoughts": True}
    if traits.thinking == "budget":
        if effort == "none":
            return {"thinkingBudget": _LEAST_BUDGET if traits.always_thinks else 0}
        return {"includeThoughts": True, "thinkingBudget": _BUDGETS.get(effort, _BUDGETS["high"])}
    if effort == "none":
        return {"thinkingLevel": traits.levels[0]}
    return {"includeThoughts": True, "thinkingLevel": _level(traits, effort)}


def _level(traits: GeminiTraits, effort: str) -> str:
    """The highest it has that is not above what was asked for, else its lowest."""
    asked = _ORDER.index(effort) if effort in _ORDER else len(_ORDER) - 1
    below = [level for level in traits.levels if _ORDER.index(level) <= asked]
    return below[-1] if below else traits.levels[0]
