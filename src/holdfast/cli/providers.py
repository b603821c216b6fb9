"""`holdfast provider`: where models come from. A key is typed unseen, read from standard input or from a
variable; never from the command line, which others on the machine can read."""

import os
import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from holdfast.cli.models import ModelRow, TrialAnswer, show_trials, try_model
from holdfast.cli.options import AsJson, Url, print_json, with_server
from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.shapes import Record

if TYPE_CHECKING:
    from holdfast.cli.client import Client

app = typer.Typer(help="List, configure and test providers (for admins).", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The provider's configured name.")]


class Provider(Record, frozen=True, kw_only=True):
    name: str
    kind: str
    base_url: str | None
    api: str
    has_key: bool
    enabled: bool
    origin: str


@app.command("list")
def list_providers(as_json: AsJson = False, url: Url = None) -> None:
    """List the providers, and where each is configured."""

    async def listed(client: "Client") -> list[Provider]:
        return [provider async for provider in client.every("/providers", Provider)]

    providers = with_server(url, listed)
    if as_json:
        print_json(providers)
        return
    from holdfast.cli.safe_text import neutral_line
    from holdfast.cli.tables import print_table

    print_table(
        ("name", "kind", "key", "state", "configured in", "address"),
        [
            (
                provider.name,
                provider.kind,
                "yes" if provider.has_key else "no",
                "enabled" if provider.enabled else "disabled",
                provider.origin,
                neutral_line(provider.base_url or "(its usual one)", 200),
            )
            for provider in providers
        ],
    )


@app.command("set")
def put(
    name: Name,
    kind: Annotated[str, typer.Option(help="anthropic, openai, deepseek, openrouter, ollama, ...")],
    base_url: Annotated[
        str | None, typer.Option(help="Its address, if not the usual one of its kind.")
    ] = None,
    api: Annotated[
        Literal["chat", "responses"], typer.Option(help="Which API to speak, for openai.")
    ] = "chat",
    key_variable: Annotated[
        str | None, typer.Option("--key-env", help="The environment variable to read the key from.")
    ] = None,
    key_stdin: Annotated[bool, typer.Option("--key-stdin", help="Read the key from standard input.")] = False,
    disabled: Annotated[bool, typer.Option("--disabled", help="Keep it without using it.")] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Keep a provider in the database, or replace it. On a terminal the key is asked for; where none is
    given, the one that is stored stays."""
    body = {
        "kind": kind,
        "base_url": base_url,
        "api": api,
        "api_key": _read_key(key_variable, key_stdin),
        "enabled": not disabled,
    }

    async def kept(client: "Client") -> Provider:
        return await client.request("PUT", f"/providers/{name}", Provider, body=body)

    answer = with_server(url, kept)
    print_json(answer) if as_json else print(f"Kept. `holdfast provider test {answer.name}` tries it.")


@app.command()
def remove(name: Name, url: Url = None) -> None:
    """Remove a provider and its key from the database."""

    async def removed(client: "Client") -> None:
        await client.request("DELETE", f"/providers/{name}", type(None))

    with_server(url, removed)
    print("Removed.")


@app.command("test")
def try_provider(name: Name, as_json: AsJson = False, url: Url = None) -> None:
    """Call each model of a provider with one short message. Exit code 1 if one does not answer."""

    async def tried(client: "Client") -> dict[str, TrialAnswer]:
        models = [model async for model in client.every("/models", ModelRow) if model.provider == name]
        if not models:
            raise NotFound(f"No model uses a provider {name!r}; `holdfast model list` lists them.")
        return {model.name: await try_model(client, model.name) for model in models}

    show_trials(with_server(url, tried), as_json=as_json)


def _read_key(variable: str | None, from_stdin: bool) -> str | None:
    if variable is not None and from_stdin:
        raise WrongUsage("Choose one of --key-env and --key-stdin.")
    if variable is not None:
        key = os.environ.get(variable, "").strip()
        if not key:
            raise WrongUsage(f"The environment variable {variable} is not set.")
        return key
    if from_stdin:
        key = sys.stdin.readline().strip()
        if not key:
            raise WrongUsage("There is no key on standard input.")
        return key
    if not sys.stdin.isatty():
        return None
    from getpass import getpass

    return getpass("Key (not shown; empty keeps the stored one): ").strip() or None
