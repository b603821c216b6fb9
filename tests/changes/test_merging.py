"""Made cases of base, ours and theirs: the right merge, or none. Never a wrong one."""

import pytest

from holdfast.changes.merging import hunks_of, merge_texts, only_hunks


def lines(text: str) -> str:
    """One letter a line."""
    return "".join(f"{letter}\n" for letter in text)


# base, ours, theirs, merged (None: a conflict)
CASES: tuple[tuple[str, str, str, str | None], ...] = (
    # --- nobody, one side, the same on both ---
    ("abc", "abc", "abc", "abc"),
    ("abc", "aXc", "abc", "aXc"),
    ("abc", "abc", "aXc", "aXc"),
    ("abc", "aXc", "aXc", "aXc"),
    ("", "", "", ""),
    ("", "a", "", "a"),
    ("", "", "a", "a"),
    ("", "a", "a", "a"),
    ("abc", "", "", ""),
    ("abc", "", "abc", ""),
    ("abc", "abc", "", ""),
    # --- apart from each other ---
    ("abcdef", "Xbcdef", "abcdeY", "XbcdeY"),
    ("abcdef", "abcdeY", "Xbcdef", "XbcdeY"),
    ("abcdef", "aXcdef", "abcdYf", "aXcdYf"),
    ("abcdef", "acdef", "abcdYf", "acdYf"),
    ("abcdef", "abcdYf", "acdef", "acdYf"),
    ("abcdef", "abXcdef", "abcdeYf", "abXcdeYf"),
    ("abcdef", "Xabcdef", "abcdefY", "XabcdefY"),
    ("abcdef", "abcdefY", "Xabcdef", "XabcdefY"),
    ("abcdef", "bcdef", "abcde", "bcde"),
    ("abcdefgh", "aXcdeYgh", "abcdefgZ", "aXcdeYgZ"),
    ("abcdefgh", "aXcdefgh", "abcYefZh", "aXcYefZh"),
    ("abcdefgh", "aXXXcdefgh", "abcdefYYh", "aXXXcdefYYh"),
    ("abcdefgh", "adefgh", "abcdefYh", "adefYh"),
    ("abcdefgh", "abcdefYh", "adefgh", "adefYh"),
    ("aaaa", "Xaaaa", "aaaaY", "XaaaaY"),
    # --- the same lines: both cannot be right ---
    ("abc", "aXc", "aYc", None),
    ("abc", "X", "Y", None),
    ("abc", "aXc", "ac", None),
    ("abc", "ac", "aXc", None),
    ("abcd", "aXd", "abYd", None),
    ("abcd", "abYd", "aXd", None),
    ("a", "X", "Y", None),
    ("", "a", "b", None),
    ("abc", "abcX", "abcY", None),
    ("abc", "Xabc", "Yabc", None),
    ("abc", "aXbc", "aYbc", None),
    ("abcdef", "abXXef", "abcYYf", None),
    ("abcdef", "abf", "abcYef", None),
    ("abcdef", "Xbcdef", "", None),
    ("abcdef", "", "Xbcdef", None),
    # --- side by side: the order would be a guess ---
    ("ab", "Xb", "aY", None),
    ("abcd", "aXcd", "abYd", None),
    ("abcd", "aXbcd", "aYcd", None),
    # --- one did more than the other, the same where they meet ---
    ("abcdef", "aXcdef", "aXcdeY", "aXcdeY"),
    ("abcdef", "aXcdeY", "aXcdef", "aXcdeY"),
    ("abcdefgh", "aXcdefgh", "aXcdYfgh", "aXcdYfgh"),
    ("abcdefgh", "acdefgh", "acdefgY", "acdefgY"),
)


@pytest.mark.parametrize("base, ours, theirs, merged", CASES)
def test_cases(base: str, ours: str, theirs: str, merged: str | None) -> None:
    found = merge_texts(lines(base), lines(ours), lines(theirs))
    assert found == (None if merged is None else lines(merged))


# Moved code: their change is found by its content.
MOVED = "def one():\n    return 1\n\n\ndef two():\n    x = 2\n    return x\n\n\ndef three():\n    return 3\n"
RAW: tuple[tuple[str, str, str, str | None], ...] = (
    # Without an end of line at the end.
    ("a\nb", "a\nb\nc", "X\nb", None),
    ("a\nb\nc\nd", "a\nb\nc\nD", "A\nb\nc\nd", "A\nb\nc\nD"),
    ("a\nb\nc\nd\n", "a\nb\nc\nd", "A\nb\nc\nd\n", "A\nb\nc\nd"),
    # CRLF stays CRLF.
    ("a\r\nb\r\nc\r\nd\r\n", "A\r\nb\r\nc\r\nd\r\n", "a\r\nb\r\nc\r\nD\r\n", "A\r\nb\r\nc\r\nD\r\n"),
    ("a\r\nb\r\nc\r\nd\r\n", "a\nb\nc\nd\n", "a\r\nb\r\nc\r\nD\r\n", None),
    # Characters that only look like line ends.
    ("a\x0bb\nc\nd\n", "a\x0bX\nc\nd\n", "a\x0bb\nc\nD\n", "a\x0bX\nc\nD\n"),
    ("a\u2028b\nc\nd\n", "a\u2028X\nc\nd\n", "a\u2028b\nc\nD\n", "a\u2028X\nc\nD\n"),
    # Unicode.
    ("ä\nb\nc\nd\n", "ö\nb\nc\nd\n", "ä\nb\nc\nß\n", "ö\nb\nc\nß\n"),
    # An empty file, and one that is filled.
    ("", "new\n", "other\n", None),
    ("x\n", "x\n\n\ny\n", "z\n", "z\n\n\ny\n"),
    # A block that we moved and they changed inside.
    (
        MOVED,
        "def three():\n    return 3\n\n\n" + MOVED.replace("def three():\n    return 3\n", ""),
        MOVED.replace("    x = 2\n", "    x = 22\n"),
        None,
    ),
    # Lines that are twice there: nobody knows which is meant.
    ("a\nb\n" * 3, "z\n" + "a\nb\n" * 4, "a\nb\na\nX\na\nb\n", None),
)


@pytest.mark.parametrize("base, ours, theirs, merged", RAW)
def test_texts(base: str, ours: str, theirs: str, merged: str | None) -> None:
    found = merge_texts(base, ours, theirs)
    if merged is None:
        # A merge by content may find a place for certain; then both changes are in it.
        assert found is None or all(_new(base, side) <= set(found.split("\n")) for side in (ours, theirs))
    else:
        assert found == merged


def _new(base: str, text: str) -> set[str]:
    return set(text.split("\n")) - set(base.split("\n"))


def test_there_are_sixty_cases() -> None:
    assert len(CASES) + len(RAW) >= 58


def test_hunks_can_be_chosen() -> None:
    before = "".join(f"{n}\n" for n in range(40))
    after = before.replace("3\n", "three\n", 1).replace("\n30\n", "\nthirty\n")
    assert len(hunks_of(before, after)) == 2
    assert only_hunks(before, after, frozenset()) == before
    assert only_hunks(before, after, frozenset({0, 1})) == after
    assert only_hunks(before, after, frozenset({0})) == before.replace("3\n", "three\n", 1)
    assert only_hunks(before, after, frozenset({1})) == before.replace("\n30\n", "\nthirty\n")
