"""Edits and what must become of them: a text, an old passage, a new one, and the text afterwards or the
reason of the refusal. A line of a case is easier to judge than a rule."""

from typing import NamedTuple

from holdfast.workspaces.files.edits import Reason


class Case(NamedTuple):
    name: str
    text: str
    old: str
    new: str
    becomes: str | None = None
    refused: Reason | None = None
    everywhere: bool = False
    # Part of what is said about it.
    told: str = ""


PYTHON = "def f(x):\n    if x:\n        return 1\n    return 2\n"
TABBED = "func f() {\n\tif x {\n\t\treturn 1\n\t}\n}\n"
CRLF = "one\r\ntwo\r\nthree\r\n"
LONG = "x" * 100_000


EXACT = (
    Case("a word", "a b c\n", "b", "B", "a B c\n"),
    Case("a whole line", "a\nb\nc\n", "b\n", "B\n", "a\nB\nc\n"),
    Case("several lines", PYTHON, "    if x:\n        return 1\n", "", "def f(x):\n    return 2\n"),
    Case("the first line", "a\nb\n", "a\n", "A\n", "A\nb\n"),
    Case("the last line", "a\nb", "b", "B", "a\nB"),
    Case("the whole text", "a", "a", "b", "b"),
    Case("to nothing", "abc", "b", "", "ac"),
    Case("in the middle of a word", "foobar", "oba", "OBA", "foOBAr"),
    Case("a regular expression is text", "a.*b\naxxb\n", "a.*b", "c", "c\naxxb\n"),
    Case("a backslash is text", "a\\1b", "\\1", "\\2", "a\\2b"),
    Case("a group reference in the new text is text", "a", "a", r"\g<0>\1$1&", r"\g<0>\1$1&"),
    Case("a dollar is text", "cost $5\n", "$5", "$6", "cost $6\n"),
    Case("brackets are text", "x[0](1){2}", "[0](1){2}", "?", "x?"),
    Case("the new text has the old one in it", "a\n", "a", "aa", "aa\n"),
    Case("the new text is longer", "a\nb\n", "a\n", "a\na2\na3\n", "a\na2\na3\nb\n"),
    Case("unicode", "größe\n", "größe", "Größe", "Größe\n"),
    Case("outside the first plane", "a 😀 b", "😀", "🎉", "a 🎉 b"),
    Case("a combining accent stays what it is", "e\u0301 é", "e\u0301", "e", "e é"),
    Case("with the mark at the beginning", "\ufeffa\nb\n", "a\n", "c\n", "\ufeffc\nb\n"),
    Case("tabs", "a\tb", "\t", " ", "a b"),
    Case("a form feed is no line end", "a\fb\n", "a\fb", "c", "c\n"),
    Case("U+2028 is no line end", "a\u2028b\nc\n", "b\nc", "d", "a\u2028d\n"),
    Case("a vertical tab is no line end", "a\x0bb\nc\n", "b\nc\n", "d\n", "a\x0bd\n"),
    Case("a lone CR is no line end", "a\rb\nc", "b\nc", "d", "a\rd"),
    Case("bytes that are no text stay", "\udcffa\udcfe", "a", "b", "\udcffb\udcfe"),
    Case("a very long line", f"{LONG}y{LONG}", "y", "z", f"{LONG}z{LONG}"),
    Case("a very long old text", f"a{LONG}b", LONG, "c", "acb"),
    Case("only whitespace, found once", "a  b", "  ", " ", "a b"),
    Case("only a line end, found once", "a\nb", "\n", " ", "a b"),
    Case("blank lines between", "a\n\n\nb\n", "a\n\n\nb", "a\n\nb", "a\n\nb\n"),
    Case("what looks like a diff", "-a\n+b\n", "-a\n+b\n", "+b\n", "+b\n"),
    Case("trailing blanks by the letter", "a  \nb\n", "a  \n", "a\n", "a\nb\n"),
    Case("exact wins over loose", "  a\na\n", "a\n", "b\n", refused="many"),
    Case(
        "exact wins over another indentation",
        "    a()\n  a()\n",
        "    a()\n",
        "    b()\n",
        "    b()\n  a()\n",
    ),
)

EVERYWHERE = (
    Case("all of three", "a b a b a", "a", "c", "c b c b c", everywhere=True),
    Case("all of one", "a b", "a", "c", "c b", everywhere=True),
    Case("all, several lines", "x\ny\n\nx\ny\n", "x\ny\n", "z\n", "z\n\nz\n", everywhere=True),
    Case("all, side by side", "aaaa", "aa", "b", refused="overlap", everywhere=True),
    Case("all, touching", "abab", "ab", "c", "cc", everywhere=True),
    Case("all, none there", "abc", "x", "y", refused="none", everywhere=True),
    Case("all, with CRLF", "a\r\nb\r\na\r\nb\r\n", "a\nb\n", "c\n", "c\r\nc\r\n", everywhere=True),
    Case(
        "all, indented differently",
        "if a:\n  x()\n  y()\nif b:\n    x()\n    y()\n",
        "x()\ny()\n",
        "z()\n",
        "if a:\n  z()\nif b:\n    z()\n",
        everywhere=True,
    ),
    Case("all of too many", "a" * 20_001, "a", "b", refused="many", everywhere=True, told="more than 10000"),
)

LINE_ENDS = (
    Case("LF asked, CRLF there", CRLF, "one\ntwo\n", "1\n2\n", "1\r\n2\r\nthree\r\n", told="line ends"),
    Case("the new lines of one get CRLF", CRLF, "two", "2\n2.5", "one\r\n2\r\n2.5\r\nthree\r\n", told="CRLF"),
    Case("one line of CRLF", CRLF, "two", "2", "one\r\n2\r\nthree\r\n"),
    Case("CRLF asked, LF there", "one\ntwo\n", "one\r\ntwo\r\n", "1\r\n2\r\n", "1\n2\n"),
    Case("CRLF asked, CRLF there", CRLF, "one\r\ntwo\r\n", "1\r\n", "1\r\nthree\r\n"),
    Case("old with LF, new with CRLF", CRLF, "one\ntwo\n", "1\r\n2\r\n", "1\r\n2\r\nthree\r\n"),
    Case("beginning with a line end", CRLF, "\ntwo", "\n2", "one\r\n2\r\nthree\r\n"),
    Case("ending with a line end", CRLF, "two\n", "2\n", "one\r\n2\r\nthree\r\n"),
    Case("only a line end between", "a\r\nb", "a\nb", "ab", "ab"),
    Case("lines are added", CRLF, "one\ntwo\n", "one\n1.5\ntwo\n", "one\r\n1.5\r\ntwo\r\nthree\r\n"),
    Case("lines are removed", CRLF, "one\ntwo\nthree\n", "one\nthree\n", "one\r\nthree\r\n"),
    Case("mixed, what is kept stays", "a\r\nb\nc\r\nd\n", "a\nb\nc\n", "a\nB\nc\n", "a\r\nB\nc\r\nd\n"),
    Case("mixed, elsewhere", "a\r\nb\nc\nd\n", "c\nd\n", "e\n", "a\r\nb\ne\n"),
    Case("no line end at the end", "a\nb", "b\n", "c\n", "a\nc"),
    Case("no line end at the end, more lines", "a\nb", "a\nb\n", "a\nb\nc\n", "a\nb\nc"),
    Case("no line end at the end, with CRLF", "a\r\nb", "a\nb\n", "c\nd\n", "c\r\nd"),
    Case("one line end too many is not there", "a\nb\n", "b\n\n", "c\n", refused="none"),
    Case("CRLF twice", "a\r\nb\r\n\r\na\r\nb\r\n", "a\nb\n", "c\n", refused="many", told="found 2 times"),
)

BLANKS = (
    Case("blanks in the text", "a  \nb\n", "a\nb\n", "c\n", "c\n", told="whitespace at the end"),
    Case("blanks in the passage", "a\nb\n", "a  \nb\n", "c\n", "c\n"),
    Case("tabs at the end", "a\t\nb\n", "a\nb", "c", "c\n"),
    Case("in a blank line", "a\n    \nb\n", "a\n\nb\n", "a\n\nc\n", "a\n    \nc\n"),
    Case("blank line with blanks asked", "a\n\nb\n", "a\n    \nb\n", "a\n    \nc\n", "a\n\nc\n"),
    Case("kept lines keep theirs", "a  \nb\nc \n", "a\nb\nc\n", "a\nB\nc\n", "a  \nB\nc \n"),
    Case("the last line's stay", "x\na  \nb   \ny", "a\nb", "a\nc", "x\na  \nc   \ny"),
    Case("trimmed only at the end of a line", "x = 1\n", "x =  ", "x = 2", refused="none"),
    Case("trimmed blanks are not nothing", "x == 1\ny\n", "x = \ny", "z", refused="none"),
    Case("blanks and CRLF", "a \r\nb\r\n", "a\nb\n", "a\nc\n", "a \r\nc\r\n"),
    Case("blanks at the very end", "a\nb", "a\nb  ", "a\nc", "a\nc"),
    Case("twice with other blanks", "a \nb\na  \nb\n", "a\nb\n", "c\n", refused="many"),
    Case("blanks inside a line count", "a  b\n", "a b\n", "c\n", refused="none"),
)

TYPOGRAPHY = (
    Case(
        "curly quotes in the text",
        "say(\u201chi\u201d)\n",
        'say("hi")',
        'say("ho")',
        'say("ho")\n',
        told="typographic",
    ),
    Case("curly quotes in the passage", 'say("hi")\n', "say(\u201chi\u201d)", 'say("ho")', 'say("ho")\n'),
    Case("single quotes", "it\u2019s\n", "it's", "it is", "it is\n"),
    Case("a hard space", "a\u00a0b\n", "a b", "c", "c\n"),
    Case("a hard space in the passage", "a b\n", "a\u00a0b", "c", "c\n"),
    Case("a dash", "1\u20132\n", "1-2", "3", "3\n"),
    Case(
        "kept lines keep their quotes",
        "\u201ca\u201d\nb\n\u201cc\u201d\n",
        '"a"\nb\n"c"\n',
        '"a"\nB\n"c"\n',
        "\u201ca\u201d\nB\n\u201cc\u201d\n",
    ),
    Case("both kinds there", '\u201ca\u201d\n"a"\n', '"a"', "b", "\u201ca\u201d\nb\n"),
    Case("two of the other kind", "\u201ca\u201d \u201da\u201c\n", '"a"', "b", refused="many"),
    Case("accents are not typography", "cafe\n", "café", "x", refused="none"),
    Case("an ellipsis is not three points", "a\u2026\n", "a...", "b", refused="none"),
    Case("a full-width letter is another one", "\uff41\n", "a", "b", refused="none"),
)

INDENTATION = (
    Case(
        "all too shallow",
        PYTHON,
        "if x:\n    return 1\n",
        "if not x:\n    return 1\n",
        "def f(x):\n    if not x:\n        return 1\n    return 2\n",
    ),
    Case(
        "all too deep",
        PYTHON,
        "        if x:\n            return 1\n",
        "        if x:\n            return 3\n",
        "def f(x):\n    if x:\n        return 3\n    return 2\n",
        told="indentation",
    ),
    Case(
        "one line too deep",
        PYTHON,
        "            return 1\n",
        "            return 3\n",
        "def f(x):\n    if x:\n        return 3\n    return 2\n",
    ),
    Case(
        "without a line end",
        PYTHON,
        "            return 1",
        "            return 3",
        "def f(x):\n    if x:\n        return 3\n    return 2\n",
    ),
    Case(
        "new lines are indented too",
        PYTHON,
        "            return 1\n",
        "            y = 1\n            return y\n",
        "def f(x):\n    if x:\n        y = 1\n        return y\n    return 2\n",
    ),
    Case("blank lines stay blank", "  a\n\n  b\n", "a\n\nb\n", "a\n\nc\n", "  a\n\n  c\n"),
    Case("blank lines with blanks", "  a\n  \n  b\n", "a\n\nb\n", "a\n\nc\n", "  a\n  \n  c\n"),
    Case(
        "spaces asked, tabs there",
        TABBED,
        "    if x {\n        return 1\n    }\n",
        "    if y {\n        return 2\n    }\n",
        "func f() {\n\tif y {\n\t\treturn 2\n\t}\n}\n",
    ),
    Case(
        "tabs asked, spaces there", "a:\n  b:\n    c\n", "\tb:\n\t\tc\n", "\tb:\n\t\td\n", "a:\n  b:\n    d\n"
    ),
    Case("tabs asked, spaces there, one line", "    a\n", "\ta\n", "\tb\n\t\tc\n", "    b\n        c\n"),
    Case("indented differently line by line", "  a\n    b\n", "a\nb\n", "c\n", refused="none"),
    Case(
        "a relation that is off",
        PYTHON,
        "    if x:\n    return 1\n",
        "    if x:\n    return 3\n",
        refused="none",
    ),
    Case("new text that does not fit", PYTHON, "            return 1\n", "return 3\n", refused="none"),
    Case("twice at different depths", "  a()\n   a()\n", "      a()\n", "      b()\n", refused="many"),
    Case("half a line is not a line", "    foo(bar)\n", "        foo(", "        baz(", refused="none"),
    Case("with CRLF", "if x:\r\n    a\r\n    b\r\n", "a\nb\n", "c\n", "if x:\r\n    c\r\n"),
    Case(
        "with quotes",
        "    say(\u201ca\u201d)\n    x\n",
        'say("a")\nx\n',
        'say("a")\ny\n',
        "    say(\u201ca\u201d)\n    y\n",
    ),
    Case("with blanks at the end", "    a  \n    b\n", "a\nb\n", "a\nc\n", "    a  \n    c\n"),
    Case("at the end without a line end", "x\n    a\n    b", "a\nb\n", "c\nd\n", "x\n    c\n    d"),
    Case(
        "lines are put between",
        "    a\n    b\n",
        "a\nb\n",
        "a\nif x:\n    y\nb\n",
        "    a\n    if x:\n        y\n    b\n",
    ),
    Case("mixed tabs and spaces", " \ta\n \tb\n", "a\nb\n", "c\n", " \tc\n"),
)

REFUSED = (
    Case("empty", "a", "", "b", refused="empty", told="write_file"),
    Case("empty in an empty file", "", "", "b", refused="empty"),
    Case("the same", "a", "a", "a", refused="same"),
    Case("missing", "a", "b", "c", refused="none", told="not in the file"),
    Case("missing in an empty file", "", "b", "c", refused="none"),
    Case("twice", "a\nb\na\n", "a", "c", refused="many", told="line 3: a"),
    Case("overlapping itself", "aaa", "aa", "b", refused="many"),
    Case("letters of another case", "Foo\n", "foo", "bar", refused="none", told="Foo"),
    Case(
        "nearly the same line",
        "total = price * count\n",
        "total = price * amount\n",
        "x\n",
        refused="none",
        told="line 1:\ntotal = price * count",
    ),
    Case(
        "one line of three is different",
        "a = 1\nb = 2\nc = 3\n",
        "a = 1\nb = 9\nc = 3\n",
        "x\n",
        refused="none",
        told="line 1:\na = 1\nb = 2\nc = 3",
    ),
    Case("only whitespace, many times", "a  b  c", "  ", " ", refused="many"),
    Case("only whitespace, not there", "a\nb\n", "\t", " ", refused="none"),
    Case("a regular expression does not match", "abc\n", "a.c", "x", refused="none"),
    Case("a glob does not match", "abc\n", "a*", "x", refused="none"),
    Case("lines in another order", "a1\nb1\n", "b1\na1\n", "x", refused="none"),
    Case("a line is missing between", "aaaa\nbbbb\ncccc\n", "aaaa\ncccc\n", "x", refused="none"),
    Case("a line too many", "aaaa\ncccc\n", "aaaa\nbbbb\ncccc\n", "x", refused="none"),
    Case("line numbers copied along", "a\nb\n", "1\ta\n2\tb\n", "x", refused="none"),
    Case("composed and decomposed are two", "é\n", "e\u0301", "x", refused="none"),
)

CASES = EXACT + EVERYWHERE + LINE_ENDS + BLANKS + TYPOGRAPHY + INDENTATION + REFUSED
