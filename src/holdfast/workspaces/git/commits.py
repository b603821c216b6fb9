"""Commits, branches and patches that a person asks for. Git runs behind the wall with settings of ours
(`borrowed_repository`): no hook, no filter program, no signing. Nothing is pushed."""

import os
import re
import secrets
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path

from holdfast.core.errors import InvalidInput, WrongState
from holdfast.core.shapes import Record
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.commands.walled_programs import Walled
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.git.borrowed_repository import (
    EMPTY_TREE,
    TAKE_IN,
    Borrowed,
    borrowed,
    copy_in,
)
from holdfast.workspaces.git.repositories import Repository

GIT_SECONDS = 60.0
_SAID_BYTES = 64 * 1024
PATCH_BYTES = 8 * 1024 * 1024
BRANCH_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")
# Arguments: where objects are kept, the commit before (or nothing), the branch, who, their address, the
# message, then the paths.
_COMMIT = f"""{TAKE_IN}
export GIT_OBJECT_DIRECTORY="$1" GIT_AUTHOR_NAME="$4" GIT_AUTHOR_EMAIL="$5"
base=$2 ref=$3 message=$6; shift 6
git ls-files -z --error-unmatch --cached --others --exclude-standard -- "$@" > /dev/null || exit
take_in "$@" || exit
tree=$(git write-tree) || exit
if [ -n "$base" ]; then
    [ "$tree" != "$(git rev-parse "$base^{{tree}}")" ] || exit 77
    commit=$(git commit-tree "$tree" -p "$base" -m "$message") || exit
    git update-ref "$ref" "$commit" "$base" || exit
else
    commit=$(git commit-tree "$tree" -m "$message") || exit
    git update-ref "$ref" "$commit" "" || exit
fi
git update-index -q --refresh
echo "$commit"
"""
# With files that git does not know yet. Arguments: the base, where these are named.
_PATCH = """
git ls-files -z --others --exclude-standard | grep -zv '/$' > "$2"
[ ! -s "$2" ] || git add -N --no-all --pathspec-from-file="$2" --pathspec-file-nul || exit
exec git diff --binary --full-index --no-color --no-ext-diff --no-textconv --ignore-submodules=dirty "$1" --
"""


class Committed(Record, frozen=True, kw_only=True):
    commit: str
    branch: str | None


class GitPerson(Record, frozen=True, kw_only=True):
    name: str
    email: str


async def commit_files(
    walled: Walled,
    root: Root,
    repository: Repository,
    message: str,
    paths: tuple[str, ...],
    who: GitPerson,
) -> Committed:
    """What is in the workspace now, or these paths of it, on the branch that is checked out. The index of the
    repository is renewed with it."""
    if repository.branch is None:
        raise WrongState("No branch is checked out in this workspace. Make one first.")
    ref = f"refs/heads/{repository.branch}"
    async with borrowed(walled, repository, root, refs=True) as own:
        asked = (
            str(repository.common.path / "objects"),
            repository.head or "",
            ref,
            who.name,
            who.email,
            message,
            *(paths or (".",)),
        )
        if not own.has_index and repository.head is not None:
            await own.git("git", "read-tree", repository.head, limit=_SAID_BYTES)
        said = await _run(own, _COMMIT, asked, repository)
        await blocking(lambda: _replace(repository.directory, own.directory / "index", "index"))
    return Committed(commit=said, branch=repository.branch)


async def make_branch(walled: Walled, root: Root, repository: Repository, name: str) -> Committed:
    """A branch at the commit that is checked out; it is checked out from then on. Files stay as they are."""
    if BRANCH_NAME.fullmatch(name) is None or ".." in name or name.endswith((".lock", "/", ".")):
        raise InvalidInput("This is not a valid name for a branch.", field="name")
    if repository.head is None:
        raise WrongState("The repository has no commit yet. Commit first.")
    async with borrowed(walled, repository, root, refs=True) as own:
        nothing = "0" * len(repository.head)
        ref = f"refs/heads/{name}"
        await own.git(
            "git", "update-ref", ref, repository.head, nothing,
            writable=(repository.common,), limit=_SAID_BYTES,
        )  # fmt: skip
        head = own.directory / "new-head"
        await blocking(lambda: head.write_text(f"ref: {ref}\n"))
        await blocking(lambda: _replace(repository.directory, head, "HEAD"))
    return Committed(commit=repository.head, branch=name)


async def patch_of(
    walled: Walled, root: Root, repository: Repository, who: GitPerson, subject: str, now: datetime
) -> str:
    """What is not committed, as a message that `git am` takes. Empty: everything is."""
    walled.require("To make a patch")
    async with borrowed(walled, repository, root) as own:
        if not own.has_index and repository.head is not None:
            await own.git("git", "read-tree", repository.head, limit=_SAID_BYTES)
        base = repository.head or EMPTY_TREE
        asked = ("/bin/sh", "-c", _PATCH, "git", base, str(own.directory / "names"))
        ran = await own.git(*asked, limit=PATCH_BYTES, seconds=GIT_SECONDS)
    if ran.cut:
        raise InvalidInput(f"The changes have more than {PATCH_BYTES // 2**20} MiB. Commit them instead.")
    diff = ran.output.decode("utf-8", "surrogateescape")
    if not diff:
        return ""
    return (
        f"From {base} Mon Sep 17 00:00:00 2001\nFrom: {who.name} <{who.email}>\n"
        f"Date: {format_datetime(now)}\nSubject: [PATCH] {subject}\n\n---\n\n{diff}\n-- \nholdfast\n\n"
    )


async def _run(own: Borrowed, script: str, asked: tuple[str, ...], repository: Repository) -> str:
    try:
        ran = await own.git(
            "/bin/sh", "-c", script, "git", *asked,
            writable=(repository.common,), limit=_SAID_BYTES, seconds=GIT_SECONDS,
        )  # fmt: skip
    except InvalidInput as error:
        if "it gave no reason" in error.text:
            raise WrongState("There is nothing to commit.") from None
        raise
    return ran.output.decode("ascii", "replace").strip().splitlines()[-1]


def _replace(directory: Root, source: Path, name: str) -> None:
    """A file of the repository's own gets new content, all at once."""
    temporary = f"holdfast-{secrets.token_hex(8)}"
    with directory.open() as tree:
        copy_in(source, tree.root, temporary)
        os.replace(temporary, name, src_dir_fd=tree.root, dst_dir_fd=tree.root)
