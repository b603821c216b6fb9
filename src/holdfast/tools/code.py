"""Tools that look at source code as a whole: a map of the most used definitions, symbols by name, and what
depends on what. They change nothing, and are offered if the grammars are installed."""

from typing import Annotated

from msgspec import Meta

from holdfast.core.errors import HoldfastError
from holdfast.tools.contract import Input, Tool, ToolAnswer, ToolContext, ToolError
from holdfast.workspaces.code.code_indexes import CODE_SECONDS, CodeIndexes
from holdfast.workspaces.code.code_process import CodeQuestion, ImpactQuestion, MapQuestion, SymbolQuestion
from holdfast.workspaces.places.chat_directory import Workspaces

MAP_TOKENS = 2_000
MOST_MAP_TOKENS = 6_000


class CodeMap(Input, frozen=True, kw_only=True):
    path: Annotated[
        str, Meta(description="A directory or file to map; the workspace if omitted.", examples=["src"])
    ] = "."
    tokens: Annotated[
        int, Meta(ge=100, le=MOST_MAP_TOKENS, description="How long the map may be, in tokens.")
    ] = MAP_TOKENS


class CodeSymbols(Input, frozen=True, kw_only=True):
    query: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=200,
            description="The name, or part of the name, of a function, class, method, type or constant.",
            examples=["parse_config"],
        ),
    ]


class CodeImpact(Input, frozen=True, kw_only=True):
    symbol: Annotated[
        Annotated[str, Meta(max_length=200)] | None,
        Meta(description="A defined name, exactly.", examples=["parse_config"]),
    ] = None
    path: Annotated[
        str | None, Meta(description="A file or directory instead of a symbol.", examples=["src/config.py"])
    ] = None


def code_tools(workspaces: Workspaces, indexes: CodeIndexes) -> tuple[Tool, ...]:
    code = CodeTools(workspaces, indexes)
    return (
        Tool(
            name="code_map",
            description=(
                "Get an overview of a code base: the definitions that other files use most, by file, with "
                "their lines. Start here in a repository you do not know."
            ),
            input=CodeMap,
            run=code.map,
            effect="read",
            reach="workspace",
            timeout_seconds=CODE_SECONDS,
        ),
        Tool(
            name="code_symbols",
            description="Find where a function, class, type or constant is defined, and which files use it.",
            input=CodeSymbols,
            run=code.symbols,
            effect="read",
            reach="workspace",
            timeout_seconds=CODE_SECONDS,
        ),
        Tool(
            name="code_impact",
            description=(
                "List the files that depend on a symbol, or on anything a file defines: what to look at "
                "before changing it. Give either symbol or path."
            ),
            input=CodeImpact,
            run=code.impact,
            effect="read",
            reach="workspace",
            timeout_seconds=CODE_SECONDS,
        ),
    )


class CodeTools:
    def __init__(self, workspaces: Workspaces, indexes: CodeIndexes) -> None:
        self._workspaces = workspaces
        self._indexes = indexes

    async def map(self, context: ToolContext, asked: CodeMap) -> ToolAnswer:
        below = await self._below(context, asked.path)
        return await self._ask(context, MapQuestion(below=below, tokens=asked.tokens))

    async def symbols(self, context: ToolContext, asked: CodeSymbols) -> ToolAnswer:
        return await self._ask(context, SymbolQuestion(query=asked.query))

    async def impact(self, context: ToolContext, asked: CodeImpact) -> ToolAnswer:
        if (asked.symbol is None) == (asked.path is None):
            raise ToolError("Give either a symbol or a path.")
        path = None if asked.path is None else await self._below(context, asked.path)
        return await self._ask(context, ImpactQuestion(symbol=asked.symbol, path=path))

    async def _below(self, context: ToolContext, path: str) -> str:
        """The path from the workspace's root, refusing anything that leads elsewhere."""
        try:
            parts = (await self._workspaces.root_of(context)).parse(path)
        except HoldfastError as error:
            raise ToolError(error.text) from error
        return "/".join(parts)

    async def _ask(self, context: ToolContext, question: CodeQuestion) -> ToolAnswer:
        try:
            root = await self._workspaces.root_of(context)
            found = await self._indexes.ask(root, context.workspace_id or context.chat_id, question)
        except HoldfastError as error:
            raise ToolError(error.text) from error
        return ToolAnswer(output=found.text)
