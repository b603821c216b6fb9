"""Answers from an index: the map, symbols by name, and what depends on what. Pure."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from holdfast.workspaces.code.index import Index
from holdfast.workspaces.code.symbols import Definition

CHARACTERS_PER_TOKEN = 4
MOST_SYMBOLS = 60
MOST_REFERENCES = 40
MOST_DEPENDANTS = 60
_MOST_PROBLEMS = 20
# A name that this many files define says little about which one is meant.
_COMMON = 20

Definers = dict[str, list[str]]


def code_map(index: Index, below: str, tokens: int) -> str:
    """The most referenced definitions below a path, by file; what could not be read, and what else there is.
    All of it in as much text as the tokens allow."""
    files = {path: file for path, file in index.files.items() if _is_below(path, below)}
    scores = _scores(index, below)
    ranked = sorted(
        (
            (scores.get((path, each.name), 0.0), path, each)
            for path, file in files.items()
            for each in file.symbols.definitions
        ),
        key=lambda one: (-one[0], one[1], one[2].line),
    )
    whole = tokens * CHARACTERS_PER_TOKEN
    notes = _cut("\n".join(_notes(index, below)), whole // 4)
    # A quarter is for the files that are not shown.
    room = whole - whole // 4 - len(notes)
    chosen: defaultdict[str, list[Definition]] = defaultdict(list)
    for _, path, each in ranked:
        cost = len(_line(each)) + 1 + (0 if path in chosen else len(path) + 2)
        if cost > room:
            break
        room -= cost
        chosen[path].append(each)
    lines: list[str] = []
    for path in sorted(chosen):
        lines.append(f"{path}:")
        lines += [_line(each) for each in sorted(chosen[path], key=lambda one: one.line)]
    shown = "\n".join((*lines, notes) if notes else lines)
    rest = _cut("\n".join(_rest(files.keys() - chosen.keys())), whole - len(shown) - 1)
    return "\n".join(text for text in (*lines, rest, notes) if text)


def find_symbols(index: Index, query: str) -> str:
    """Definitions with this name, else those that contain it; and the files that use an exact name."""
    wanted = query.casefold()
    exact, near = list[str](), list[tuple[int, str]]()
    for path, file in sorted(index.files.items()):
        for each in file.symbols.definitions:
            line = f"{path}:{each.line}: {each.signature}"
            if each.name == query:
                exact.append(line)
            elif wanted in each.name.casefold():
                near.append((len(each.name), line))
    if not exact and not near:
        return f"No definition has {query!r} in its name. grep searches the text of all files."
    lines = [*exact, *(line for _, line in sorted(near))]
    shown = [f"Definitions ({len(lines)}):", *_at_most(lines, MOST_SYMBOLS)]
    if exact:
        used = _uses(index, query)
        shown += [
            f"Used in {len(used)} files:",
            *_at_most([f"{path} ({count} times)" for path, count in used], MOST_REFERENCES),
        ]
    return "\n".join((*shown, *_notes(index, "")))


def impact(index: Index, symbol: str | None, path: str | None) -> str:
    """Files that use a symbol, or anything that a file or directory defines. Those that also import the file
    come first."""
    definers = _definers(index)
    if symbol is not None:
        names, sources = {symbol}, set(definers.get(symbol, ()))
        if not sources:
            return f"Nothing here defines {symbol!r}. code_symbols finds names that are alike."
    else:
        sources = {each for each in index.files if _is_below(each, path or "")}
        if not sources:
            return f"No source file of a known language is at {path!r}."
        names = {each.name for source in sources for each in index.files[source].symbols.definitions}
    certain, possible = list[tuple[float, str]](), list[tuple[float, str]]()
    stems = {_module_name(source) for source in sources}
    for other, file in index.files.items():
        if other in sources:
            continue
        used = {name: file.symbols.words[name] for name in names & file.symbols.words.keys()}
        if not used:
            continue
        weight = sum(_weight(count, len(definers.get(name, ()))) for name, count in used.items())
        what = ", ".join(name for name, _ in Counter(used).most_common(5))
        line = f"{other} uses {what}"
        imports = any(stem in file.symbols.imports for stem in stems)
        (certain if imports else possible).append((-weight, line))
    about = symbol if symbol is not None else path
    lines = [
        f"{about} is defined in {', '.join(sorted(sources)[:5])}" + (" and more" if len(sources) > 5 else "")
    ]
    lines += [
        f"Files that import it ({len(certain)}):",
        *_at_most([line for _, line in sorted(certain)], MOST_DEPENDANTS),
    ]
    if possible:
        lines += [
            f"Files that use the same names without a visible import ({len(possible)}):",
            *_at_most([line for _, line in sorted(possible)], MOST_DEPENDANTS // 2),
        ]
    return "\n".join((*lines, *_notes(index, "")))


def _scores(index: Index, below: str) -> dict[tuple[str, str], float]:
    """By file and name: how much other files use it. A name with many definitions counts less in each."""
    definers: dict[str, tuple[int, list[str]]] = {}
    for name, places in _definers(index).items():
        wanted = [place for place in places if _is_below(place, below)]
        if wanted and len(places) <= _COMMON:
            definers[name] = len(places), wanted
    scores: defaultdict[tuple[str, str], float] = defaultdict(float)
    for path, file in index.files.items():
        for name, count in file.symbols.words.items():
            if (found := definers.get(name)) is None:
                continue
            weight = math.sqrt(count) / found[0]
            for place in found[1]:
                if place != path:
                    scores[place, name] += weight
    return scores


def _weight(count: int, definers: int) -> float:
    return math.sqrt(count) / max(definers, 1)


def _definers(index: Index) -> Definers:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path, file in index.files.items():
        for name in {each.name for each in file.symbols.definitions}:
            found[name].append(path)
    return found


def _uses(index: Index, name: str) -> list[tuple[str, int]]:
    counts: list[tuple[str, int]] = []
    for path, file in index.files.items():
        own = sum(each.name == name for each in file.symbols.definitions)
        if (count := file.symbols.words.get(name, 0) - own) > 0:
            counts.append((path, count))
    return sorted(counts, key=lambda one: (-one[1], one[0]))


def _module_name(path: str) -> str:
    """How other files refer to this one: by its own name, or its directory's if that is the module."""
    directory, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    if name.endswith(".go") or stem in ("__init__", "index", "mod", "lib"):
        return directory.rpartition("/")[2] or stem
    return stem


def _is_below(path: str, below: str) -> bool:
    return not below or path == below or path.startswith(f"{below}/")


def _line(each: Definition) -> str:
    return f"  {each.line}: {each.signature}"


def _rest(paths: Iterable[str]) -> Iterator[str]:
    """Files that are not in the map, counted by directory."""
    counts = Counter(path.rpartition("/")[0] or "." for path in paths)
    if counts:
        directories = ", ".join(f"{name} ({count})" for name, count in sorted(counts.most_common(20)))
        more = f" and {len(counts) - 20} more directories" if len(counts) > 20 else ""
        yield f"[{counts.total()} more files, by directory: {directories}{more}]"


def _notes(index: Index, below: str) -> Iterator[str]:
    if index.left_out:
        yield (
            f"[{index.left_out} files have not been read yet: the workspace is large. Ask again to continue.]"
        )
    problems = [
        f"{path}: {file.problem}"
        for path, file in sorted(index.files.items())
        if file.problem and _is_below(path, below)
    ]
    if problems:
        named = "; ".join(problems[:_MOST_PROBLEMS])
        more = "; ..." if len(problems) > _MOST_PROBLEMS else ""
        yield f"[{len(problems)} files could not be read: {named}{more}]"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(most - 4, 0)]}...]"


def _at_most(lines: list[str], most: int) -> Iterator[str]:
    yield from lines[:most]
    if len(lines) > most:
        yield f"... and {len(lines) - most} more"
