"""Which tools a chat may use: only some of them, a policy for some, or both. A chat never gets a tool, or a
looser policy for it, that its creator lacks."""

from collections.abc import Collection
from typing import Literal, cast

from holdfast.core.shapes import Json

Policy = Literal["auto", "ask", "allow", "deny"]

# The stored form: a list of names (only these); a policy by name (all tools); or, for a sub-agent, a policy
# by name in which this name denies every tool that is not named, and null means no policy of its own.
ALL_OTHERS = "*"


def names_of(chosen: Json) -> tuple[str, ...] | None:
    """The only tools allowed; None: all."""
    match chosen:
        case list():
            return tuple(name for name in cast(list[Json], chosen) if isinstance(name, str))
        case dict() if ALL_OTHERS in chosen:
            return tuple(name for name in cast(dict[str, Json], chosen) if name != ALL_OTHERS)
        case _:
            return None


def policies_of(chosen: Json) -> dict[str, Policy]:
    if not isinstance(chosen, dict):
        return {}
    given = cast(dict[str, Policy | None], chosen)
    return {name: policy for name, policy in given.items() if policy is not None and name != ALL_OTHERS}


def narrowed(chosen: Json, *limits: Collection[str] | None) -> Json:
    """The same choice, limited to what each of these lists of names allows (None: no limit)."""
    sets = [set(limit) for limit in (names_of(chosen), *limits) if limit is not None]
    policies = policies_of(chosen)
    if not sets:
        return cast(Json, policies) or None
    names = sorted(set[str].intersection(*sets))
    kept = {name: policies.get(name) for name in names}
    return {ALL_OTHERS: "deny", **kept} if any(kept.values()) else cast(Json, names)
