"""`.claude/settings.json` and `.claude/settings.local.json` of a workspace: hooks that count once a person
trusted them and the files they name. The files are written for another program too: what is not known here is
shown, and does not run."""

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.core.hooks import EventName
from holdfast.core.ids import WorkspaceId
from holdfast.core.trust import TrustDecision
from holdfast.store.query import Query
from holdfast.tools.hooks.definitions import (
    MATCHED,
    MOST_HOOKS,
    MOST_SECONDS,
    TIMEOUT_SECONDS,
    Hook,
    check_hook,
)
from holdfast.tools.hooks.inputs import EVENT_OF
from holdfast.workspaces.files.file_root import Root, Tree
from holdfast.workspaces.places.trust_items import TrustItem, combined_hash, read_text, trust_item

KIND = "hooks"
FILES = (".claude/settings.json", ".claude/settings.local.json")
# Everything in it counts as named: that is where scripts of hooks are kept.
SCRIPTS = (".claude", "hooks")
MOST_SCRIPTS = 90
_PROJECT = re.compile(r"""["']?\$(?:\{CLAUDE_PROJECT_DIR\}|CLAUDE_PROJECT_DIR\b)["']?/?""")
_APART = re.compile(r"""[\s;&|<>()`"'{}$=]+""")


class HookTrust:
    """Those files as content to be trusted. What is shown is what would run: their hooks alone."""

    name = KIND
    is_missed = True

    def read(self, root: Root) -> Sequence[TrustItem]:
        with root.open() as tree:
            found = [self._item(root, tree, path) for path in FILES]
        return [item for item in found if item is not None]

    def _item(self, root: Root, tree: Tree, path: str) -> TrustItem | None:
        try:
            text = read_text(tree, tuple(path.split("/")))
            written = None if text is None else written_hooks(text, path)
        except InvalidInput as error:
            return TrustItem(kind=KIND, path=path, hash=combined_hash("", ()), text="", error=error.text)
        if not written:
            return None
        shown = json.dumps({"hooks": written}, indent=2, ensure_ascii=False)
        try:
            words = _named_by(tree, written)
        except InvalidInput as error:
            return TrustItem(
                kind=KIND, path=path, hash=combined_hash(shown, ()), text=shown, error=error.text
            )
        return trust_item(root, tree, KIND, path, shown, words)

    def written(self, item: TrustItem, decision: TrustDecision) -> Query[Any] | None:
        return None


def _named_by(tree: Tree, written: Mapping[str, Any]) -> list[str]:
    words = [_without_project(word) for command in _texts_in(written) for word in _words(command)]
    return [*words, *_scripts(tree)]


def are_its_files(root: Root, item: TrustItem) -> bool:
    """Whether the files that its hooks name are in this directory too, as they were when it was read."""
    try:
        written = cast(dict[str, Any], msgspec.json.decode(item.text))["hooks"]
        with root.open() as tree:
            here = trust_item(root, tree, KIND, item.path, item.text, _named_by(tree, written))
    except (msgspec.DecodeError, KeyError, TypeError, HoldfastError):
        return False
    return here.error is None and here.files == item.files


def written_hooks(text: str, path: str) -> Mapping[str, Any]:
    """The hooks by event, as they are written. InvalidInput says why the file cannot be read."""
    try:
        content = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidInput(f"{path} is not valid JSON: {error}.") from None
    if not isinstance(content, dict):
        raise InvalidInput(f"{path} holds no object.")
    fields = cast(dict[str, Any], content)
    hooks = fields.get("hooks")
    if fields.get("disableAllHooks") is True or not hooks:
        return {}
    if not isinstance(hooks, dict):
        raise InvalidInput(f"{path}: hooks is an object.")
    return cast(dict[str, Any], hooks)


def hooks_of(item: TrustItem, workspace_id: WorkspaceId) -> list[Hook]:
    """Of a file. What cannot run here is there with its reason."""
    try:
        written = cast(dict[str, Any], msgspec.json.decode(item.text))["hooks"]
    except (msgspec.DecodeError, KeyError, TypeError):
        return []
    found: list[Hook] = []
    for name, groups in cast(dict[str, Any], written).items():
        for group in cast(list[Any], groups) if isinstance(groups, list) else []:
            fields = cast(dict[str, Any], group) if isinstance(group, dict) else {}
            handlers = fields.get("hooks")
            for handler in cast(list[Any], handlers) if isinstance(handlers, list) else []:
                if len(found) < MOST_HOOKS:
                    found.append(_hook(name, fields.get("matcher"), handler, item.path, workspace_id))
    return found


def _hook(name: str, matcher: object, handler: object, path: str, workspace_id: WorkspaceId) -> Hook:
    fields = cast(dict[str, Any], handler) if isinstance(handler, dict) else {}
    event: EventName | None = EVENT_OF.get(name)
    seconds = fields.get("timeout")
    command = fields.get("command")
    words = fields.get("args")
    if isinstance(command, str) and isinstance(words, list) and words:
        command = shlex.join([command, *map(str, cast(list[Any], words))])
    hook = Hook(
        source="workspace",
        dialect="claude",
        event=event or "run_end",
        matcher=matcher if isinstance(matcher, str) and event in MATCHED else "",
        command=command if isinstance(command, str) else "",
        timeout_seconds=min(float(seconds), MOST_SECONDS)
        if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0
        else TIMEOUT_SECONDS,
        path=path,
        workspace_id=workspace_id,
    )
    error: str | None = None
    if event is None:
        error = f"There is no event {name[:60]} here."
    elif (kind := fields.get("type", "command")) != "command":
        error = f"Hooks of the type {str(kind)[:40]} are not run here, only commands."
    else:
        try:
            check_hook(hook)
        except InvalidInput as wrong:
            error = wrong.text
    return hook if error is None else msgspec.structs.replace(hook, error=error)


def _without_project(word: str) -> str:
    """A path that begins with the project's directory is one of the workspace."""
    return _PROJECT.sub("./", word)


def _words(command: str) -> Iterator[str]:
    """The command, and every word in it, whatever of a shell stands between them."""
    plain = _without_project(command)
    yield plain
    yield from (word for word in _APART.split(plain) if word)


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            yield from _texts_in(item)
    elif isinstance(value, dict):
        for item in cast(dict[str, Any], value).values():
            yield from _texts_in(item)


def _scripts(tree: Tree) -> Iterator[str]:
    """The files below `.claude/hooks`. InvalidInput: more than are looked at."""
    waiting: list[tuple[str, ...]] = [SCRIPTS]
    count = 0
    while waiting:
        parts = waiting.pop()
        try:
            with tree.directory(parts) as directory, os.scandir(directory) as entries:
                found = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except (HoldfastError, OSError):
            continue  # there is none
        count += len(found)
        if count > MOST_SCRIPTS:
            raise InvalidInput(f"More than {MOST_SCRIPTS} files are in {'/'.join(SCRIPTS)}.")
        for name, is_directory in found:
            if is_directory:
                waiting.append((*parts, name))
            else:
                yield "/".join((*parts, name))
