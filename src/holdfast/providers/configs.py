"""What people configure: providers and models, checked once so that nothing absurd reaches a provider. Keys
stay as they were written (`env:NAME`, `file:PATH`) until a connection needs them, so that errors can say
where to look."""

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import urlsplit

from msgspec import field

from holdfast.core.chats import ProviderTool
from holdfast.core.errors import InvalidInput
from holdfast.core.shapes import Json, Record, check_json

DEFAULT_MAX_OUTPUT = 32_000
MAX_OUTPUT = 1_000_000
MAX_CONTEXT = 100_000_000
# The key of a server that needs none.
NO_KEY = "none"

Input = Literal["text", "image", "pdf"]
PROVIDER_TOOLS: tuple[ProviderTool, ...] = get_args(ProviderTool)
TextToolCalls = Literal["auto", "on", "off"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MODEL = re.compile(r"[^\s\x00-\x1f\x7f]{1,200}")
_API_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,39}")
_EFFORT = re.compile(r"[a-z]{1,20}")
# What the adapters themselves decide; an option that took them over would break what the engine relies on.
_OWN_FIELDS = frozenset(
    {
        *("messages", "model", "n", "stream", "system", "tools"),
        *("input", "instructions", "previous_response_id", "contents", "systemInstruction"),
    }
)


class ProviderConfig(Record, frozen=True, kw_only=True):
    """`[providers.<name>]`."""

    name: str
    kind: str
    base_url: str | None = None
    api: Literal["chat", "responses"] = "chat"
    # Sent as `api-version` with every request, which Azure's older addresses demand.
    api_version: str | None = None
    api_key: str | None = None
    enabled: bool = True

    def __repr__(self) -> str:  # pyright: ignore[reportImplicitOverride] - the decorator is younger than 3.11
        """Without the key: configuration ends up in logs."""
        return f"ProviderConfig(name={self.name!r}, kind={self.kind!r}, base_url={self.base_url!r})"

    def __rich_repr__(self) -> list[tuple[str, Json]]:  # pyright: ignore[reportImplicitOverride]
        return [("name", self.name), ("kind", self.kind), ("base_url", self.base_url)]


class ModelConfig(Record, frozen=True, kw_only=True):
    """`[models.<name>]`. What is not set is left to the provider."""

    name: str
    provider: str
    model: str
    context_limit: int | None = None
    max_output: int = DEFAULT_MAX_OUTPUT
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    # Empty: what is known about the model (`model_facts`).
    efforts: tuple[str, ...] = ()
    inputs: tuple[Input, ...] = ()
    compaction_threshold: int | None = None
    # Whether the model can call tools. Without them it answers with text alone.
    tools: bool = True
    # With the responses format: the provider keeps the conversation, and only what is new is sent.
    chain: bool = False
    # Whether calls that the model writes into its text are run. `auto`: on servers of one's own.
    text_tool_calls: TextToolCalls = "auto"
    # Tools that the provider runs itself.
    provider_tools: tuple[ProviderTool, ...] = ()
    # Further fields of the request, as the provider names them.
    provider_options: dict[str, Json] = field(default_factory=dict[str, Json])
    enabled: bool = True


def check_provider(config: ProviderConfig) -> None:
    _refuse(f"providers.{config.name}", _provider_faults(config))


def check_model(config: ModelConfig) -> None:
    _refuse(f"models.{config.name}", _model_faults(config))


# The field, and what is wrong with it.
_Fault = tuple[str, str]


def _refuse(where: str, faults: Iterator[_Fault]) -> None:
    for name, fault in faults:
        raise InvalidInput(f"[{where}]: {fault}", field=name)


def _provider_faults(config: ProviderConfig) -> Iterator[_Fault]:
    if _NAME.fullmatch(config.name) is None:
        yield "name", "a name is 1 to 64 letters, digits, dots, dashes and underscores"
    if config.base_url is not None and (fault := _url_fault(config.base_url)):
        yield "base_url", f"base_url {fault}"
    if config.api_version is not None and _API_VERSION.fullmatch(config.api_version) is None:
        yield "api_version", "api_version looks like 2025-04-01-preview"
    if config.api_key is not None and (not config.api_key or not config.api_key.isprintable()):
        yield "api_key", "api_key is empty or has characters that no key has"


def _url_fault(url: str) -> str | None:
    if not url.isascii() or not url.isprintable() or " " in url or len(url) > 2000:
        return "has characters that no address has"
    try:
        parsed = urlsplit(url)
        port = parsed.port
    except ValueError:
        return "is not an address"
    if parsed.scheme not in ("http", "https") or not parsed.hostname or port == 0:
        return "must look like https://host/path"
    if "@" in parsed.netloc:
        return "must not contain a password; use api_key"
    if parsed.query or parsed.fragment:
        return "must end before any ? or #"
    return None


def _model_faults(config: ModelConfig) -> Iterator[_Fault]:
    if _NAME.fullmatch(config.name) is None:
        yield "name", "a name is 1 to 64 letters, digits, dots, dashes and underscores"
    if _MODEL.fullmatch(config.model) is None:
        yield "model", "model is 1 to 200 characters without spaces"
    yield from _outside("context_limit", config.context_limit, 1, MAX_CONTEXT)
    yield from _outside("max_output", config.max_output, 1, MAX_OUTPUT)
    yield from _outside("temperature", config.temperature, 0, 2)
    yield from _outside("top_p", config.top_p, 0, 1)
    yield from _outside("top_k", config.top_k, 1, 1_000_000)
    yield from _outside("presence_penalty", config.presence_penalty, -2, 2)
    yield from _outside("frequency_penalty", config.frequency_penalty, -2, 2)
    yield from _outside("compaction_threshold", config.compaction_threshold, 0, 100)
    if len(config.efforts) > 10 or any(_EFFORT.fullmatch(effort) is None for effort in config.efforts):
        yield "efforts", "efforts are at most 10 words such as low, medium, high"
    if config.inputs and "text" not in config.inputs:
        yield "inputs", "inputs must contain text"
    if len(set(config.provider_tools)) != len(config.provider_tools):
        yield "provider_tools", "provider_tools names a tool twice"
    if taken := sorted(_OWN_FIELDS & config.provider_options.keys()):
        yield "provider_options", f"provider_options must not set {', '.join(taken)}"
    try:
        check_json(config.provider_options)
    except ValueError as error:
        yield "provider_options", f"provider_options: {error}"


def _outside(name: str, value: float | None, least: float, most: float) -> Iterator[_Fault]:
    if value is not None and not (math.isfinite(value) and least <= value <= most):
        yield name, f"{name} must be from {least} to {most}"


def read_key(written: str | None, environ: Mapping[str, str]) -> str | None:
    """The key itself, or nothing where none is needed. Fails with a sentence that says what is missing."""
    if written is None or written == NO_KEY:
        return None
    source, _, place = written.partition(":")
    if source == "env":
        key = environ.get(place, "").strip()
        if not key:
            raise InvalidInput(f"the environment variable {place} is not set")
    elif source == "file":
        try:
            key = Path(place).expanduser().read_text().strip()
        except (OSError, UnicodeDecodeError, RuntimeError) as error:
            raise InvalidInput(f"the file {place} cannot be read") from error
        if not key:
            raise InvalidInput(f"the file {place} is empty")
    else:
        key = written.strip()
    if not key.isascii() or not key.isprintable():
        raise InvalidInput("the key has characters that no key has")
    return key


def key_place(config: ProviderConfig) -> str:
    """Where the key of a provider is set, in words; never the key."""
    source, _, place = (config.api_key or "").partition(":")
    match source:
        case "env":
            return f"the environment variable {place}"
        case "file":
            return f"the file {place}"
        case _:
            return f"api_key of [providers.{config.name}]"
