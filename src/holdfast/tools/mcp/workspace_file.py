"""`.mcp.json` of a workspace: its servers are used once a person trusts the file and the files it names.
Other programs use the file too, so unknown fields are ignored."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from holdfast.core.errors import InvalidInput
from holdfast.core.ids import WorkspaceId
from holdfast.core.secret import Secret
from holdfast.core.trust import TrustDecision
from holdfast.store.query import Query
from holdfast.tools.mcp.entries import ServerEntry, ServerFields, check_fields, check_name, check_secrets
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.places.trust_items import TrustItem, combined_hash, read_text, trust_item

KIND = "mcp"
FILE = ".mcp.json"
MOST_SERVERS = 50


class McpTrust:
    """The file as content to be trusted."""

    name = KIND
    is_missed = False

    def read(self, root: Root) -> Sequence[TrustItem]:
        with root.open() as tree:
            try:
                text = read_text(tree, (FILE,))
            except InvalidInput as error:
                return [
                    TrustItem(kind=KIND, path=FILE, hash=combined_hash("", ()), text="", error=error.text)
                ]
            if text is None:
                return []
            try:
                words = [word for _, given in servers_in(text) for word in _words(given)]
            except InvalidInput as error:
                return [
                    TrustItem(kind=KIND, path=FILE, hash=combined_hash(text, ()), text=text, error=error.text)
                ]
            return [trust_item(root, tree, KIND, FILE, text, words)]

    def written(self, item: TrustItem, decision: TrustDecision) -> Query[Any] | None:
        return None


def servers_in(text: str) -> list[tuple[str, dict[str, Any]]]:
    """The servers by name. Raises InvalidInput if the file cannot be read."""
    try:
        content = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidInput(f"{FILE} is not valid JSON: {error}.") from None
    servers = cast(dict[str, Any], content).get("mcpServers", {}) if isinstance(content, dict) else None
    if not isinstance(servers, dict):
        raise InvalidInput(f"{FILE} has no object mcpServers.")
    named = cast(dict[str, Any], servers)
    if len(named) > MOST_SERVERS:
        raise InvalidInput(f"{FILE} names more than {MOST_SERVERS} servers.")
    if not all(isinstance(given, dict) for given in named.values()):
        raise InvalidInput(f"{FILE}: a server is an object.")
    return sorted(named.items())


def entries_of(item: TrustItem, workspace_id: WorkspaceId) -> list[ServerEntry]:
    """The entries of a trusted file. An invalid one is included with its error."""
    return [_entry(name, given, workspace_id) for name, given in servers_in(item.text)]


def _entry(name: str, given: dict[str, Any], workspace_id: WorkspaceId) -> ServerEntry:
    shown = name[:40]
    try:
        check_name(name)
        fields = msgspec.convert(
            {key: given[key] for key in ("command", "args", "url") if key in given}, ServerFields
        )
        if isinstance(seconds := given.get("timeout_seconds"), int | float):
            fields = msgspec.structs.replace(fields, timeout_seconds=float(seconds))
        env, headers = _texts(given, "env"), _texts(given, "headers")
        check_fields(fields, by_admin=False)
        check_secrets(env, headers)
    except (InvalidInput, msgspec.ValidationError) as error:
        said = error.text if isinstance(error, InvalidInput) else str(error)
        return ServerEntry(
            id=f"{workspace_id}-{shown}",
            name=shown,
            origin="workspace",
            fields=ServerFields(),
            workspace_id=workspace_id,
            error=said,
        )
    return ServerEntry(
        id=f"{workspace_id}-{name}",
        name=name,
        origin="workspace",
        fields=fields,
        env={key: Secret(value) for key, value in env.items()},
        headers={key: Secret(value) for key, value in headers.items()},
        workspace_id=workspace_id,
    )


def _texts(given: dict[str, Any], key: str) -> dict[str, str]:
    return msgspec.convert(given.get(key) or {}, dict[str, str])


def _words(given: dict[str, Any]) -> Iterator[str]:
    """All strings in it: commands, arguments, environment values."""
    for value in given.values():
        yield from _texts_in(value)


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            yield from _texts_in(item)
    elif isinstance(value, dict):
        for item in cast(dict[str, Any], value).values():
            yield from _texts_in(item)
