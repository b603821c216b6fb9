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

app = typer.Typer(help="List, configure and test providers (admins only).", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The provider's name.")]


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
    """List providers and where each is configured."""

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
        str | None, typer.Option(help="Base URL. Default: the usual one for its kind.")
    ] = None,
    api: Annotated[
        Literal["chat", "responses"], typer.Option(help="Which API to use, for kind openai.")
    ] = "chat",
    key_variable: Annotated[
        str | None, typer.Option("--key-env", help="Read the key from this environment variable.")
    ] = None,
    key_stdin: Annotated[bool, typer.Option("--key-stdin", help="Read the key from standard input.")] = False,
    disabled: Annotated[bool, typer.Option("--disabled", help="Save it, but do not use it.")] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Add a provider, or replace its settings. On a terminal you are asked for the key; if you give none, the
    stored key is kept."""
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
    print_json(answer) if as_json else print(f"Saved. Try it with `holdfast provider test {answer.name}`.")


@app.command()
def remove(name: Name, url: Url = None) -> None:
    """Remove a provider and its key."""

    async def removed(client: "Client") -> None:
        await client.request("DELETE", f"/providers/{name}", type(None))

    with_server(url, removed)
    print("Removed.")


@app.command("test")
def try_provider(name: Name, as_json: AsJson = False, url: Url = None) -> None:
    """Send one short message to each model of a provider. Exit code 1 if one fails."""

    async def tried(client: "Client") -> dict[str, TrialAnswer]:
        models = [model async for model in client.every("/models", ModelRow) if model.provider == name]
        if not models:
            raise NotFound(f"No model uses a provider {name!r}; `holdfast model list` lists them.")
        return {model.name: await try_model(client, model.name) for model in models}

    show_trials(with_server(url, tried), as_json=as_json)


def _read_key(variable: str | None, from_stdin: bool) -> str | None:
    if variable is not None and from_stdin:
        raise WrongUsage("Use --key-env or --key-stdin, not both.")
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

    return getpass("API key (hidden; leave empty to keep the stored one): ").strip() or None
