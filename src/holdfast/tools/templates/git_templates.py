"""Templates at git addresses: fetched behind the wall, over https alone, with nothing of anybody's settings.
What was fetched is only files: without `.git`, and known by the hash of all of it."""

import asyncio
import hashlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from holdfast.core.clock import Clock
from holdfast.core.errors import HoldfastError, InvalidInput, TryAgain
from holdfast.core.ids import ChatId, Ids
from holdfast.core.text import one_line
from holdfast.tools.addresses import AddressRefused, check_address_of, public_addresses
from holdfast.tools.templates.set_up_commands import SetUpCommands
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.commands.mounts import CommandPlace

FETCH_SECONDS = 180.0
# How long what was fetched counts as what is there.
FRESH_SECONDS = 600.0
# How long one that could not be fetched is not tried again.
FAILED_SECONDS = 30.0
MOST_FILES = 20_000
MOST_BYTES = 512 * 1024 * 1024
# How many are kept: an agent may ask for any address there is.
MOST_KEPT = 16
FOLDER = "templates"
_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]{0,200}")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LONGEST = 2000
# Nothing that a repository or a machine has written down is a setting, and nothing but files is fetched.
_ENVIRONMENT = (
    "GIT_CONFIG_NOSYSTEM=1",
    "GIT_CONFIG_GLOBAL=/dev/null",
    "GIT_TERMINAL_PROMPT=0",
    "GIT_ASKPASS=/bin/false",
    "GIT_LFS_SKIP_SMUDGE=1",
    "GIT_ATTR_NOSYSTEM=1",
)
# Arguments: the address, what to fetch of it.
_FETCH = """
set -e
safe() {
  git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.protectHFS=true -c core.protectNTFS=true \\
    -c credential.helper= -c http.followRedirects=false -c transfer.fsckObjects=true -c gc.auto=0 \\
    -c maintenance.auto=false -c submodule.recurse=false -c core.attributesFile=/dev/null "$@"
}
safe init --quiet --template= .
safe fetch --quiet --depth 1 --no-tags --no-recurse-submodules -- "$1" "$2" ||
  safe fetch --quiet --no-tags --no-recurse-submodules -- "$1" "$2"
safe checkout --quiet --detach FETCH_HEAD
"""


@dataclass(frozen=True, kw_only=True)
class GitAddress:
    """`ref`: a branch, a tag or a commit; empty: what the address has by default."""

    url: str
    ref: str = ""

    @property
    def pinned(self) -> bool:
        """Whether it always means the same content."""
        return _COMMIT.fullmatch(self.ref) is not None

    @property
    def text(self) -> str:
        return f"{self.url}#{self.ref}" if self.ref else self.url


@dataclass(frozen=True)
class FetchedTree:
    path: Path
    hash: str
    at: float


def is_git_address(word: str) -> bool:
    return "://" in word or word.startswith("git@")


def git_address(word: str, *, schemes: tuple[str, ...] = ("https",), public: bool = True) -> GitAddress:
    """InvalidInput says why it is not fetched from. `public`: only hosts of the internet."""
    url, _, ref = word.partition("#")
    try:
        parts = urlsplit(url)
        user = parts.username or parts.password
    except ValueError:
        raise InvalidInput("This is no address of a git repository.", field="template") from None
    if len(word) > _LONGEST or not url.isprintable() or any(one.isspace() for one in url):
        raise InvalidInput("This is no address of a git repository.", field="template")
    if parts.scheme not in schemes or not parts.hostname:
        raise InvalidInput(
            f"Templates are fetched over {' or '.join(schemes)} alone, as https://example.com/name.git.",
            field="template",
        )
    if user:
        raise InvalidInput("The address of a template has no user name or password in it.", field="template")
    if ref and (not _REF.fullmatch(ref) or ".." in ref):
        raise InvalidInput("After # comes the name of a branch or tag, or a commit.", field="template")
    if public:
        try:
            check_address_of(url)
        except AddressRefused as error:
            raise InvalidInput(f"This address is not fetched from: {error}.", field="template") from None
    return GitAddress(url=url, ref=ref)


async def public_git_address(word: str) -> GitAddress:
    """One that nobody configured: its host has public addresses alone."""
    address = git_address(word)
    parts = urlsplit(address.url)
    try:
        await public_addresses(parts.hostname or "", parts.port or 443)
    except (AddressRefused, OSError, UnicodeError, TimeoutError) as error:
        said = str(error) if isinstance(error, AddressRefused) else "its host is not known"
        raise InvalidInput(f"This address is not fetched from: {said}.", field="template") from None
    return address


class GitTemplates:
    """Keeps what was fetched for a while, in the data directory, where no agent can write."""

    def __init__(self, data: Path, commands: SetUpCommands, clock: Clock, ids: Ids) -> None:
        self._base = data.resolve() / FOLDER
        self._commands = commands
        self._clock = clock
        self._ids = ids
        self._kept: dict[str, FetchedTree] = {}
        self._busy: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._failed: dict[str, tuple[float, str]] = {}

    def remove_left_over(self) -> None:
        """Once, before the first is fetched."""
        shutil.rmtree(self._base, ignore_errors=True)

    @asynccontextmanager
    async def fetched(self, address: GitAddress, *, fresh: bool = False) -> AsyncGenerator[FetchedTree]:
        """Its files, which stay as they are inside. `fresh`: fetched now."""
        async with self._busy.setdefault(address.text, asyncio.Lock()):
            kept = self._kept.get(address.text)
            if kept is None or fresh or self._clock.elapsed() - kept.at > FRESH_SECONDS:
                self._check_failed(address, fresh=fresh)
                try:
                    kept = await self._fetch(address)
                except HoldfastError as error:
                    self._failed[address.text] = (self._clock.elapsed(), error.text)
                    raise
                if (old := self._kept.get(address.text)) is not None:
                    await blocking(lambda: shutil.rmtree(old.path, ignore_errors=True))
                self._kept[address.text] = kept
                await self._keep_few(address.text)
            yield kept

    def forget(self) -> None:
        """Everything is fetched again when it is next needed."""
        for address, kept in self._kept.items():
            self._kept[address] = replace(kept, at=-FRESH_SECONDS)

    async def _keep_few(self, newest: str) -> None:
        """Removes what was fetched longest ago, unless somebody uses it."""
        for address in sorted(self._kept, key=lambda one: self._kept[one].at):
            if len(self._kept) <= MOST_KEPT:
                break
            busy = self._busy.get(address)
            if address == newest or (busy is not None and busy.locked()):
                continue
            old = self._kept.pop(address)
            await blocking(lambda path=old.path: shutil.rmtree(path, ignore_errors=True))
        now = self._clock.elapsed()
        self._failed = {one: seen for one, seen in self._failed.items() if now - seen[0] < FAILED_SECONDS}

    def _check_failed(self, address: GitAddress, *, fresh: bool) -> None:
        at, said = self._failed.pop(address.text, (-FAILED_SECONDS, ""))
        if not fresh and self._clock.elapsed() - at < FAILED_SECONDS:
            self._failed[address.text] = (at, said)
            raise TryAgain(said)

    async def _fetch(self, address: GitAddress) -> FetchedTree:
        path = self._base / secrets.token_hex(8)
        await blocking(lambda: path.mkdir(mode=0o700, parents=True))
        try:
            scheme = urlsplit(address.url).scheme
            ran = await self._commands.run(
                ChatId(self._ids.uuid7(self._clock.now())),
                CommandPlace(root=path),
                (
                    *_ENVIRONMENT,
                    f"GIT_ALLOW_PROTOCOL={scheme}",
                    *("sh", "-c", _FETCH, "sh", address.url, address.ref or "HEAD"),
                ),
                seconds=FETCH_SECONDS,
                remove=True,
            )
            if not ran.succeeded:
                raise TryAgain(
                    f"The template cannot be fetched from {one_line(address.text, 200)}: "
                    f"{one_line(ran.last_line, 300)}. The network of commands is that of [sandbox]."
                )
            content_hash = await blocking(lambda: _only_files(path))
        except BaseException:
            await blocking(lambda: shutil.rmtree(path, ignore_errors=True))
            raise
        return FetchedTree(path=path, hash=content_hash, at=self._clock.elapsed())


def _only_files(path: Path) -> str:
    """Removes what is git's own, and gives the hash of the rest."""
    shutil.rmtree(path / ".git", ignore_errors=True)
    if os.path.lexists(path / ".git"):
        raise TryAgain("The template could not be read. Try again.")
    return content_hash(path)


def content_hash(path: Path) -> str:
    """Of names, contents, links and whether files can be executed. InvalidInput: it is too large, or there is
    something else than files in it."""
    digest = hashlib.sha256()
    files = size = 0
    for name, info, directory in _entries(path):
        files, size = files + 1, size + info.st_size
        if files > MOST_FILES or size > MOST_BYTES:
            raise InvalidInput(
                f"A template has at most {MOST_FILES} files and {MOST_BYTES // 2**20} MiB.", field="template"
            )
        digest.update(_piece(name.encode("utf-8", "surrogateescape")))
        last = os.path.basename(name)
        if stat.S_ISLNK(info.st_mode):
            target = os.readlink(last, dir_fd=directory)
            digest.update(b"l" + _piece(target.encode("utf-8", "surrogateescape")))
        elif stat.S_ISREG(info.st_mode):
            digest.update(b"x" if info.st_mode & 0o100 else b"f")
            digest.update(_digest_of(last, directory))
        elif not stat.S_ISDIR(info.st_mode):
            raise InvalidInput("A template consists of files, directories and links.", field="template")
    return digest.hexdigest()


def _entries(path: Path) -> Iterator[tuple[str, os.stat_result, int]]:
    """By name, without following any link; the descriptor is that of the directory."""

    def stop(error: OSError) -> None:
        raise InvalidInput(f"The template cannot be read ({error.strerror}).", field="template") from error

    for top, directories, files, descriptor in os.fwalk(path, onerror=stop, follow_symlinks=False):
        directories.sort()
        for name in sorted((*directories, *files)):
            info = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            yield os.path.relpath(os.path.join(top, name), path), info, descriptor


def _digest_of(name: str, directory: int) -> bytes:
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    with open(descriptor, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _piece(data: bytes) -> bytes:
    return len(data).to_bytes(8, "big") + data
