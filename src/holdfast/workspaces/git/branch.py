"""Which branch a workspace is on, read from its files without running git: bounded, by descriptor, never
through a link out of it."""

import re

from holdfast.core.errors import HoldfastError
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.line_ranges import open_file, read_up_to

_HEAD = (".git", "HEAD")
_BYTES = 1024
_BRANCH = re.compile(r"ref: refs/heads/([^\x00-\x20\x7f~^:?*\\\[]{1,200})")
_COMMIT = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})")


def read_branch(root: Root) -> str | None:
    """ "on branch main", "at the commit 1234567"; None where there is no repository of its own."""
    try:
        with root.open() as tree, tree.place(_HEAD) as place, open_file(place, _HEAD) as descriptor:
            head = read_up_to(descriptor, _BYTES).decode("utf-8", "replace").strip()
    except (HoldfastError, OSError):
        return None
    if (branch := _BRANCH.fullmatch(head)) is not None and branch[1].isprintable():
        return f"on branch {branch[1]}"
    if (commit := _COMMIT.fullmatch(head)) is not None:
        return f"at the commit {commit[1][:12]}"
    return None
