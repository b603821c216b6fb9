"""What looks wrong with a changed file, as advice that holds nothing up: it no longer parses, or an import
vanished that is still used. Pure and cheap, linear in the length of the texts: an agent wrote them. Nothing
of the file is run. Source code is parsed elsewhere (`parse_advice`)."""

import json
import re
import tomllib

_LARGEST = 1_000_000
_NAME = re.compile(r"[A-Za-z_]\w*")


def advice(path: str, before: str | None, after: str | None) -> tuple[str, ...]:
    """`before` and `after` are the texts; None where there is no file."""
    if after is None or len(after) > _LARGEST:
        return ()
    found: list[str] = []
    if (why := _unparsable(path, after)) is not None and (
        before is None or _unparsable(path, before) is None
    ):
        found.append(f"It does not parse: {why}")
    if path.endswith(".py") and before is not None:
        gone = sorted(_imports(before) - _imports(after))
        words = set(_NAME.findall(after)) if gone else set[str]()
        used = [name for name in gone if name in words]
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
    """The names that import statements make. One in parentheses may take several lines."""
    names: set[str] = set()
    open_list = False
    for line in text.split("\n"):
        listed = line.partition("#")[0].strip()
        if not open_list:
            if listed.startswith("import "):
                listed = listed.removeprefix("import ")
            elif listed.startswith("from ") and " import " in listed:
                listed = listed.partition(" import ")[2].strip()
                open_list = listed.startswith("(")
            else:
                continue
        open_list = open_list and ")" not in listed
        for piece in listed.strip("() \\").split(","):
            name = piece.split(" as ")[-1].strip().split(".")[0]
            if _NAME.fullmatch(name):
                names.add(name)
    return names
