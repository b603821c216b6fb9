"""Files of a workspace by a part of their path, for somebody who is typing one. Best match first: the
beginning of a name, then a part of it, then a part of the path; short ones before long ones."""

from collections.abc import Iterable

from holdfast.workspaces.commands.walled_programs import Walled
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.search.search_process import SearchRequest
from holdfast.workspaces.search.searches import search

# The most files that are looked at; of a larger tree the rest is not searched.
LOOKED_AT = 20_000


async def find_files(
    walled: Walled, root: Root, asked: str, limit: int, ripgrep: str | None = None
) -> list[str]:
    request = SearchRequest(parts=(), glob="**/*", pattern=None, limit=LOOKED_AT, ripgrep=ripgrep)
    found = await search(walled, root, request)
    return nearest(found.lines, asked)[:limit]


def nearest(paths: Iterable[str], asked: str) -> list[str]:
    wanted = asked.casefold()
    ranked = [(_rank(path.casefold(), wanted), len(path), path) for path in paths]
    return [path for rank, _, path in sorted(ranked) if rank < _NOT_AT_ALL]


_NOT_AT_ALL = 3


def _rank(path: str, wanted: str) -> int:
    name = path.rsplit("/", 1)[-1]
    if name.startswith(wanted):
        return 0
    if wanted in name:
        return 1
    return 2 if wanted in path else _NOT_AT_ALL
