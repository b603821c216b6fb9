"""Configured MCP servers: what to start or where to connect, and what the tools may do. An entry comes from
the configuration, from the database (of one user, or for all), or from a file of a workspace."""

import hashlib
import re
from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from holdfast.core.errors import InvalidInput
from holdfast.core.ids import UserId, WorkspaceId
from holdfast.core.secret import Secret
from holdfast.core.shapes import Record
from holdfast.tools.choice import Policy

# config: of the file.  all: an admin's, for everybody.  own: a user's.  workspace: of a file there.
Origin = Literal["config", "all", "own", "workspace"]
Network = Literal["none", "internet", "host"]
Transport = Literal["stdio", "http"]

TIMEOUT_SECONDS = 60.0
MAX_WORDS = 200
MAX_CHARACTERS = 8192
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# Headers that the transport sets itself.
_OWN_HEADERS = {"host", "content-length", "transfer-encoding", "connection", "cookie"}
# Variables that control how programs are loaded cannot be set.
_OWN_VARIABLES = {"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "HOLDFAST_PROCESS"}


class ServerFields(Record, frozen=True, kw_only=True):
    """The settings of a server, without its secrets."""

    command: Annotated[
        str, Meta(description="The program to start. It speaks the protocol on standard input and output.")
    ] = ""
    args: Annotated[tuple[str, ...], Meta(description="Its arguments.")] = ()
    url: Annotated[
        str, Meta(description="Instead of `command`: the address of a server that is there already.")
    ] = ""
    enabled: Annotated[bool, Meta(description="Whether its tools are offered.")] = True
    approval: (
        Annotated[
            Policy, Meta(description="Who must agree to calls of its tools. Default: as for all tools.")
        ]
        | None
    ) = None
    tools: Annotated[
        tuple[str, ...], Meta(description="Only these of its tools, by the server's own names. Empty: all.")
    ] = ()
    timeout_seconds: Annotated[
        float, Meta(ge=1, le=3600, description="After how long a call is given up.")
    ] = TIMEOUT_SECONDS
    trusted: Annotated[
        bool,
        Meta(
            description="Whether its word counts that a tool only reads (`readOnlyHint`): such tools run "
            "without asking, and again after a crash."
        ),
    ] = False
    wall: Annotated[
        bool, Meta(description="Whether its program runs behind the wall. Only admins may switch it off.")
    ] = True
    network: (
        Annotated[
            Network,
            Meta(description="What its program reaches. Default: `sandbox.network`. `host` is for admins."),
        ]
        | None
    ) = None


class ServerEntry(Record, frozen=True, kw_only=True):
    """One server with its secrets. `id` is its id in the API."""

    id: str
    name: str
    origin: Origin
    fields: ServerFields
    env: dict[str, Secret] = {}  # noqa: RUF012 - msgspec copies it
    headers: dict[str, Secret] = {}  # noqa: RUF012
    # The owner; None: it is for all users.
    owner_id: UserId | None = None
    # The workspace whose file defines it.
    workspace_id: WorkspaceId | None = None
    # Why it cannot be used.
    error: str | None = None

    @property
    def transport(self) -> Transport:
        return "http" if self.fields.url else "stdio"

    @property
    def by_admin(self) -> bool:
        return self.origin in ("config", "all")

    @property
    def config_hash(self) -> str:
        """A hash over everything that determines what runs or where it connects. Secrets count by their
        hash."""
        fields = self.fields
        told = {
            "command": fields.command,
            "args": fields.args,
            "url": fields.url,
            "wall": fields.wall,
            "network": fields.network,
            "env": _hashes(self.env),
            "headers": _hashes(self.headers),
        }
        return hashlib.sha256(msgspec.json.encode(told)).hexdigest()

    @property
    def source(self) -> str:
        """The source that calls of its tools are stored with."""
        return f"mcp:{self.origin}:{self.name}:{self.config_hash[:16]}"


def _hashes(values: Mapping[str, Secret]) -> dict[str, str]:
    return {
        name: hashlib.sha256(value.reveal().encode()).hexdigest() for name, value in sorted(values.items())
    }


def check_name(name: str) -> None:
    if _NAME.fullmatch(name) is None or "__" in name:
        raise InvalidInput(
            "The name of a server is up to 40 letters, digits, _ and -, without __.", field="name"
        )


def check_fields(fields: ServerFields, *, by_admin: bool) -> None:
    """Raises InvalidInput with the invalid field."""
    if bool(fields.command) == bool(fields.url):
        raise InvalidInput("Give either command or url.", field="command")
    if fields.url:
        check_url(fields.url)
        if fields.args:
            raise InvalidInput("A server with a url has no args.", field="args")
    if len(fields.args) > MAX_WORDS or any(len(word) > MAX_CHARACTERS for word in fields.args):
        raise InvalidInput(f"At most {MAX_WORDS} arguments of {MAX_CHARACTERS} characters.", field="args")
    if "=" in fields.command:
        raise InvalidInput("A program's name has no = in it; variables go into env.", field="command")
    if any("\0" in word for word in (fields.command, *fields.args)):
        raise InvalidInput("The command and its arguments must not contain a NUL character.", field="command")
    if not 1 <= fields.timeout_seconds <= 3600:
        raise InvalidInput("From 1 to 3600.", field="timeout_seconds")
    if not by_admin and not fields.wall:
        raise InvalidInput("Only an admin may run a server without the wall.", field="wall")
    if not by_admin and fields.network == "host":
        raise InvalidInput("Only an admin may give a server the machine's own network.", field="network")


def check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise InvalidInput("This is not a valid address.", field="url") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or _CONTROL.search(url) or " " in url:
        raise InvalidInput("Give an address such as https://example.com/mcp.", field="url")
    if parts.username is not None or parts.password is not None:
        raise InvalidInput("Put credentials into headers, not into the address.", field="url")


def check_secrets(env: Mapping[str, str], headers: Mapping[str, str]) -> None:
    for name, value in env.items():
        if _VARIABLE.fullmatch(name) is None or name in _OWN_VARIABLES or "\0" in value:
            raise InvalidInput(f"{name[:100]} cannot be a variable of a server.", field="env")
    for name, value in headers.items():
        if _HEADER.fullmatch(name) is None or name.lower() in _OWN_HEADERS or _CONTROL.search(value):
            raise InvalidInput(f"{name[:100]} cannot be a header of a server.", field="headers")


class Unset(Exception):
    """A `${NAME}` without a stored value."""


def expanded(text: str, values: Mapping[str, Secret]) -> str:
    """The text with every `${NAME}` or `${NAME:-default}` replaced once. Only the given values are used,
    never the server's own environment. Raises Unset."""

    def value(found: re.Match[str]) -> str:
        known = values.get(found[1])
        if known is not None:
            return known.reveal()
        if found[2] is not None:
            return found[2]
        raise Unset(found[1])

    return _REFERENCE.sub(value, text)


class StartPlan(Record, frozen=True, kw_only=True):
    """An entry with all references replaced: what is actually started or connected to."""

    command: str
    args: tuple[str, ...]
    env: dict[str, Secret]
    url: str
    headers: dict[str, Secret]


def start_plan(entry: ServerEntry, stored: Mapping[str, Secret]) -> StartPlan:
    """`stored` are the owner's values. Raises InvalidInput with the name of a missing value."""
    fields = entry.fields
    try:
        env = {name: Secret(expanded(value.reveal(), stored)) for name, value in entry.env.items()}
        values = {**stored, **env}
        plan = StartPlan(
            command=expanded(fields.command, values),
            args=tuple(expanded(word, values) for word in fields.args),
            env=env,
            url=expanded(fields.url, values),
            headers={name: Secret(expanded(value.reveal(), values)) for name, value in entry.headers.items()},
        )
    except Unset as error:
        raise InvalidInput(
            f"{entry.name} needs a value for {error}. Store one in Settings, MCP servers, or with "
            f"holdfast mcp value {error}."
        ) from None
    if plan.url:
        check_url(plan.url)
    check_secrets({}, {name: value.reveal() for name, value in plan.headers.items()})
    return plan
