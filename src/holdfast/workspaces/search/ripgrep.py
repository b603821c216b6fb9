"""ripgrep as an accelerator: it says which files to look at, and nothing else of its output is used. We open
the names below the root and match the lines ourselves, so that answers are the same without it and no race
leads it out."""

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator

from holdfast.workspaces.files.file_root import Tree
from holdfast.workspaces.files.hidden import identity_of
from holdfast.workspaces.files.paths import Parts
from holdfast.workspaces.search.gitignore import Ignoring
from holdfast.workspaces.search.globs import Matches
from holdfast.workspaces.search.patterns import for_ripgrep
from holdfast.workspaces.search.walk import WalkedFile, rules_of

# Only the rules that we follow too: those of .gitignore below where the search starts.
_OPTIONS = (
    "--no-config",
    "--null",
    "--text",
    "--crlf",
    "--hidden",
    "--no-messages",
    "--no-require-git",
    "--no-ignore-parent",
    "--no-ignore-global",
    "--no-ignore-exclude",
    "--no-ignore-dot",
    "--glob=!.git",
)


# Older ones always follow .rgignore, and so miss files.
_OLDEST = 14
_VERSION_SECONDS = 5.0
_PLAIN = re.compile(r"[\w.*?-]+")


def find_ripgrep() -> str | None:
    """The ripgrep of this machine, if it is reliable. Blocks for some milliseconds."""
    if (program := shutil.which("rg")) is None:
        return None
    try:
        told = subprocess.run(
            [program, "--version"], capture_output=True, timeout=_VERSION_SECONDS, text=True, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.match(r"ripgrep (\d+)\.", told)
    return program if version is not None and int(version[1]) >= _OLDEST else None


def arguments(program: str, pattern: str | None, glob: str | None) -> list[str] | None:
    """The command to run in the directory; None: this is not for ripgrep. Without a pattern all files are
    listed."""
    command = [program, *_OPTIONS]
    # Its own --glob would bring back ignored files. A type does not, and the last part of a path is enough.
    name = glob.rsplit("/", 1)[-1] if glob else ""
    if _PLAIN.fullmatch(name) and name.strip("*") and "{" not in (glob or ""):
        command += [f"--type-add=wanted:{name}", "--type=wanted"]
    if pattern is None:
        return [*command, "--files", "--", "./"]
    if (translated := for_ripgrep(pattern)) is None:
        return None
    return [*command, "--files-with-matches", f"--regexp={translated}", "--", "./"]


def names(code: int, output: bytes) -> list[str] | None:
    """None: it did not understand the request. A file that it could not read also counts as an error."""
    if code not in (0, 1) and not output:
        return None
    return [os.fsdecode(name).removeprefix("./") for name in output.split(b"\0") if name]


def present(
    tree: Tree, parts: Parts, paths: list[str], wanted: Matches | None = None
) -> Iterator[WalkedFile]:
    """Those that are wanted and exist, in the order of a walk, without those ignored by rules from above. A
    caller that takes only the first few saves looking at the rest."""
    rules = _Below(tree, parts)
    directory, opened = "", tree.open_directory(parts)
    try:
        # As if the names of a path were compared one by one: no name has a character that sorts before the
        # slash's replacement.
        for path in sorted(paths, key=lambda path: path.replace("/", "\0")):
            if wanted is not None and not wanted(path):
                continue
            where, _, name = path.rpartition("/")
            try:
                if where != directory:
                    inner = tree.open_directory((*parts, *where.split("/")) if where else parts)
                    os.close(opened)
                    directory, opened = where, inner
                info = os.stat(name, dir_fd=opened, follow_symlinks=False)
            except OSError:
                continue
            if identity_of(info) in tree.hidden:
                continue
            if stat.S_ISREG(info.st_mode) and not rules.ignore(path):
                yield WalkedFile(path, name, opened)
    finally:
        os.close(opened)


class _Below:
    """The rules for what ripgrep listed. It does not know those from above the start, and in a nested
    repository it forgets the outer rules."""

    def __init__(self, tree: Tree, parts: Parts) -> None:
        self._tree = tree
        self._parts = parts
        self._above = rules_above(tree, parts)
        self._prefix = "".join(f"{part}/" for part in parts)
        # By directory: its rules, or None for one that is ignored itself.
        self._known: dict[str, Ignoring | None] = {}

    def ignore(self, path: str) -> bool:
        where, _, name = path.rpartition("/")
        rules = self._rules(where)
        return rules is None or rules.ignores(self._prefix + path, name, directory=False)

    def _rules(self, where: str) -> Ignoring | None:
        if where not in self._known:
            self._known[where] = self._read(where)
        return self._known[where]

    def _read(self, where: str) -> Ignoring | None:
        outer = self._above
        if where:
            around, _, name = where.rpartition("/")
            found = self._rules(around)
            if found is None or found.ignores(self._prefix + where, name, directory=True):
                return None
            outer = found
        parts = (*self._parts, *where.split("/")) if where else self._parts
        with self._tree.directory(parts) as directory:
            return outer.below("/".join(parts), rules_of(directory))


def rules_above(tree: Tree, parts: Parts) -> Ignoring:
    ignoring = Ignoring()
    for depth in range(len(parts)):
        with tree.directory(parts[:depth]) as directory:
            ignoring = ignoring.below("/".join(parts[:depth]), rules_of(directory))
    return ignoring
