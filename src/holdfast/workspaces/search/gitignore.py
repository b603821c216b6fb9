"""What .gitignore leaves out, for searches: the rules of one file, and those of all directories on the way.
The last matching rule wins, and the nearest file comes before those above it; what is in an ignored directory
cannot be brought back, because nobody looks into it."""

from typing import NamedTuple

from holdfast.workspaces.search.globs import Matches, matcher, translate
from holdfast.workspaces.search.re2_engine import BadExpression

MAX_BYTES = 256 * 1024
_MAX_RULES = 5000


class _Rule(NamedTuple):
    order: int
    ignores: bool
    directories_only: bool


class IgnoreRules:
    """One .gitignore. Names and endings are looked up, only the rest is matched: most rules are names."""

    def __init__(self, text: str) -> None:
        self._names: dict[str, list[_Rule]] = {}
        self._endings: dict[str, list[_Rule]] = {}
        # The last one first; with whether it applies to a path or only to a name.
        self._matched: list[tuple[_Rule, Matches, bool]] = []
        for order, line in enumerate(text.split("\n")[:_MAX_RULES]):
            self._add(order, line)
        self._matched.reverse()

    def judge(self, path: str, name: str, *, directory: bool) -> bool | None:
        """Whether it is ignored; None: no rule applies. `path` is relative to where the file is."""
        best: _Rule | None = None
        for rule in (*self._names.get(name, ()), *self._endings.get(name[name.rfind(".") :], ())):
            if (directory or not rule.directories_only) and (best is None or rule.order > best.order):
                best = rule
        for rule, matches, whole in self._matched:
            if best is not None and rule.order < best.order:
                break
            if (directory or not rule.directories_only) and matches(path if whole else name):
                best = rule
                break
        return None if best is None else best.ignores

    def _add(self, order: int, line: str) -> None:
        pattern = _without_blanks(line.removesuffix("\r"))
        ignores = not pattern.startswith("!")
        pattern = pattern.removeprefix("!")
        rule = _Rule(order, ignores, pattern.endswith("/"))
        pattern = pattern.rstrip("/") if rule.directories_only else pattern
        if not pattern or line.startswith("#"):
            return
        whole = "/" in pattern
        plain = pattern.removeprefix("*.") if pattern.startswith("*.") else pattern
        if whole or any(character in plain for character in "*?[\\"):
            self._add_matched(rule, pattern, whole=whole)
        elif plain is pattern:
            self._names.setdefault(pattern, []).append(rule)
        elif "." not in plain:
            self._endings.setdefault(f".{plain}", []).append(rule)
        else:
            self._add_matched(rule, pattern, whole=False)

    def _add_matched(self, rule: _Rule, pattern: str, *, whole: bool) -> None:
        try:
            expression = translate(pattern.removeprefix("/"), braces=False)
            self._matched.append((rule, matcher(expression), whole))
        except BadExpression:
            pass  # git ignores it as well


class Ignoring(NamedTuple):
    """The rules that apply in one directory: its own, then those above."""

    # With the length of the path of its directory, including the slash.
    levels: tuple[tuple[int, IgnoreRules], ...] = ()

    def below(self, directory: str, text: str | None) -> "Ignoring":
        if text is None:
            return self
        return Ignoring(((len(directory) + 1 if directory else 0, IgnoreRules(text)), *self.levels))

    def ignores(self, path: str, name: str, *, directory: bool) -> bool:
        if name == ".git":  # a directory, or the file that stands for one in a worktree
            return True
        for length, rules in self.levels:
            if (verdict := rules.judge(path[length:], name, directory=directory)) is not None:
                return verdict
        return False


def _without_blanks(line: str) -> str:
    """Trailing blanks do not count unless they are escaped."""
    kept = line.rstrip(" ")
    return f"{kept} " if kept.endswith("\\") and kept != line else kept
