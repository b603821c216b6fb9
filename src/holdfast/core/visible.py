"""Text made safe to read for a person who decides something by it: characters that reorder, hide or imitate
other text are shown as their code, ⟨U+202E⟩. Letters of other scripts stay as they are, unless they could be
mistaken for Latin ones. The page has the same rules (`web/src/text/visible.ts`), and both are tested with the
same cases."""

import re
import unicodedata

# Characters without a glyph, or that change the text around them: soft hyphen, fillers, joiners, direction
# marks and overrides, line and paragraph separators, variation selectors, tags.
_INVISIBLE = (
    "\u0080-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_SPACES = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
# They look like / \ . and : when next to letters.
_SIGNS = "\u2024\u2044\u2215\u29f5\u29f8\ua789\ufe52\ufe68\uff0e\uff0f\uff1a\uff3c"
# Letters that look like Latin ones, by script, with the range of the script's other letters.
_SCRIPTS: tuple[tuple[str, str, str], ...] = (
    ("\u0400", "\u052f", "аеорсухіјѕһԁԛԝьӏАВЕКМНОРСТУХІЈЅԌӀ"),
    ("\u0370", "\u03ff", "ονρικυχαϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"),
    ("\u0530", "\u058f", "օսհոցյզգքՏՍՕԼ"),
    ("\u13a0", "\u13ff", "ᎠᎡᎢᎥᎪᎫᎬᎳᎷᎻᏀᏃᏎᏏᏒᏔᏕᏙᏚᏞᏟᏢᏦᏴᏳᏂ"),
)
# The same within the Latin script itself.
_ODD_LATIN = "ɑɡ"
_ALIKE = frozenset("".join(alike for _, _, alike in _SCRIPTS) + _ODD_LATIN)

_HIDING = re.compile(f"[{_INVISIBLE}]")
_HIDING_STRICTLY = re.compile(f"[{_INVISIBLE}{_SPACES}]")
_SIGN = re.compile(f"[{_SIGNS}]")
_WORD = re.compile(r"\w+")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
_PLAIN = re.compile("[A-Za-z0-9]")
# Longer runs are described instead of shown: they would push what follows out of sight.
_BLANKS = re.compile(r"[^\S\n]{60,}")
_EMPTY_LINES = re.compile(r"(?:(?<=\n)|\A)(?:[^\S\n]*\n){4,}")


def visible(text: str, *, strictly: bool = False) -> str:
    """Line feeds, tabs and other ASCII controls are left to the caller. `strictly` is for text that will be
    executed: unusual spaces are marked too."""
    if text.isascii():
        return text
    hiding = _HIDING_STRICTLY if strictly else _HIDING
    text = hiding.sub(_hidden, text)
    text = _SIGN.sub(_sign, text)
    return "\n".join(_line(line) for line in text.split("\n"))


def folded(text: str) -> str:
    """Replaces blank space that would push the rest out of sight by a note of how much there was."""
    text = _EMPTY_LINES.sub(lambda found: f"⟨{found[0].count(chr(10))} empty lines⟩\n", text)
    return _BLANKS.sub(lambda found: f"⟨{len(found[0])} spaces⟩", text)


def _mark(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩"


def _hidden(found: re.Match[str]) -> str:
    char, text, at = found[0], found.string, found.start()
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    match char:
        case "\u200c" | "\u200d" if before > "\u0590" and after > "\u0590":
            # Joins emoji, or letters of scripts that need it.
            return char
        case "\ufe0e" | "\ufe0f" if before > "\u00a8" or (before and before in "0123456789#*"):
            # Selects how one character is drawn. A second one in a row has no effect, but may carry hidden
            # data.
            return char if not "\ufe00" <= before <= "\ufe0f" else _mark(char)
        case _:
            return _mark(char)


def _sign(found: re.Match[str]) -> str:
    text, at = found.string, found.start()
    beside = text[max(at - 1, 0) : at] + text[at + 1 : at + 2]
    return _mark(found[0]) if _PLAIN.search(beside) else found[0]


def _line(line: str) -> str:
    if line.isascii():
        return line
    ambiguous = tuple(alike for first, last, alike in _SCRIPTS if not _has_others(line, first, last, alike))
    latin = _LATIN.search(line) is not None
    return _WORD.sub(lambda found: _word(found[0], latin, ambiguous), line)


def _has_others(line: str, first: str, last: str, alike: str) -> bool:
    """Whether the line has unmistakable letters of the script: then it is written in that script."""
    return any(first <= char <= last and char not in alike for char in line)


def _word(word: str, latin: bool, ambiguous: tuple[str, ...]) -> str:
    if word.isascii():
        return word
    word = "".join(_mark(char) if _is_styled(char) else char for char in word)
    if _LATIN.search(word):
        return "".join(_mark(char) if char in _ALIKE else char for char in word)
    letters = [char for char in word if char.isalpha()]
    imitates = any(letters and all(char in alike for char in letters) for alike in ambiguous)
    # A single Greek letter is usually the name of a quantity.
    if latin and imitates and not (len(letters) == 1 and "\u0370" <= letters[0] <= "\u03ff"):
        return "".join(_mark(char) if char in _ALIKE else char for char in word)
    return word


def _is_styled(char: str) -> bool:
    """A plain letter or digit in another style: bold, full width. Superscripts and subscripts are common and
    not included."""
    if char.isascii():
        return False
    decomposed = unicodedata.decomposition(char)
    if not decomposed.startswith("<") or decomposed.startswith(("<super>", "<sub>", "<fraction>")):
        return False
    plain = unicodedata.normalize("NFKC", char)
    return len(plain) == 1 and _PLAIN.fullmatch(plain) is not None
