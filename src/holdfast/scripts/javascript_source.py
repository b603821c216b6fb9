"""JavaScript, read by a parser: `meta` is evaluated from the syntax tree, forbidden constructs are refused,
and the rest is wrapped into one function, so that `await` and `return` work at its top level. Line numbers
stay the same."""

import time
from collections.abc import Iterator

import tree_sitter_javascript
from tree_sitter import Language, Node, Parser

from holdfast.core.errors import BadScript
from holdfast.core.shapes import Json
from holdfast.scripts.meta import Literally, bad
from holdfast.scripts.names import check_name

PARSE_SECONDS = 0.5
_LANGUAGE = Language(tree_sitter_javascript.language())
_NOT_STATEMENTS = ("comment", "hash_bang_line", "html_comment")
_FUNCTIONS = ("function_expression", "arrow_function", "function_declaration", "generator_function")
_TYPE_WORDS = ("interface", "type", "enum", "namespace", "declare", "abstract", "as", "satisfies")
_TYPE_MARKS = ("?:", "):", ": string", ": number", ": boolean", ": any", ": void", "<string>", "<any>")
_WHY = {
    "import": "import is not available: a script has the workflow words and plain JavaScript.",
    "require": "require() is not available: a script has the workflow words and plain JavaScript.",
    "module.exports": "module.exports means nothing: begin with `export const meta = ...`, end with return.",
}
_DEFAULT = "__holdfast_default"
# A word of the engine: it notes the line.
_THROWN = b"__holdfast_thrown"
# And its lines in loops, so that one without an end can be named.
_LINE = "__holdfast_line"
_LOOPS = "__holdfast_loops"
_LOOP_STATEMENTS = ("for_statement", "for_in_statement", "while_statement", "do_statement")


def read_javascript(text: str) -> tuple[Literally, str]:
    source = text.encode()
    root = _parse(source)
    if root.has_error:
        raise _complain(source, root)
    own = {_text(node) for node in _nodes(root) if _is_bound(node)}
    for node in _nodes(root):
        _refuse(node, own)
    statements = [node for node in root.named_children if node.type not in _NOT_STATEMENTS]
    literal = _meta(statements[0] if statements else None)
    for node in statements[1:]:
        if _is_meta(node):
            raise bad(_line(node), "there is a meta already: a script has one.")
    return literal, _wrap(source, root, statements)


def _parse(source: bytes) -> Node:
    """A text that is far from JavaScript can keep the parser busy forever, because it looks for a way to
    continue. It cannot be interrupted, but it can be told that the text is over: so that is tried first."""
    until = time.thread_time() + PARSE_SECONDS
    late = False

    def read(offset: int, _: object) -> bytes:
        nonlocal late
        late = late or time.thread_time() > until
        return b"" if late else source[offset : offset + 4096]

    Parser(_LANGUAGE).parse(read)
    if late:
        raise BadScript("The script takes too long to be read: it is not JavaScript, or nested very deeply.")
    return Parser(_LANGUAGE).parse(source).root_node


def _line(node: Node) -> int:
    # By index: the names of a point are broken in a release of the parser.
    return node.start_point[0] + 1


def _text(node: Node) -> str:
    return (node.text or b"").decode()


# What is wrong


def _complain(source: bytes, root: Node) -> BadScript:
    node = _first_error(root)
    line = _line(node)
    if node.is_missing:
        return bad(line, f"the script is not complete: a {node.type!r} is missing.")
    found = _text(node).strip()
    if _looks_typed(source, node):
        return bad(
            line,
            "this looks like TypeScript. Types are not understood: remove them, or compile the script first.",
        )
    first = found.splitlines()[0][:60] if found else "the end of the text"
    return bad(line, f"this is not JavaScript: unexpected “{first}”.")


def _first_error(root: Node) -> Node:
    node = root
    while not (node.is_error or node.is_missing):
        broken = [child for child in node.children if child.has_error or child.is_missing]
        if not broken:
            return node
        node = min(broken, key=lambda child: child.start_byte)
    return node


def _looks_typed(source: bytes, error: Node) -> bool:
    found = _text(error).strip()
    start = source.rfind(b"\n", 0, error.start_byte) + 1
    before = source[start : error.start_byte].decode(errors="replace").split()
    words = [*before[:1], *found.split()[:2]]
    return (
        found.startswith(":")
        or found.endswith(":")
        or any(mark in found for mark in _TYPE_MARKS)
        or any(word in _TYPE_WORDS for word in words)
    )


def _nodes(root: Node) -> Iterator[Node]:
    """All of them, in order, without recursion and in linear time: a script may be nested very deeply."""
    cursor = root.walk()
    while True:
        if cursor.node is not None:
            yield cursor.node
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _refuse(node: Node, own: set[str]) -> None:
    match node.type:
        case "identifier":
            check_name(_text(node), _line(node))
        case "import" | "import_statement":
            raise bad(_line(node), _WHY["import"])
        case "call_expression":
            if _field(node, "function") == "require" and "require" not in own:
                raise bad(_line(node), _WHY["require"])
        case "member_expression":
            exports = _field(node, "object") == "module" and _field(node, "property") == "exports"
            if exports and "module" not in own:
                raise bad(_line(node), _WHY["module.exports"])
        case "assignment_expression":
            left = node.child_by_field_name("left")
            written = _field(left, "object") if left is not None and left.type == "member_expression" else ""
            if written == "exports" and "exports" not in own:
                raise bad(_line(node), _WHY["module.exports"])
        case "jsx_element" | "jsx_self_closing_element":
            raise bad(_line(node), "JSX is not JavaScript that runs here.")
        case "export_statement":
            if not (_is_meta(node) or _default_function(node) is not None):
                raise bad(
                    _line(node),
                    "only meta can be exported, or one function: `export default async function (args) {}`.",
                )
        case _:
            pass


_BINDERS = {
    "variable_declarator": "name",
    "function_declaration": "name",
    "generator_function_declaration": "name",
    "class_declaration": "name",
    "arrow_function": "parameter",
    "catch_clause": "parameter",
    "assignment_pattern": "left",
    "object_assignment_pattern": "left",
    "pair_pattern": "value",
}


def _is_bound(node: Node) -> bool:
    """Whether a name is given a meaning here."""
    if node.type == "shorthand_property_identifier_pattern":
        return True
    parent = node.parent if node.type == "identifier" else None
    if parent is None:
        return False
    if parent.type in ("formal_parameters", "array_pattern", "rest_pattern"):
        return True
    return parent.type in _BINDERS and parent.child_by_field_name(_BINDERS[parent.type]) == node


def _field(node: Node, name: str) -> str:
    """The text of a part that is a plain name; nothing when it is more than that."""
    part = node.child_by_field_name(name)
    plain = part is not None and part.type in ("identifier", "property_identifier")
    return _text(part) if part is not None and plain else ""


# Meta


def _is_meta(node: Node) -> bool:
    return _meta_declarator(node) is not None


def _meta_declarator(node: Node) -> Node | None:
    declaration = node.child_by_field_name("declaration")
    if node.type != "export_statement" or declaration is None or declaration.type != "lexical_declaration":
        return None
    declarators = [child for child in declaration.named_children if child.type == "variable_declarator"]
    name = declarators[0].child_by_field_name("name") if len(declarators) == 1 else None
    return declarators[0] if name is not None and _text(name) == "meta" else None


def _meta(first: Node | None) -> Literally:
    declarator = _meta_declarator(first) if first is not None else None
    value = declarator.child_by_field_name("value") if declarator is not None else None
    if value is None:
        raise bad(
            _line(first) if first is not None else 1,
            "a script begins with `export const meta = {name: '...', description: '...'}`, before all else.",
        )
    return _literal(value)


def _literal(node: Node) -> Literally:
    line = _line(node)
    match node.type:
        case "object":
            members = dict(_member(child) for child in _parts(node))
            return Literally({key: item.value for key, item in members.items()}, line, {**members})
        case "array":
            items = [_literal(child) for child in _parts(node)]
            return Literally([item.value for item in items], line, dict(enumerate(items)))
        case "parenthesized_expression":
            return _literal(_parts(node)[0])
        case _:
            return Literally(_plain(node), line)


def _parts(node: Node) -> list[Node]:
    return [child for child in node.named_children if child.type not in _NOT_STATEMENTS]


def _member(node: Node) -> tuple[str, Literally]:
    key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
    if node.type != "pair" or key is None or value is None:
        raise _impure(node)
    match key.type:
        case "property_identifier":
            name = _text(key)
        case "string":
            name = _string(key)
        case "number":
            name = str(_number(key))
        case _:
            raise _impure(key)
    return name, _literal(value)


def _plain(node: Node) -> Json:
    match node.type:
        case "string":
            return _string(node)
        case "template_string" if all(child.type != "template_substitution" for child in node.named_children):
            return _string(node)
        case "number":
            return _number(node)
        case "true" | "false":
            return node.type == "true"
        case "null" | "undefined":
            return None
        case "unary_expression":
            argument = node.child_by_field_name("argument")
            if argument is not None and argument.type == "number" and _text(node)[0] in "+-":
                return _number(argument) * (-1 if _text(node)[0] == "-" else 1)
        case _:
            pass
    raise _impure(node)


def _impure(node: Node) -> BadScript:
    return bad(
        _line(node),
        "meta must be written out plainly, because it is read without running the script: "
        f"“{_text(node)[:60]}” is not a plain value. "
        "Use text, numbers, true, false, null, lists and objects.",
    )


def _number(node: Node) -> int | float:
    text = _text(node).replace("_", "").lower()
    try:
        return int(text, 0) if text[:2] in ("0x", "0o", "0b") or text.isdigit() else float(text)
    except ValueError:
        raise bad(_line(node), f"the number {text} cannot be used in meta.") from None


def _string(node: Node) -> str:
    parts = [
        _escape(child) if child.type == "escape_sequence" else _text(child) for child in node.named_children
    ]
    # Characters written as two \\u escapes are one.
    return "".join(parts).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}


def _escape(node: Node) -> str:
    body = _text(node)[1:]
    digits = body[1:].strip("{}")
    if body[:1] in ("u", "x") and digits:
        code = int(digits, 16)
        if code > 0x10FFFF:
            raise bad(_line(node), f"there is no character {_text(node)}.")
        return chr(code)
    return _ESCAPES.get(body, body)


# Wrapping


def _default_function(node: Node) -> Node | None:
    if not any(child.type == "default" for child in node.children):
        return None
    function = node.child_by_field_name("value") or node.child_by_field_name("declaration")
    return function if function is not None and function.type in _FUNCTIONS else None


def _wrap(source: bytes, root: Node, statements: list[Node]) -> str:
    defaults = [node for node in statements if node.type == "export_statement" and _default_function(node)]
    if len(defaults) > 1:
        raise bad(_line(defaults[1]), "there can be only one default export.")
    pieces: list[bytes] = []
    done = 0
    for start, end, text in sorted(_edits(root, statements[0], defaults[0] if defaults else None)):
        pieces += [source[done:start], text]
        done = end
    body = b"".join([*pieces, source[done:]]).decode()
    last = f"\n;return {_DEFAULT}(args)" if defaults else ""
    return f'(async()=>{{"use strict";let {_LINE}=0;{_LOOPS}(()=>{_LINE});' + body + last + "\n})"


def _edits(root: Node, meta: Node, default: Node | None) -> Iterator[tuple[int, int, bytes]]:
    yield meta.start_byte, meta.start_byte + len(b"export"), b"      "
    if root.children and root.children[0].type == "hash_bang_line":
        yield 0, 2, b"//"
    for node in _nodes(root):
        if node.type == "throw_statement":
            thrown = _parts(node)[0]
            word = _THROWN + (b"_new" if thrown.type == "new_expression" else b"")
            yield thrown.start_byte, thrown.start_byte, word + b"(("
            yield thrown.end_byte, thrown.end_byte, b"))"
        elif node.type in _LOOP_STATEMENTS and (body := node.child_by_field_name("body")) is not None:
            yield body.start_byte, body.start_byte, f"{{{_LINE}={_line(node)};".encode()
            yield body.end_byte, body.end_byte, b"}"
    function = _default_function(default) if default is not None else None
    if default is not None and function is not None:
        between = (root.text or b"")[default.start_byte : function.start_byte]
        yield (
            default.start_byte,
            function.start_byte,
            f";const {_DEFAULT}=(".encode() + b"\n" * between.count(b"\n"),
        )
        yield function.end_byte, default.end_byte, b");"
