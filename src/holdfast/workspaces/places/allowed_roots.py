"""Where workspaces may be: below the roots that the configuration allows, never where the server keeps its
own files. Scratch directories and worktrees belong to the server, one per chat or workspace, closed to other
users."""

from collections.abc import Callable, Iterable
from pathlib import Path

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.ids import ChatId, WorkspaceId
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.hidden import Hidden
from holdfast.workspaces.files.paths import shown


class Roots:
    """`private`: the server's own files outside the data directory (the configuration, key files). No
    workspace may be in such a directory or contain one; such a file in a workspace is hidden."""

    def __init__(
        self, data: Path, allowed: Iterable[Path], private: Iterable[Path] | Callable[[], Iterable[Path]] = ()
    ) -> None:
        self.data = data.resolve()
        self.allowed = tuple(path.expanduser().resolve() for path in allowed)
        fixed = () if callable(private) else tuple(private)
        self.hidden = Hidden(self.data, private if callable(private) else lambda: fixed)

    def allow(self, path: str) -> Path:
        """The directory that a person wants as a workspace, as the file system has it. InvalidInput says why
        not."""
        if "\0" in path or not path.startswith("/"):
            raise InvalidInput("The path of a workspace is absolute, for example /home/me/code/project.")
        try:
            real = Path(path).resolve(strict=True)
            is_directory = real.is_dir()
        except (OSError, RuntimeError):
            # The same words whatever the reason: they must not reveal what exists outside the roots.
            raise InvalidInput(self._refusal(path)) from None
        if not self._is_below(real) or not is_directory:
            raise InvalidInput(self._refusal(path))
        if self.hidden.covers(real) or self.hidden.holds_directory(real):
            raise InvalidInput(
                f"{shown(path)} holds or lies in a directory that the server keeps for itself."
            )
        return real

    def is_private(self, real: Path) -> bool:
        """Whether it contains, or is in, what the server keeps for itself."""
        return self.hidden.covers(real) or self.hidden.holds(real)

    def directory(self, path: str) -> Root:
        """A workspace that was allowed once; the roots may have changed since."""
        real = Path(path)
        for base in self.allowed:
            if real.is_relative_to(base) and not self.hidden.covers(real):
                return Root(base, real.relative_to(base).parts, hidden=self.hidden)
        raise NotFound(
            f"The workspace {shown(path)} is not below an allowed root any more (workspaces.roots in the "
            "configuration)."
        )

    def scratch(self, chat_id: ChatId) -> Root:
        """A chat's own directory; created when it is first requested."""
        return Root(self._made("scratch", chat_id), (chat_id,), hidden=self.hidden)

    def draft(self, chat_id: ChatId) -> Root:
        """Where a chat's draft is or will be; only the directory around it is made."""
        return Root(self._made("drafts"), (chat_id,), hidden=self.hidden)

    def worktree(self, workspace_id: WorkspaceId) -> Root:
        """Where a worktree is or will be; only the directory around it is created."""
        return Root(self._made("worktrees"), (workspace_id,), hidden=self.hidden)

    def _is_below(self, real: Path) -> bool:
        return any(real.is_relative_to(base) for base in self.allowed)

    def _refusal(self, path: str) -> str:
        roots = ", ".join(str(base) for base in self.allowed) or "none (set workspaces.roots)"
        return f"{shown(path)} is not a directory below an allowed root. Allowed roots: {roots}."

    def _made(self, kind: str, *inside: str) -> Path:
        base = self.data / kind
        for path in (base, base.joinpath(*inside)):
            path.mkdir(mode=0o700, exist_ok=True)
        return base
