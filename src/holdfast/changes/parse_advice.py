"""Advice on source code that can no longer be parsed. What was broken before is not named, nor a new file's
language that nobody knows."""

from collections.abc import Mapping

from holdfast.changes.listing import Chain
from holdfast.core.shapes import Record
from holdfast.workspaces.code.parse_checks import ParseChecks, TextKey, text_key
from holdfast.workspaces.code.parse_process import SourceText


class CheckedTexts(Record, frozen=True, kw_only=True):
    """A change of source code. `before` is None for a new file."""

    path: str
    before: tuple[TextKey, str] | None
    after: tuple[TextKey, str]


def texts_to_check(chain: Chain, before: str | None, after: str | None) -> CheckedTexts | None:
    if after is None or chain.after is None or (key := text_key(chain.path, chain.after.blob)) is None:
        return None
    old = None
    if before is not None and chain.before is not None:
        known = text_key(chain.path, chain.before.blob)
        old = None if known is None else (known, before)
    return CheckedTexts(path=chain.path, before=old, after=(key, after))


async def parse_advice(checks: ParseChecks, found: Mapping[str, CheckedTexts]) -> dict[str, tuple[str, ...]]:
    """By the change's name; only those of which there is something to say."""
    asked = {each.after[0]: SourceText(path=each.path, text=each.after[1]) for each in found.values()}
    await checks.problems(asked)
    broken = {name: each for name, each in found.items() if checks.problem(each.after[0]) is not None}
    # Only now, because most files parse.
    await checks.problems(
        {
            each.before[0]: SourceText(path=each.path, text=each.before[1])
            for each in broken.values()
            if each.before is not None
        }
    )
    return {
        name: (f"It does not parse: {checks.problem(each.after[0])}",)
        for name, each in broken.items()
        if each.before is None or (checks.knows(each.before[0]) and checks.problem(each.before[0]) is None)
    }
