"""What looks wrong with a changed file, as advice that holds nothing up: it no longer parses, or an import
vanished that is still used. Pure and cheap: nothing of the file is run."""

import json
import re
import tomllib

_LARGEST = 1_000_000
_IMPORTED = re.compile(r"^\s*(?:from\s+\S+\s+import\s+(.+)|import\s+(.+))$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w*")


def advice(path: str, before: str | None, after: str | None) -> tuple[str, ...]:
    """`before` and `after` are texts; None: there is none."""
    if after is None or len(after) > _LARGEST:
        return ()
    found: list[str] = []
    if (why := _unparsable(path, after)) is not None and (
        before is None or _unparsable(path, before) is None
    ):
        found.append(f"It does not parse: {why}")
    if path.endswith(".py") and before is not None:
        gone = sorted(_imports(before) - _imports(after))
        used = [name for name in gone if re.search(rf"\b{name}\b", after)]
        if used:
            found.append(f"Imports vanished that are still used: {', '.join(used[:5])}")
    return tuple(found)


def _unparsable(path: str, text: str) -> str | None:
    try:
        if path.endswith(".json"):
            json.loads(text)
        elif path.endswith(".toml"):
            tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        return str(error)[:200]
    return None


def _imports(text: str) -> set[str]:
    names: set[str] = set()
    for found in _IMPORTED.finditer(text):
        for piece in (found[1] or found[2]).strip("() ").split(","):
            name = piece.split(" as ")[-1].strip().split(".")[0]
            if _NAME.fullmatch(name):
                names.add(name)
    return names
