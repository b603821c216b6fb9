"""The languages that can be mapped: which files are theirs, and what in a syntax tree is a definition, an
import, or text without identifiers. Grammars come with the extra `code` and are loaded when first needed."""

import importlib
import importlib.util
from dataclasses import dataclass
from functools import cache
from typing import Any

import tree_sitter


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """Captures of the query: `skip` is blanked before identifiers are read, `import` names other files, and
    every other capture is the name of a definition, called after its kind."""

    module: str
    function: str = "language"
    query: str


@dataclass(frozen=True, kw_only=True)
class Parser:
    parser: tree_sitter.Parser
    query: tree_sitter.Query


_PYTHON = """
(function_definition name: (identifier) @function)
(class_definition name: (identifier) @class)
(module (expression_statement (assignment left: (identifier) @constant)))
(import_statement) @import
(import_from_statement) @import
(comment) @skip
(string) @skip
"""

_JAVASCRIPT = """
(function_declaration name: (identifier) @function)
(generator_function_declaration name: (identifier) @function)
(class_declaration name: (_) @class)
(method_definition name: (property_identifier) @method)
(program (lexical_declaration (variable_declarator name: (identifier) @constant)))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @constant))))
(program (variable_declaration (variable_declarator name: (identifier) @constant)))
(import_statement) @import
(comment) @skip
(string) @skip
(regex) @skip
(string_fragment) @skip
"""

_TYPESCRIPT = (
    _JAVASCRIPT
    + """
(abstract_class_declaration name: (type_identifier) @class)
(interface_declaration name: (type_identifier) @interface)
(type_alias_declaration name: (type_identifier) @type)
(enum_declaration name: (identifier) @enum)
(function_signature name: (identifier) @function)
(method_signature name: (property_identifier) @method)
(internal_module name: (identifier) @module)
"""
)

_GO = """
(function_declaration name: (identifier) @function)
(method_declaration name: (field_identifier) @method)
(type_spec name: (type_identifier) @type)
(type_alias name: (type_identifier) @type)
(source_file (const_declaration (const_spec name: (identifier) @constant)))
(source_file (var_declaration (var_spec name: (identifier) @constant)))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @constant))))
(import_spec) @import
(comment) @skip
(interpreted_string_literal) @skip
(raw_string_literal) @skip
"""

_RUST = """
(function_item name: (identifier) @function)
(function_signature_item name: (identifier) @function)
(struct_item name: (type_identifier) @struct)
(union_item name: (type_identifier) @struct)
(enum_item name: (type_identifier) @enum)
(trait_item name: (type_identifier) @trait)
(type_item name: (type_identifier) @type)
(const_item name: (identifier) @constant)
(static_item name: (identifier) @constant)
(mod_item name: (identifier) @module)
(macro_definition name: (identifier) @macro)
(use_declaration) @import
(line_comment) @skip
(block_comment) @skip
(string_literal) @skip
(raw_string_literal) @skip
"""

_JAVA = """
(class_declaration name: (identifier) @class)
(interface_declaration name: (identifier) @interface)
(enum_declaration name: (identifier) @enum)
(record_declaration name: (identifier) @class)
(annotation_type_declaration name: (identifier) @interface)
(method_declaration name: (identifier) @method)
(constructor_declaration name: (identifier) @method)
(field_declaration declarator: (variable_declarator name: (identifier) @field))
(import_declaration) @import
(line_comment) @skip
(block_comment) @skip
(string_literal) @skip
"""

_C = """
(function_declarator declarator: (identifier) @function)
(struct_specifier name: (type_identifier) @struct body: (_))
(union_specifier name: (type_identifier) @struct body: (_))
(enum_specifier name: (type_identifier) @enum body: (_))
(type_definition declarator: (type_identifier) @type)
(preproc_def name: (identifier) @macro)
(preproc_function_def name: (identifier) @macro)
(preproc_include) @import
(comment) @skip
(string_literal) @skip
(char_literal) @skip
"""

_CPP = (
    _C
    + """
(class_specifier name: (type_identifier) @class body: (_))
(namespace_definition name: (namespace_identifier) @module)
(function_declarator declarator: (field_identifier) @method)
(function_declarator declarator: (qualified_identifier name: (identifier) @method))
(alias_declaration name: (type_identifier) @type)
(concept_definition name: (identifier) @type)
(raw_string_literal) @skip
"""
)

_RUBY = """
(method name: (_) @method)
(singleton_method name: (_) @method)
(class name: (constant) @class)
(class name: (scope_resolution name: (constant) @class))
(module name: (constant) @module)
(module name: (scope_resolution name: (constant) @module))
(assignment left: (constant) @constant)
(call method: (identifier) @_m (#match? @_m "^require(_relative)?$")) @import
(comment) @skip
(string_content) @skip
"""

_PHP = """
(function_definition name: (name) @function)
(class_declaration name: (name) @class)
(interface_declaration name: (name) @interface)
(trait_declaration name: (name) @trait)
(enum_declaration name: (name) @enum)
(method_declaration name: (name) @method)
(const_element (name) @constant)
(namespace_use_declaration) @import
(comment) @skip
(string) @skip
(string_content) @skip
"""

GRAMMARS: dict[str, Grammar] = {
    "python": Grammar(module="tree_sitter_python", query=_PYTHON),
    "javascript": Grammar(module="tree_sitter_javascript", query=_JAVASCRIPT),
    "typescript": Grammar(module="tree_sitter_typescript", function="language_typescript", query=_TYPESCRIPT),
    "tsx": Grammar(module="tree_sitter_typescript", function="language_tsx", query=_TYPESCRIPT),
    "go": Grammar(module="tree_sitter_go", query=_GO),
    "rust": Grammar(module="tree_sitter_rust", query=_RUST),
    "java": Grammar(module="tree_sitter_java", query=_JAVA),
    "c": Grammar(module="tree_sitter_c", query=_C),
    "cpp": Grammar(module="tree_sitter_cpp", query=_CPP),
    "ruby": Grammar(module="tree_sitter_ruby", query=_RUBY),
    "php": Grammar(module="tree_sitter_php", function="language_php", query=_PHP),
}

LANGUAGES: dict[str, str] = {
    **dict.fromkeys(("py", "pyi"), "python"),
    **dict.fromkeys(("js", "jsx", "mjs", "cjs"), "javascript"),
    **dict.fromkeys(("ts", "mts", "cts"), "typescript"),
    "tsx": "tsx",
    "go": "go",
    "rs": "rust",
    "java": "java",
    "c": "c",
    **dict.fromkeys(("h", "hh", "hpp", "hxx", "cc", "cpp", "cxx"), "cpp"),
    **dict.fromkeys(("rb", "rake"), "ruby"),
    "php": "php",
}


def language_of(path: str) -> str | None:
    """By the ending of its name; None: no language of ours."""
    return LANGUAGES.get(path.rpartition("/")[2].rpartition(".")[2].lower())


def installed() -> bool:
    """Whether the extra is there: the grammars, without loading them."""
    return importlib.util.find_spec("tree_sitter_python") is not None


@cache
def parser(language: str) -> Parser | None:
    """None: its grammar is not installed."""
    grammar = GRAMMARS[language]
    try:
        module: Any = importlib.import_module(grammar.module)
    except ModuleNotFoundError:
        return None
    pointer: object = getattr(module, grammar.function)()
    loaded = tree_sitter.Language(pointer)
    return Parser(parser=tree_sitter.Parser(loaded), query=tree_sitter.Query(loaded, grammar.query))
