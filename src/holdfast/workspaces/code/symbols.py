"""What one source file defines and which identifiers it uses, read from its syntax tree."""

import re
from collections import Counter

import msgspec
import tree_sitter

from holdfast.workspaces.code.grammars import Parser
from holdfast.workspaces.files.paths import shown

_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{1,59}")
# What one file may add to the index: generated files are long.
MOST_DEFINITIONS = 2_000
MOST_WORDS = 4_000
SIGNATURE_CHARACTERS = 160
_IMPORT_CHARACTERS = 4_000


class Definition(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """`line` counts from 1; `signature` is that line of the file."""

    name: str
    kind: str
    line: int
    signature: str


class FileSymbols(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """`words` counts identifiers outside of comments and strings; `imports` is the text of the imports."""

    definitions: tuple[Definition, ...] = ()
    words: dict[str, int] = {}
    imports: str = ""
    parsed: bool = True


def read_symbols(found: Parser, source: bytes) -> FileSymbols:
    root = found.parser.parse(source).root_node
    captures = tree_sitter.QueryCursor(found.query).captures(root)
    lines = source.split(b"\n")
    definitions: list[Definition] = []
    imports: list[str] = []
    code = bytearray(source)
    for kind, nodes in captures.items():
        match kind:
            case "skip":
                for node in nodes:
                    code[node.start_byte : node.end_byte] = b" " * (node.end_byte - node.start_byte)
            case "import":
                imports += [_text(source[node.start_byte : node.end_byte]) for node in nodes]
            case _ if kind.startswith("_"):
                pass  # only there for the query's own conditions
            case _:
                definitions += [_definition(kind, node, source, lines) for node in nodes]
    words = Counter(word.decode() for word in _WORD.findall(code))
    unique = {(each.name, each.kind, each.line): each for each in definitions}
    ordered = sorted(unique.values(), key=lambda each: each.line)
    return FileSymbols(
        definitions=tuple(ordered[:MOST_DEFINITIONS]),
        words=dict(words.most_common(MOST_WORDS)),
        imports=" ".join(imports)[:_IMPORT_CHARACTERS],
        # A tree that is one error, or that has errors and nothing else, is no syntax of this language.
        parsed=not (root.type == "ERROR" or (root.has_error and not definitions)),
    )


def _definition(kind: str, node: tree_sitter.Node, source: bytes, lines: list[bytes]) -> Definition:
    row = node.start_point[0]
    return Definition(
        name=shown(_text(source[node.start_byte : node.end_byte])[:100]),
        kind=kind,
        line=row + 1,
        signature=shown(_text(lines[row]).strip()[:SIGNATURE_CHARACTERS]),
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
