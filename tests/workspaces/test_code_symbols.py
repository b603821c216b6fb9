"""What is read from source code of each language, against lists made by hand; and what is answered from an
index."""

import pytest

from holdfast.workspaces.code.answers import code_map, find_symbols, impact
from holdfast.workspaces.code.grammars import GRAMMARS, LANGUAGES, language_of, parser
from holdfast.workspaces.code.index import VERSION, Index, IndexedFile
from holdfast.workspaces.code.symbols import FileSymbols, read_symbols

# Source, and its definitions as kind and name, by line.
TRUTH: dict[str, tuple[str, str]] = {
    "python": (
        """\
import os
from a.b import c
LIMIT = 3
class Shop:
    size = 1
    def open(self):
        def inner(): ...
    async def close(self): ...
@decorated
def sell(x):
    # def not_this
    return 'def nor_this(): ...'
class Price[T](Base, metaclass=Kind):
    class Inner:
        def deep(self): ...
    @property
    def size(self): ...
    @staticmethod
    def parse(text): ...
if True:
    def inside(): ...
try:
    import fast
except ImportError:
    def fast(): ...
async def main(*, key): ...
""",
        (
            "constant LIMIT, class Shop, function open, function inner, function close, function sell, "
            "class Price, class Inner, function deep, function size, function parse, function inside, "
            "function fast, function main"
        ),
    ),
    "javascript": (
        """\
import x from './x'
export function sell(a) {}
function* many() {}
class Shop { open() {} static close() {} get size() {} #own() {} }
const LIMIT = 3
export const add = (a, b) => a + b
var old = 1
// function not_this() {}
const text = `function nor_this() {}`
if (x) { const inside = 1 }
""",
        (
            "function sell, function many, class Shop, method open, method close, method size, "
            "constant LIMIT, constant add, constant old, constant text"
        ),
    ),
    "typescript": (
        """\
interface Shop { open(at: number): void }
type Price = number
enum Kind { A, B }
abstract class Base { abstract size(): number }
export class Store<T> extends Base { size(): number { return 1 } }
namespace Inner { export function deep() {} }
declare function outside(x: string): void
export const LIMIT: number = 1
""",
        (
            "interface Shop, method open, type Price, enum Kind, class Base, class Store, method "
            "size, module Inner, function deep, function outside, constant LIMIT"
        ),
    ),
    "tsx": (
        """\
export function View(props: { name: string }) { return <div title='function no() {}'>{props.name}</div> }
const Other: React.FC = () => <View name='x' />
""",
        "function View, constant Other",
    ),
    "go": (
        """\
package shop
import "fmt"
type Shop struct { size int }
type Opener interface { Open() }
func New() *Shop { return nil }
func (s *Shop) Open() {}
const Limit = 3
var Default = New()
type Price = int
// func notThis() {}
func Max[T any](a T) T { return a }
""",
        (
            "type Shop, type Opener, function New, method Open, constant Limit, constant Default, "
            "type Price, function Max"
        ),
    ),
    "rust": (
        """\
use std::fmt;
pub struct Shop { size: u8 }
enum Kind { A }
trait Open { fn open(&self); }
impl Open for Shop { fn open(&self) {} }
const LIMIT: u8 = 3;
static NAME: &str = "fn no() {}";
type Price = u64;
mod inner { pub fn deep() {} }
macro_rules! sell { () => {} }
pub async fn sell_all<T>(x: T) {}
union Bits { a: u8 }
""",
        (
            "struct Shop, enum Kind, trait Open, function open, function open, constant LIMIT, "
            "constant NAME, type Price, module inner, function deep, macro sell, function sell_all, "
            "struct Bits"
        ),
    ),
    "java": (
        """\
package a.b;
import java.util.List;
public class Shop<T> {
  static final int LIMIT = 3;
  Shop() {}
  void open(int at) {}
  class Inner {}
}
interface Opener { void open(); }
enum Kind { A }
record Price(int amount) {}
@interface Note {}
// class NotThis {}
""",
        (
            "class Shop, field LIMIT, method Shop, method open, class Inner, interface Opener, method "
            "open, enum Kind, class Price, interface Note"
        ),
    ),
    "c": (
        """\
#include <stdio.h>
#define LIMIT 3
#define MAX(a, b) ((a) > (b))
struct shop { int size; };
typedef struct shop Shop;
enum kind { A };
union bits { int a; };
static int *open_shop(struct shop *s) { return 0; }
int sell(void);
/* int not_this(void) {} */
""",
        (
            "macro LIMIT, macro MAX, struct shop, type Shop, enum kind, struct bits, function "
            "open_shop, function sell"
        ),
    ),
    "cpp": (
        """\
#include "shop.h"
namespace store {
class Shop { public: Shop(); void open() const; int size; };
template <typename T> T largest(T a) { return a; }
void Shop::open() const {}
using Price = int;
enum class Kind { A };
}
""",
        (
            "module store, class Shop, function Shop, method open, function largest, method open, "
            "type Price, enum Kind"
        ),
    ),
    "ruby": (
        """\
require 'set'
module Store
  LIMIT = 3
  class Shop < Base
    def open(at) = 1
    def self.build
    end
    def size?
    end
  end
end
# def not_this
class Store::Other
end
""",
        "module Store, constant LIMIT, class Shop, method open, method build, method size?, class Other",
    ),
    "php": (
        """\
<?php
namespace A;
use B\\C;
const LIMIT = 3;
interface Opener { function open(); }
trait Loud { }
class Shop implements Opener { const SIZE = 1; public function open() {} }
enum Kind { case A; }
function sell($x) { return 'function no() {}'; }
""",
        (
            "constant LIMIT, interface Opener, method open, trait Loud, class Shop, constant SIZE, "
            "method open, enum Kind, function sell"
        ),
    ),
}


def symbols_of(language: str, source: str) -> FileSymbols:
    found = parser(language)
    assert found is not None
    return read_symbols(found, source.encode())


@pytest.mark.parametrize("language", GRAMMARS)
def test_definitions_are_those_that_a_person_finds(language: str) -> None:
    source, wanted = TRUTH[language]
    found = symbols_of(language, source)
    assert sorted(f"{each.kind} {each.name}" for each in found.definitions) == sorted(wanted.split(", "))
    assert found.parsed
    lines = source.split("\n")
    assert all(each.name in lines[each.line - 1] for each in found.definitions)


def test_there_is_a_truth_for_every_language_and_many_definitions() -> None:
    assert TRUTH.keys() == GRAMMARS.keys() == {*LANGUAGES.values()}
    assert sum(wanted.count(",") + 1 for _, wanted in TRUTH.values()) >= 100


def test_identifiers_in_comments_and_strings_are_no_use() -> None:
    found = symbols_of("python", "def f(x):\n    # ghost\n    return sell(x, 'ghost', f'{price}')\n")
    assert "ghost" not in found.words
    assert found.words["sell"] == 1


@pytest.mark.parametrize("source", ["}}}} ((( \x00 not code", "\x7fELF\x02\x01"])
def test_what_is_no_code_is_said_to_be_none(source: str) -> None:
    assert not symbols_of("python", source).parsed


def test_a_file_with_an_error_keeps_what_is_right() -> None:
    found = symbols_of("python", "def good():\n    pass\n\ndef broken(:\n")
    assert [each.name for each in found.definitions][:1] == ["good"]


@pytest.mark.parametrize(
    "path, language",
    [
        ("a/b.py", "python"),
        ("A.TSX", "tsx"),
        ("x.h", "cpp"),
        ("Makefile", None),
        ("a.py.txt", None),
        (".py", "python"),
    ],
)
def test_a_language_is_known_by_the_ending(path: str, language: str | None) -> None:
    assert language_of(path) == language


def index_of(**sources: str) -> Index:
    files = {
        name.replace("__", "/") + ".py": IndexedFile((0, 0, 0, 0), b"", symbols_of("python", source))
        for name, source in sources.items()
    }
    return Index(VERSION, files)


SHOP = index_of(
    lib__prices="def price(x): ...\ndef unused(): ...\n",
    app="from lib.prices import price\nprice(1)\nprice(2)\n",
    web__pages="from lib import prices\nprices.price(3)\n",
    other="def price_list():\n    price = 1\n    return price\n",
)


def test_a_map_begins_with_what_is_used_most() -> None:
    shown = code_map(SHOP, "", 20)
    assert "1: def price(x): ..." in shown
    assert "unused" not in shown
    assert "more files" in shown


@pytest.mark.parametrize("tokens", [100, 500, 2000])
def test_a_map_keeps_to_its_tokens(tokens: int) -> None:
    large = index_of(**{f"d{n % 7}__f{n}": f"def name_{n}(): ...\nname_{n - 1}()\n" for n in range(400)})
    for number in range(300):
        path = f"{'long_directory_' * 15}{number}/{number}.py"
        large.files[path] = IndexedFile((0, 0, 0, 0), b"", FileSymbols(parsed=False), "not valid source code")
    large.left_out = 7
    shown = code_map(large, "", tokens)
    assert len(shown) / 4 <= tokens
    assert len(shown.split("\n[")[0]) / 4 > 0.4 * tokens
    for told in ("7 files have not been read yet", "300 files could not be read", "more files, by directory"):
        assert told in shown or tokens == 100


def test_a_map_of_a_directory_has_only_what_is_below() -> None:
    shown = code_map(SHOP, "lib", 2000)
    assert "lib/prices.py:" in shown
    assert "other.py" not in shown


def test_symbols_are_found_by_name_and_by_part() -> None:
    shown = find_symbols(SHOP, "price")
    assert shown.split("\n")[:3] == [
        "Definitions (2):",
        "lib/prices.py:1: def price(x): ...",
        "other.py:1: def price_list():",
    ]
    assert "app.py (3 times)" in shown
    assert "No definition" in find_symbols(SHOP, "nothing_like_it")


def test_impact_tells_importers_from_namesakes() -> None:
    shown = impact(SHOP, "price", None)
    importers, _, namesakes = shown.partition("without a visible import")
    assert "app.py uses price" in importers
    assert "web/pages.py uses price" in importers
    assert "other.py uses price" in namesakes
    assert "app.py uses price" in impact(SHOP, None, "lib/prices.py")
    assert "Nothing here defines" in impact(SHOP, "ghost", None)
    assert "No source file" in impact(SHOP, None, "nowhere")
