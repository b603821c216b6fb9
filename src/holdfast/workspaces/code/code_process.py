"""The process that reads source code: it brings the index of a workspace up to date and answers one question.
It runs behind the wall, because a parser reads what strangers wrote."""

import os
import sys
from pathlib import Path

import msgspec

from holdfast.core.shapes import Record, encode
from holdfast.workspaces.code.answers import code_map, find_symbols, impact
from holdfast.workspaces.code.index import Index, refresh
from holdfast.workspaces.files.file_root import DIRECTORY, Tree
from holdfast.workspaces.files.openat2 import kernel_open
from holdfast.workspaces.search.search_process import covers

# So long files are parsed; what is left is done by the next call.
PARSE_SECONDS = 40.0


class MapQuestion(Record, frozen=True, kw_only=True, tag_field="type", tag="map"):
    below: str
    tokens: int


class SymbolQuestion(Record, frozen=True, kw_only=True, tag_field="type", tag="symbols"):
    query: str


class ImpactQuestion(Record, frozen=True, kw_only=True, tag_field="type", tag="impact"):
    symbol: str | None
    path: str | None


CodeQuestion = MapQuestion | SymbolQuestion | ImpactQuestion


class CodeRequest(Record, frozen=True, kw_only=True):
    question: CodeQuestion
    # What is not to be found: by device and inode, and by path below the root.
    hidden: tuple[tuple[int, int], ...] = ()
    covered: tuple[str, ...] = ()


class CodeAnswer(Record, frozen=True, kw_only=True):
    text: str
    files: int
    left_out: int


def answer(index: Index, question: CodeQuestion) -> str:
    match question:
        case MapQuestion(below=below, tokens=tokens):
            return code_map(index, below, tokens)
        case SymbolQuestion(query=query):
            return find_symbols(index, query)
        case ImpactQuestion(symbol=symbol, path=path):
            return impact(index, symbol, path)


def main() -> None:
    """Arguments: the workspace, the directory of its index, the file with the request."""
    request = msgspec.json.decode(Path(sys.argv[3]).read_bytes(), type=CodeRequest)
    root = os.open(sys.argv[1], DIRECTORY | os.O_NOFOLLOW)
    hidden = frozenset((*request.hidden, *covers(root, request.covered)))
    index = refresh(Tree(root, kernel_open(), links=False, hidden=hidden), Path(sys.argv[2]), PARSE_SECONDS)
    found = CodeAnswer(text=answer(index, request.question), files=len(index.files), left_out=index.left_out)
    sys.stdout.buffer.write(encode(found))


if __name__ == "__main__":
    main()
