"""Reading the configuration: command line over environment over file over defaults, each key checked."""

import ipaddress
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from holdfast.config.hook_section import HookSection
from holdfast.config.places import ENVIRONMENT, ConfigValues, find_file, from_environment, near, read_file
from holdfast.config.sections import (
    NAMED_SECTIONS,
    SECTIONS,
    BusSection,
    Config,
    McpSection,
    ModeChoice,
    ModelsSection,
    ServerSection,
    ToolChoice,
    WorkspacesSection,
)
from holdfast.config.values import GivenValue, Unfit, keys_of, revealed, value_of
from holdfast.core.errors import BadConfig, BadFlag, InvalidInput
from holdfast.core.secret import Secret
from holdfast.core.shapes import Record
from holdfast.providers.configs import ModelConfig, ProviderConfig, check_model, check_provider
from holdfast.providers.kinds import KINDS
from holdfast.tools.hooks.definitions import MOST_HOOKS, Hook, check_hook
from holdfast.tools.mcp.entries import ServerEntry, ServerFields, check_fields, check_name, check_secrets
from holdfast.tools.modes import BUILT_IN
from holdfast.tools.registry import OUTSIDE

T = TypeVar("T", bound=Record)

_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_MODE = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_TOOL = re.compile(r"[A-Za-z0-9_-]{1,128}")

COMMAND_LINE = "the command line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What the command line says; None: nothing."""

    host: str | None = None
    port: int | None = None
    data: Path | None = None
    database: str | None = None
    config: Path | None = None

    def found(self) -> ConfigValues:
        given = {
            ("server", "host"): self.host,
            ("server", "port"): self.port,
            ("server", "data"): None if self.data is None else str(self.data),
            ("database", "url"): self.database,
        }
        names = {"url": "--database"}
        return ConfigValues(
            {
                (section, key): GivenValue(value, names.get(key, f"--{key}"), COMMAND_LINE)
                for (section, key), value in given.items()
                if value is not None
            }
        )


def load(flags: Flags, environ: Mapping[str, str]) -> Config:
    """Checks everything but the names of tools: see `check_tools`. Raises BadConfig with one sentence. May be
    called again while the server is running: see `config_reload`."""
    path = find_file(flags.config, environ)
    file = ConfigValues() if path is None else read_file(path)
    found = (
        _default_places(environ)
        .covered_by(file)
        .covered_by(from_environment(environ, file.named))
        .covered_by(flags.found())
    )
    sections: dict[str, Any] = {
        name: _section(name, section, found, environ) for name, section in SECTIONS.items()
    }
    chosen: ModelsSection = sections.pop("models")
    sections["server"] = _checked_server(sections["server"], found)
    _check_bus(sections["bus"], found)
    sections["tools"] = replace(sections["tools"], named=_tools(found, environ, path))
    return Config(
        **sections,
        default_model=chosen.default,
        modes=_modes(found, environ, path),
        providers=tuple(_providers(found, environ, path)),
        models=tuple(_models(found, environ, path)),
        mcp=tuple(_mcp(found, environ, path)),
        hooks=tuple(_hooks(found, environ, path)),
        only_in_environment=frozenset(_only_in_environment(found)),
        file=path,
        key_files=found.key_files(),
    )


def _default_places(environ: Mapping[str, str]) -> ConfigValues:
    """The defaults that start with `~`, to be read as if somebody had written them."""
    home = environ.get("XDG_DATA_HOME")
    data = f"{home}/holdfast" if home else str(ServerSection().data)
    return ConfigValues(
        {
            ("server", "data"): GivenValue(data, "The default of server.data", "Holdfast"),
            ("workspaces", "roots"): GivenValue(
                [str(root) for root in WorkspacesSection().roots],
                "The default of workspaces.roots",
                "Holdfast",
            ),
        }
    )


def _section(name: str, section: type[T], found: ConfigValues, environ: Mapping[str, str]) -> T:
    given = {key: found.plain[name, key] for key in keys_of(section) if (name, key) in found.plain}
    return _made(section, given, environ)


def _made(section: type[T], given: Mapping[str, GivenValue], environ: Mapping[str, str], **more: object) -> T:
    keys = keys_of(section)
    values: dict[str, Any] = {}
    for name, value in given.items():
        try:
            values[name] = value_of(keys[name], value, environ)
        except Unfit as error:
            bad = BadFlag if value.source == COMMAND_LINE else BadConfig
            raise bad(f"{value.place} {error}.") from None
    return section(**values, **more)


# --- the server ---


def _checked_server(server: ServerSection, found: ConfigValues) -> ServerSection:
    """If others can reach the port, the server must know its own names: otherwise any web page could talk to
    it through a browser."""
    if not all(_is_host(host) for host in server.hosts):
        raise BadConfig(
            f"{found.plain['server', 'hosts'].place} must be names or addresses, as in holdfast.example.com, "
            "without scheme, port or wildcard."
        )
    if not all(is_network(proxy) for proxy in server.proxies):
        raise BadConfig(
            f"{found.plain['server', 'proxies'].place} must be addresses or networks, as in 127.0.0.1 or "
            "10.0.0.0/8."
        )
    if not is_loopback(server.host) and not server.hosts:
        raise BadConfig(
            f"{found.plain['server', 'host'].place} would let other machines in, and server.hosts is empty. "
            'Name there how they reach this server, as in hosts = ["holdfast.example.com"], or listen on '
            "127.0.0.1."
        )
    return server


def is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it. Of names only localhost is known to be local."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _is_host(text: str) -> bool:
    try:
        ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return _HOST.fullmatch(text) is not None
    return True


def _check_bus(bus: BusSection, found: ConfigValues) -> None:
    """Does not repeat the value: it may contain a password."""
    if (url := bus.url.reveal()) and not url.startswith(("redis://", "rediss://", "unix://")):
        raise BadConfig(
            f"{found.plain['bus', 'url'].place} must be empty, or as in redis://host, rediss://host (with "
            "TLS) or unix:///path/of/a/socket."
        )


# --- tables with names ---


def check_tools(config: Config, known: Collection[str]) -> None:
    """A setting for a tool must name an existing tool: a typing error would allow what was meant to be
    denied. Can only be checked once the tools are there. Raises BadConfig."""
    where = f" in {config.file}" if config.file else ""
    for name in config.tools.named:
        if name not in known and not name.startswith(OUTSIDE):
            raise BadConfig(f"There is no tool {name} ([tools.{name}]{where}); {near(name, known)}")
    for mode, chosen in config.modes.items():
        for name in chosen.tools:
            if name not in known and not name.startswith(OUTSIDE):
                raise BadConfig(f"There is no tool {name} ([modes.{mode}]{where}); {near(name, known)}")


def _tools(found: ConfigValues, environ: Mapping[str, str], path: Path | None) -> dict[str, ToolChoice]:
    tables = _tables("tools", found)
    for name, given in tables.items():
        if _TOOL.fullmatch(name) is None:
            where = _sources(given, path)
            raise BadConfig(f"No tool can have a name like {name!r} ([tools.{name}] in {where}).")
    return {name: _made(ToolChoice, given, environ) for name, given in tables.items()}


def _modes(found: ConfigValues, environ: Mapping[str, str], path: Path | None) -> dict[str, ModeChoice]:
    tables = _tables("modes", found)
    for name, given in tables.items():
        if _MODE.fullmatch(name) is None or name in BUILT_IN:
            why = "is built in" if name in BUILT_IN else "is no name: small letters, digits, _ and -"
            raise BadConfig(f"{name!r} {why} ([modes.{name}] in {_sources(given, path)}).")
    return {name: _made(ModeChoice, given, environ) for name, given in tables.items()}


def _providers(
    found: ConfigValues, environ: Mapping[str, str], path: Path | None
) -> Iterator[ProviderConfig]:
    for name, given in _tables("providers", found).items():
        if name in KINDS:
            given = {"kind": GivenValue(name, "The name", "Holdfast"), **given}
        where = _sources(given, path)
        _require("providers", name, given, where)
        config = _made(ProviderConfig, given, environ, name=name)
        if config.kind not in KINDS:
            raise BadConfig(f"{given['kind'].place} is no kind of provider; {near(config.kind, KINDS)}")
        yield _checked(config, check_provider, where)


def _models(found: ConfigValues, environ: Mapping[str, str], path: Path | None) -> Iterator[ModelConfig]:
    for name, given in _tables("models", found).items():
        where = _sources(given, path)
        _require("models", name, given, where)
        yield _checked(_made(ModelConfig, given, environ, name=name), check_model, where)


def _mcp(found: ConfigValues, environ: Mapping[str, str], path: Path | None) -> Iterator[ServerEntry]:
    for name, given in _tables("mcp", found).items():
        where = _sources(given, path)
        section = _made(McpSection, given, environ)
        fields = ServerFields(**{key: getattr(section, key) for key in ServerFields.__struct_fields__})
        env = _secrets(section.env, given, "env", environ)
        headers = _secrets(section.headers, given, "headers", environ)
        try:
            check_name(name)
            check_fields(fields, by_admin=True)
            check_secrets(
                {key: value.reveal() for key, value in env.items()},
                {key: value.reveal() for key, value in headers.items()},
            )
        except InvalidInput as error:
            raise BadConfig(f"[mcp.{name}]: {error.text} ({where}).") from None
        yield ServerEntry(
            id=f"config-{name}", name=name, origin="config", fields=fields, env=env, headers=headers
        )


def _hooks(found: ConfigValues, environ: Mapping[str, str], path: Path | None) -> Iterator[Hook]:
    tables = sorted(_tables("hooks", found).items(), key=lambda table: int(table[0]))
    if len(tables) > MOST_HOOKS:
        raise BadConfig(f"{path} has more than {MOST_HOOKS} [[hooks]].")
    for number, given in tables:
        where = f"[[hooks]] number {number} in {path}"
        if "event" not in given:
            raise BadConfig(f"{where} needs event.")
        section = _made(HookSection, given, environ)
        hook = Hook(
            source="config",
            event=section.event,
            matcher=section.matcher,
            command=section.command,
            url=section.url,
            secret=section.secret,
            private=section.private,
            timeout_seconds=section.timeout_seconds,
            on_failure=section.on_failure,
            path=f"[[hooks]] {number}",
        )
        try:
            check_hook(hook)
        except InvalidInput as error:
            raise BadConfig(f"{where}, {error.field}: {error.text}") from None
        yield hook


def _secrets(
    table: Mapping[str, object], given: Mapping[str, GivenValue], key: str, environ: Mapping[str, str]
) -> dict[str, Secret]:
    try:
        if not all(isinstance(value, str) for value in table.values()):
            raise Unfit("must be a table of texts")
        return {name: Secret(revealed(str(value), environ)) for name, value in table.items()}
    except Unfit as error:
        raise BadConfig(f"{given[key].place} {error}.") from None


def _tables(section: str, found: ConfigValues) -> dict[str, dict[str, GivenValue]]:
    return {name: given for (of, name), given in found.named.items() if of == section}


def _only_in_environment(found: ConfigValues) -> Iterator[str]:
    for (section, name), given in found.named.items():
        if given and all(value.source == ENVIRONMENT for value in given.values()):
            yield f"{section}.{name}"


def _require(section: str, name: str, given: Mapping[str, GivenValue], where: str) -> None:
    keys = keys_of(NAMED_SECTIONS[section]).values()
    missing = [key.name for key in keys if key.required and key.name not in given]
    if missing:
        raise BadConfig(f"[{section}.{name}] needs {' and '.join(missing)} ({where}).")


def _checked(config: T, check: Callable[[T], None], where: str) -> T:
    try:
        check(config)
    except InvalidInput as error:
        raise BadConfig(f"{error.text} ({where}).") from None
    return config


def _sources(given: Mapping[str, GivenValue], path: Path | None) -> str:
    """Where a table comes from; one without keys can only come from the file."""
    return " and ".join(sorted({value.source for value in given.values()} - {"Holdfast"})) or str(path)
