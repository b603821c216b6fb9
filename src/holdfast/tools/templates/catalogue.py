"""Which templates there are: those below the configured roots, and those at git addresses. Whoever configured
a directory trusts what is in it. What is at a git address may change, so each user trusts exactly the content
they read; an address that the configuration pins to a commit always has the same."""

import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from holdfast.core.clock import Clock
from holdfast.core.errors import HoldfastError, InvalidInput, NotFound, WrongState
from holdfast.core.ids import UserId
from holdfast.core.templates import TemplateDecision
from holdfast.core.text import one_line
from holdfast.core.trust import Decision, TrustState
from holdfast.store import templates
from holdfast.store.interface import Store
from holdfast.store.query import Query
from holdfast.tools.templates.definition import Template, directories_in, read_template
from holdfast.tools.templates.git_templates import (
    GitAddress,
    GitTemplates,
    git_address,
    is_git_address,
    public_git_address,
)
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.places.allowed_roots import Roots

# Of the configuration, the administrator says where from: beside the internet also the own network.
CONFIGURED_SCHEMES = ("https", "http")


class TemplateCatalogue:
    def __init__(
        self,
        store: Store,
        roots: Roots,
        git: GitTemplates,
        clock: Clock,
        configured: Callable[[], tuple[str, ...]],
    ) -> None:
        self._store = store
        self._roots = roots
        self._git = git
        self._clock = clock
        self._configured = configured

    async def all(self) -> tuple[Template, ...]:
        """By name. Whatever is wrong with one is said in its place; of two with one name the first counts."""
        found: list[Template] = []
        for root in self._configured():
            found += await self._of_root(root)
        seen: set[str] = set()
        judged: list[Template] = []
        for one in found:
            if one.error is None and one.name in seen:
                one = replace(one, error=f"Another template before it is named {one.name}.")
            elif one.error is None:
                seen.add(one.name)
            judged.append(one)
        return tuple(sorted(judged, key=lambda one: (one.name, one.error is not None)))

    @asynccontextmanager
    async def opened(self, word: str) -> AsyncGenerator[Template]:
        """The template with this name or at this git address; its files stay as they are inside."""
        if is_git_address(word):
            known = {root.text: root for root in self._git_roots()}
            address = known.get(word) or await public_git_address(word)
            async with self._at_address(address) as found:
                yield _one_of(found, word)
            return
        for template in await self.all():
            if template.name == word and template.error is None:
                if template.address is None:
                    yield template
                    return
                async with self._at_address(_configured_address(template.address)) as found:
                    # Fetched again meanwhile, it may be another one.
                    yield next((one for one in found if one.name == word), None) or _missing(word)
                return
        bad = next((one for one in await self.all() if one.name == word), None)
        raise NotFound(
            f"There is no template {one_line(word, 100)!r}; list_templates shows those there are."
            if bad is None
            else f"The template {bad.name} cannot be used: {bad.error}"
        )

    async def state_of(self, template: Template, user_id: UserId) -> TrustState:
        """Whether this user lets it run something."""
        if template.address is None or self._is_pinned(template.address):
            return "trusted"
        decided = await self._store.read(templates.decided(user_id, template.address))
        if decided is None:
            return "new"
        if decided.hash != template.hash:
            return "changed"
        return "trusted" if decided.decision == "trust" else "refused"

    async def decide(
        self, word: str, content_hash: str, decision: Decision, user_id: UserId
    ) -> tuple[Query[None], Template]:
        """The write of a decision on exactly this content. WrongState: it is another one by now."""
        async with self.opened(word) as template:
            if template.address is None or template.hash is None:
                raise InvalidInput(
                    "This template belongs to the server's configuration: nobody has to trust it.",
                    field="template",
                )
            if template.hash != content_hash:
                raise WrongState("The template was changed meanwhile. Read it again, then decide.")
            made = TemplateDecision(
                user_id=user_id,
                address=template.address,
                hash=content_hash,
                decision=decision,
                decided_at=self._clock.now(),
            )
            return templates.decide(made), template

    def _is_pinned(self, address: str) -> bool:
        return any(root.text == address and root.pinned for root in self._git_roots())

    def _git_roots(self) -> list[GitAddress]:
        found: list[GitAddress] = []
        for root in self._configured():
            if is_git_address(root):
                try:
                    found.append(_configured_address(root))
                except InvalidInput:
                    continue  # told where templates are listed
        return found

    async def _of_root(self, root: str) -> list[Template]:
        shown = one_line(root, 200)
        try:
            if is_git_address(root):
                async with self._at_address(_configured_address(root)) as found:
                    return found
            return await blocking(lambda: templates_in(root, self._roots))
        except (HoldfastError, OSError) as error:
            said = error.text if isinstance(error, HoldfastError) else error.strerror
            return [Template(name=shown, directory=Root(Path("/")), error=str(said))]

    @asynccontextmanager
    async def _at_address(self, address: GitAddress) -> AsyncGenerator[list[Template]]:
        async with self._git.fetched(address) as tree:
            name = address.url.rstrip("/").rsplit("/", 1)[-1].removesuffix(".git")
            directories = await blocking(lambda: directories_in(tree.path))
            found = [
                await blocking(
                    lambda one=one: read_template(
                        one,
                        one.path.name if one.inside else name,
                        address=address.text,
                        content_hash=tree.hash,
                    )
                )
                for one in directories
            ]
            yield [one for one in found if one is not None]


def templates_in(root: str, roots: Roots) -> list[Template]:
    """Those of a configured directory. InvalidInput or OSError: there can be none."""
    path = Path(os.path.expanduser(root))
    if not path.is_absolute():
        raise InvalidInput(f"{root} is not an absolute path ([templates] roots).")
    real = path.resolve(strict=True)
    for allowed in roots.allowed:
        if real.is_relative_to(allowed) or allowed.is_relative_to(real):
            raise InvalidInput(
                f"{root} overlaps the workspace root {allowed}, so agents could change what the setup of a "
                "template runs. Put templates elsewhere."
            )
    found = [read_template(one, one.path.name) for one in directories_in(real)]
    return [one for one in found if one is not None]


def problems_of_root(root: str, roots: Roots) -> str | None:
    """Why there can be no templates there, as far as this machine knows."""
    try:
        if is_git_address(root):
            _configured_address(root)
        else:
            templates_in(root, roots)
    except InvalidInput as error:
        return error.text
    except OSError as error:
        return f"{error.strerror}."
    return None


def _configured_address(text: str) -> GitAddress:
    return git_address(text, schemes=CONFIGURED_SCHEMES, public=False)


def _one_of(found: list[Template], word: str) -> Template:
    if len(found) != 1:
        names = ", ".join(one.name for one in found[:20])
        raise NotFound(
            f"There is no template at {one_line(word, 200)}: it has no template.toml."
            if not found
            else f"There are several templates at {one_line(word, 200)} ({names}); a repository that is "
            "named by its address has one."
        )
    if (error := found[0].error) is not None:
        raise InvalidInput(f"The template at {one_line(word, 200)} cannot be used: {error}", field="template")
    return found[0]


def _missing(word: str) -> Template:
    raise NotFound(f"There is no template {one_line(word, 100)!r} any more.")
