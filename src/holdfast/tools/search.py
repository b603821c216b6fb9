"""Tools that find things in the workspace: files by name, lines by pattern, skills by their purpose. They
change nothing."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypedDict

from msgspec import Meta

from holdfast.core.errors import HoldfastError
from holdfast.tools.contract import Input, Tool, ToolAnswer, ToolContext, ToolError
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.commands.walled_programs import Walled
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.paths import Parts
from holdfast.workspaces.places.chat_directory import Workspaces
from holdfast.workspaces.places.skills import read_skill
from holdfast.workspaces.search.search_process import SearchRequest
from holdfast.workspaces.search.searches import SEARCH_SECONDS, Results, search

MATCHES = 300
NAMES = 500
MAX_CONTEXT = 20
# The search limits its own time; this covers what comes before and after it.
_PATIENCE_SECONDS = SEARCH_SECONDS + 40

Where = Annotated[str, Meta(description="A directory to search; the workspace if omitted.", examples=["src"])]


class Glob(Input, frozen=True, kw_only=True):
    pattern: Annotated[
        str,
        Meta(
            description="*, ?, [abc], {a,b}, ** for any directories. A pattern without / matches names at "
            "any depth.",
            examples=["src/**/*.{ts,tsx}"],
        ),
    ]
    path: Where = "."


class Grep(Input, frozen=True, kw_only=True):
    pattern: Annotated[
        str,
        Meta(
            description=(
                "A regular expression in RE2 syntax, for single lines; (?i) ignores case. There is no "
                "lookahead, lookbehind or backreference."
            ),
            examples=[r"def \w+_file\("],
        ),
    ]
    path: Annotated[
        str, Meta(description="A directory or a file; the workspace if omitted.", examples=["src"])
    ] = "."
    glob: Annotated[
        str | None, Meta(description="Only files whose path matches, as in glob.", examples=["*.py"])
    ] = None
    context: Annotated[
        int, Meta(ge=0, le=MAX_CONTEXT, description="Lines to show before and after each match.")
    ] = 0


class ReadSkill(Input, frozen=True, kw_only=True):
    name: Annotated[str, Meta(description="The name in the list of skills.", examples=["release-notes"])]
    file: Annotated[
        str | None, Meta(description="Another file of the skill, by its path in the skill's folder.")
    ] = None


def search_tools(
    workspaces: Workspaces, walled: Walled, ripgrep: str | None, skills: tuple[Path, ...] = ()
) -> tuple[Tool, ...]:
    """`ripgrep` is where the program is, if it is there: it only makes searches quicker. `skills` are the
    directories of skills that do not belong to a workspace."""
    searches = Searches(workspaces, walled, ripgrep, skills)
    return (
        Tool(
            name="glob",
            description=(
                "Find files by name. Returns paths, one per line, in order. Files ignored by "
                ".gitignore are left out; list shows them."
            ),
            input=Glob,
            run=searches.glob,
            effect="read",
            reach="workspace",
            timeout_seconds=_PATIENCE_SECONDS,
        ),
        Tool(
            name="grep",
            description=(
                "Search lines of text files. Returns path:line:text, with - instead of : for "
                "context. Binary files and files ignored by .gitignore are left out."
            ),
            input=Grep,
            run=searches.grep,
            effect="read",
            reach="workspace",
            timeout_seconds=_PATIENCE_SECONDS,
        ),
        Tool(
            name="read_skill",
            description="Read a skill: what to do for one kind of task. Read it before such a task.",
            input=ReadSkill,
            run=searches.read_skill,
            effect="read",
            reach="workspace",
        ),
    )


class Searches:
    def __init__(
        self, workspaces: Workspaces, walled: Walled, ripgrep: str | None, skills: tuple[Path, ...]
    ) -> None:
        self._skills = skills
        self._workspaces = workspaces
        self._walled = walled
        self._ripgrep = ripgrep

    async def glob(self, context: ToolContext, given: Glob) -> ToolAnswer:
        async def find(root: Root) -> str:
            request = SearchRequest(
                **_where(root, given.path),
                glob=given.pattern,
                pattern=None,
                limit=NAMES,
                ripgrep=self._ripgrep,
            )
            return _told(
                await search(self._walled, root, request),
                "No file matches. Files ignored by .gitignore are not searched.",
            )

        return await self._do(context, find, given.path)

    async def grep(self, context: ToolContext, given: Grep) -> ToolAnswer:
        async def find(root: Root) -> str:
            request = SearchRequest(
                **_where(root, given.path),
                glob=given.glob,
                pattern=given.pattern,
                context=given.context,
                limit=MATCHES,
                ripgrep=self._ripgrep,
            )
            return _told(await search(self._walled, root, request), "No line matches.")

        return await self._do(context, find, given.path)

    async def read_skill(self, context: ToolContext, given: ReadSkill) -> ToolAnswer:
        async def read(root: Root) -> str:
            skill, text = await blocking(lambda: read_skill(root, given.name, self._skills, given.file))
            if skill.place == "user":
                return f"[skill {skill.name}; read its other files with read_skill and file]\n{text}"
            return f"[skill {skill.name}; its other files are in {skill.folder}]\n{text}"

        return await self._do(context, read)

    async def _do(
        self, context: ToolContext, what: Callable[[Root], Awaitable[str]], path: str = "."
    ) -> ToolAnswer:
        try:
            return ToolAnswer(output=await what(await self._workspaces.root_for_reading(context, path)))
        except HoldfastError as error:
            raise ToolError(error.text) from error


def _told(results: Results, nothing: str) -> str:
    lines = list(results.lines)
    if not lines and results.note is None:
        return f"[{nothing}]"
    if results.note is not None:
        lines.append(f"[{results.note}]")
    return "\n".join(lines)


class _Where(TypedDict):
    parts: Parts
    above: str
    links: bool


def _where(root: Root, path: str) -> _Where:
    """Results for an absolute path are shown with absolute paths, so that they can be read."""
    outside = root.base == Path("/")
    return {
        "parts": root.parse(path),
        "above": f"{root.path}/" if outside else "",
        "links": root.only is None,
    }
