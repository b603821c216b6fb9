"""`holdfast doctor`: looks at everything a server on this machine needs, and says what is wrong and what to
do."""

import asyncio
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from holdfast.cli.options import AsJson, print_json
from holdfast.cli.safe_text import neutral_line
from holdfast.core.errors import HoldfastError
from holdfast.core.shapes import Record

if TYPE_CHECKING:
    from holdfast.config.sections import Config

_OTHERS = 0o077
_PRIVATE = ("admin.token", "secret.key", "holdfast.db")
_LITTLE_SPACE_MIB = 500
_RECEIVER_SECONDS = 3.0


class Finding(Record, frozen=True, kw_only=True):
    """`note`: worth knowing, nothing is broken by it."""

    about: str
    state: Literal["ok", "note", "broken"]
    text: str


def doctor(
    config_file: Annotated[
        Path | None,
        typer.Option("--config", readable=False, help="Configuration file, as for `holdfast serve`."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check the setup, and say how to fix it. Checks configuration, keys, database, data directory, port,
    sandbox, traces and page. Exit code 1 if something is broken."""
    findings = list(_examine(config_file))
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            mark = "BROKEN" if finding.state == "broken" else finding.state
            print(f"{mark:<7} {finding.about:<14} {neutral_line(finding.text, 1000)}")
    if any(finding.state == "broken" for finding in findings):
        raise typer.Exit(1)


def _examine(config_file: Path | None) -> Iterator[Finding]:
    from holdfast.config.load import Flags, load
    from holdfast.config.places import passed_over

    try:
        config = load(Flags(config=config_file), os.environ)
    except HoldfastError as error:
        yield Finding(about="configuration", state="broken", text=error.text)
        return
    where = "defaults and environment; there is no file" if config.file is None else str(config.file)
    yield Finding(about="configuration", state="ok", text=f"Read: {where}.")
    if (unread := passed_over(config.file)) is not None:
        text = f"{unread} is ignored. To use it, name it with --config or HOLDFAST_CONFIG."
        yield Finding(about="configuration", state="note", text=text)
    yield from _own_things(config)
    yield from keys(config)
    yield from data_directory(config.server.data.expanduser())
    yield asyncio.run(_database(config))
    yield asyncio.run(_port(config))
    if url := os.environ.get("HOLDFAST_URL"):
        yield asyncio.run(_named_server(url))
    yield from wall(config)
    yield from traces(os.environ)
    yield from templates(config)
    yield from hooks(config)
    yield _page(Path(__file__).parent.parent / "page" / "index.html")


def _own_things(config: "Config") -> Iterator[Finding]:
    """Whether files of the server's own are inside a workspace root."""
    from holdfast.server.own_files import own_paths
    from holdfast.workspaces.places.allowed_roots import Roots

    roots = Roots(config.server.data, config.workspaces.roots, own_paths(config, os.environ))
    for path in roots.hidden.below(roots.allowed):
        text = f"{path} is inside a workspace root. It is hidden from agents, but should be moved elsewhere."
        yield Finding(about="configuration", state="note", text=text)


def keys(config: "Config") -> Iterator[Finding]:
    """Whether every provider of file and environment has the key it needs."""
    from holdfast.config.findings import findings
    from holdfast.providers.configs import read_key
    from holdfast.providers.kinds import KINDS
    from holdfast.providers.registry import complete

    try:
        setup = complete(config.providers, config.models, os.environ)
        told = list(findings(config, setup, os.environ))
    except HoldfastError as error:
        yield Finding(about="providers", state="broken", text=error.text)
        return
    if setup.is_demo:
        yield Finding(
            about="providers",
            state="note",
            text="None in the configuration file or environment. Unless one was added on the page, chats use "
            "the built-in demo model. Set ANTHROPIC_API_KEY or another provider's key, or see "
            "`holdfast provider set --help`.",
        )
        return
    for sentence in told:
        # Keys are told below, also of providers that no model uses; models may be in the database.
        if "has no key" not in sentence:
            yield Finding(about="providers", state="note", text=sentence)
    for provider in setup.providers.values():
        usual = KINDS[provider.kind].key_variable
        written = provider.api_key or (None if usual is None else f"env:{usual}")
        try:
            key = read_key(written, os.environ)
        except HoldfastError as error:
            yield Finding(
                about="providers", state="broken", text=f"{provider.name} has no key: {error.text}. Set it."
            )
        else:
            has = "has a key" if key else "needs no key"
            yield Finding(about="providers", state="ok", text=f"{provider.name} {has}.")


def data_directory(data: Path) -> Iterator[Finding]:
    """Whether it can be used, by its owner alone."""
    if not data.exists():
        yield Finding(about="data", state="ok", text=f"{data} will be created on first start.")
        return
    if not data.is_dir() or not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        yield Finding(
            about="data",
            state="broken",
            text=f"{data} is not a directory this user can write to. Change that, or use --data.",
        )
        return
    loose = [path for path in (data, *(data / name for name in _PRIVATE)) if _is_open(path)]
    for path in loose:
        mode = "700" if path.is_dir() else "600"
        yield Finding(
            about="data",
            state="broken",
            text=f"{path} can be read by other users of this machine. Fix: chmod {mode} {path}",
        )
    free = shutil.disk_usage(data).free // (1024 * 1024)
    if free < _LITTLE_SPACE_MIB:
        yield Finding(about="data", state="broken", text=f"Only {free} MiB free at {data}. Free some space.")
    elif not loose:
        yield Finding(about="data", state="ok", text=f"{data}, private to its owner, {free} MiB free.")


def _is_open(path: Path) -> bool:
    return path.exists() and bool(path.stat().st_mode & _OTHERS)


async def _database(config: "Config") -> Finding:
    """Opened to read, as `holdfast db check` does."""
    from holdfast.store.open import is_postgres, open_store, sqlite_file

    url, data = config.database.url.reveal(), config.server.data
    try:
        if not is_postgres(url) and not (file := sqlite_file(url, data)).exists():
            return Finding(about="database", state="ok", text=f"{file} will be created on first start.")
        store = await open_store(url, data=data, publish=lambda _: None, mode="tool")
        await store.close()
    except HoldfastError as error:
        return Finding(about="database", state="broken", text=error.text)
    kind = "PostgreSQL" if is_postgres(url) else "SQLite"
    return Finding(
        about="database", state="ok", text=f"{kind}, opens fine. `holdfast db check` checks every row."
    )


async def _port(config: "Config") -> Finding:
    from holdfast.cli.address import find_server, url_of
    from holdfast.cli.client import connected

    host, port = config.server.host, config.server.port
    url = url_of(host, port)
    # The one that was started with this data directory, wherever it listens.
    async with connected(find_server(None, os.environ)) as client:
        if await client.is_alive():
            return Finding(about="server", state="ok", text=f"Running at {client.url}.")
    if port == 0:
        return Finding(about="server", state="note", text="Not running; it will pick a free port.")
    if (why := _cannot_listen(host, port)) is not None:
        return Finding(
            about="server",
            state="broken",
            text=f"{host}:{port} cannot be used ({why}). Stop what uses it, or choose another port.",
        )
    return Finding(
        about="server", state="ok", text=f"Not running; {url} is free. `holdfast serve` starts it."
    )


async def _named_server(url: str) -> Finding:
    """The server that commands talk to, whatever is configured here."""
    from holdfast.cli.address import find_server
    from holdfast.cli.client import connected
    from holdfast.cli.users import MeAnswer

    try:
        async with connected(find_server(url, os.environ)) as client:
            me = await client.get("/session", MeAnswer)
    except HoldfastError as error:
        return Finding(about="HOLDFAST_URL", state="broken", text=error.text)
    return Finding(about="HOLDFAST_URL", state="ok", text=f"{url} knows you as {me.user.name}.")


def _cannot_listen(host: str, port: int) -> str | None:
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except OSError as error:
        return error.strerror or str(error)
    return None


def wall(config: "Config") -> Iterator[Finding]:
    """Which wall stands, and each of its promises as it was found when tried."""
    from holdfast.workspaces.commands.cgroups import Cgroups
    from holdfast.workspaces.commands.limits import CommandLimits
    from holdfast.workspaces.commands.wall_probe import probe
    from holdfast.workspaces.commands.wall_promises import try_all

    limits = CommandLimits.of_machine()
    data = config.server.data.expanduser()
    # On the file system that it will be about, if that can be.
    near = data if data.is_dir() and os.access(data, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=near, prefix="doctor-") as scratch:
        cgroups = Cgroups.find(Path(scratch))
        try:
            found = probe(Path(scratch), cgroups=cgroups, limits=limits, network=config.sandbox.network)
            tried = try_all(Path(scratch), found, limits=limits, grouped=cgroups is not None)
        finally:
            if cgroups is not None:
                cgroups.close()
    first, *rest = found.sentences
    text = first if found.wall.stands else " ".join((first, *rest))
    yield Finding(about="wall", state="ok" if found.wall.stands else "note", text=text)
    if found.network != config.sandbox.network and found.wall.stands:
        yield Finding(about="wall: network", state="note", text=rest[0])
    for one in tried if found.wall.stands else ():
        if one.holds:
            yield Finding(about="wall", state="ok", text=f"Holds: {one.promise.says}")
        else:
            text = f"Does not hold: {one.promise.says} {one.promise.advice}"
            yield Finding(about="wall", state="note", text=text)


def traces(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Where spans are exported to, if anywhere, and whether that can work."""
    from holdfast.telemetry.otlp import address_of, check, is_wanted, wants_content

    if not is_wanted(environ):
        return
    try:
        check(environ)
    except HoldfastError as error:
        yield Finding(about="traces", state="broken", text=f"Not exported. {error.text}")
        return
    host, port = address_of(environ)
    said = "with what was said" if wants_content(environ) else "without what was said"
    try:
        with socket.create_connection((host, port), timeout=_RECEIVER_SECONDS):
            pass
    except OSError as error:
        why = error.strerror or str(error)
        text = f"Nobody answers at {host}:{port} ({why}). Start the receiver; chats work without it."
        yield Finding(about="traces", state="note", text=text)
        return
    yield Finding(about="traces", state="ok", text=f"Exported to {host}:{port}, {said}.")


def templates(config: "Config") -> Iterator[Finding]:
    """Whether the templates below each configured root can be read. Addresses are not fetched here."""
    from holdfast.tools.templates.catalogue import problems_of_root, templates_in
    from holdfast.tools.templates.git_templates import is_git_address
    from holdfast.workspaces.places.allowed_roots import Roots

    roots = Roots(config.server.data, config.workspaces.roots)
    for root in config.templates.roots:
        if (problem := problems_of_root(root, roots)) is not None:
            yield Finding(about="templates", state="broken", text=f"{root}: {problem}")
        elif is_git_address(root):
            yield Finding(about="templates", state="ok", text=f"{root} is fetched when it is needed.")
        else:
            found = templates_in(root, roots)
            yield Finding(about="templates", state="ok", text=f"{root} has {len(found)}.")
            for bad in (one for one in found if one.error is not None):
                text = f"{bad.name} cannot be used: {bad.error}"
                yield Finding(about="templates", state="broken", text=text)


def hooks(config: "Config") -> Iterator[Finding]:
    """Whether the hooks of the configuration can run. They were read and checked with it."""
    if not config.hooks:
        return
    commands, urls = [one for one in config.hooks if one.command], [one for one in config.hooks if one.url]
    told = f"{len(commands)} commands and {len(urls)} addresses are configured."
    yield Finding(about="hooks", state="ok", text=f"{told} `holdfast hooks list` shows how they are doing.")
    for one in urls:
        if one.url.startswith("http://"):
            text = f"{one.path}: what is sent to {one.name} can be read on the way; use https."
            yield Finding(about="hooks", state="note", text=text)
    if commands and not _wall_stands(config):
        text = "Commands of hooks are not run here, because there is no wall around them."
        state: Literal["note", "broken"] = "note"
        if any(one.on_failure == "block" for one in commands):
            state, text = "broken", f"{text} Some must pass, so what they look at is refused."
        yield Finding(about="hooks", state=state, text=text)


def _wall_stands(config: "Config") -> bool:
    from holdfast.workspaces.commands.limits import CommandLimits
    from holdfast.workspaces.commands.wall_probe import probe

    with tempfile.TemporaryDirectory(prefix="doctor-") as scratch:
        limits = CommandLimits.of_machine()
        return probe(Path(scratch), cgroups=None, limits=limits, network="none").wall.stands


def _page(index: Path) -> Finding:
    if index.exists():
        return Finding(about="page", state="ok", text="Built.")
    return Finding(about="page", state="note", text="Not built: the API works, but there is no page to show.")
