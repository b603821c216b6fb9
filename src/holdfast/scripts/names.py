"""Names in a script that only look like ours: a letter of another alphabet is reported before somebody
searches for it."""

import unicodedata

from holdfast.scripts.meta import bad

WORDS = frozenset(("agent", "parallel", "pipeline", "phase", "log", "budget", "args", "workflow", "meta"))
# Letters of other alphabets that are drawn like ours.
_TWINS = str.maketrans("аеорсухіјѕһԁԛԝαονικτρυɡ", "aeopcyxijshdqwaovikrpug")


def check_name(name: str, line: int) -> None:
    if name.isascii():
        return
    plain = unicodedata.normalize("NFKC", name).translate(_TWINS)
    if plain != name and plain in WORDS:
        odd = next(character for character in name if not character.isascii())
        drawn = f"U+{ord(odd):04X} {unicodedata.name(odd, 'a character')}"
        raise bad(line, f"“{name}” is not {plain}: it is written with {drawn}. Write {plain}.")
