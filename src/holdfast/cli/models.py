"""`holdfast model`: which models chats may use, and whether they answer."""

import re
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import AsJson, Url, print_json, with_server
from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.shapes import Json, Record

if TYPE_CHECKING:
    from holdfast.cli.client import Client

app = typer.Typer(help="List, configure and test models.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The model's configured name.")]


class ModelRow(Record, frozen=True, kw_only=True):
    name: str
    provider: str
    model: str
    context_limit: int | None = None
    inputs: tuple[str, ...] = ()
    efforts: tuple[str, ...] = ()
    tools: bool = True
    default: bool = False


class Price(Record, frozen=True, kw_only=True):
    """Of a million tokens."""

    input_usd_micros: int
    output_usd_micros: int


class Offered(Record, frozen=True, kw_only=True):
    """A model that a provider has."""

    model: str
    title: str | None = None
    context_limit: int | None = None
    inputs: tuple[str, ...] = ()
    efforts: tuple[str, ...] = ()
    tools: bool | None = None
    price: Price | None = None
    configured_as: tuple[str, ...] = ()


class TrialAnswer(Record, frozen=True, kw_only=True):
    ok: bool
    message: str


@app.command("list")
def list_models(as_json: AsJson = False, url: Url = None) -> None:
    """List the models that chats can use. The default is used when none is chosen."""

    async def listed(client: "Client") -> list[ModelRow]:
        return [model async for model in client.every("/models", ModelRow)]

    models = with_server(url, listed)
    if as_json:
        print_json(models)
        return
    from holdfast.cli.safe_text import neutral_line
    from holdfast.cli.tables import print_table
    from holdfast.cli.wording import amount

    print_table(
        ("name", "provider", "context", "efforts", "tools", "default", "model"),
        [
            (
                model.name,
                model.provider,
                amount(model.context_limit) if model.context_limit else "?",
                " ".join(model.efforts) or "-",
                "yes" if model.tools else "no",
                "yes" if model.default else "-",
                neutral_line(model.model, 200),
            )
            for model in models
        ],
    )


@app.command("test")
def try_one(name: Name, as_json: AsJson = False, url: Url = None) -> None:
    """Send one short message to a model. Exit code 1 if it fails."""

    async def tried(client: "Client") -> dict[str, TrialAnswer]:
        return {name: await try_model(client, name)}

    show_trials(with_server(url, tried), as_json=as_json)


@app.command("set")
def put(
    name: Name,
    provider: Annotated[str, typer.Option(help="Its provider, by name.")],
    model: Annotated[str, typer.Option(help="The provider's name for the model.")],
    context_limit: Annotated[
        int | None, typer.Option(min=1, help="Context size in tokens, if the provider does not report it.")
    ] = None,
    max_output: Annotated[int | None, typer.Option(min=1, help="Maximum tokens per answer.")] = None,
    tools: Annotated[bool, typer.Option(help="Whether it can call tools.")] = True,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Add a model, or replace its settings. One with the same name in the configuration file wins."""
    body: dict[str, Json] = {
        "provider": provider,
        "model": model,
        "context_limit": context_limit,
        "tools": tools,
    }
    if max_output is not None:
        body["max_output"] = max_output

    async def kept(client: "Client") -> ModelRow:
        return await client.request("PUT", f"/model-configs/{name}", ModelRow, body=body)

    answer = with_server(url, kept)
    print_json(answer) if as_json else print(f"Saved. Try it with `holdfast model test {answer.name}`.")


@app.command("default")
def choose_default(
    name: Annotated[str | None, typer.Argument(help="The model's configured name.")] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Clear the choice.")] = False,
    url: Url = None,
) -> None:
    """Set the default model. Without a name, print it."""
    if name is not None and clear:
        raise WrongUsage("Use a name or --clear, not both.")

    async def chosen(client: "Client") -> ModelRow | None:
        if name is not None or clear:
            await client.request("PUT", "/models/default", type(None), body={"name": name})
        return next(
            (model for model in [one async for one in client.every("/models", ModelRow)] if model.default),
            None,
        )

    model = with_server(url, chosen)
    print("No model is configured." if model is None else f"The default model is {model.name}.")


@app.command()
def discover(
    provider: Annotated[str | None, typer.Argument(help="Only this provider.")] = None,
    matching: Annotated[str, typer.Option("--match", help="Only models whose id contains this.")] = "",
    add: Annotated[str | None, typer.Option(help="Add this model.")] = None,
    as_name: Annotated[str | None, typer.Option("--as", help="Name for the added model.")] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """List the models that providers offer, and add one. On a terminal you can pick from the list."""
    if add is not None and provider is None:
        raise WrongUsage("Name the provider, too: `holdfast model discover PROVIDER --add MODEL`.")
    if as_name is not None and add is None:
        raise WrongUsage("--as needs --add.")

    async def offered(client: "Client") -> dict[str, list[Offered]]:
        named = [provider] if provider else [one.name async for one in client.every("/providers", _Named)]
        return {name: await _offered(client, name, matching) for name in named}

    found = with_server(url, offered)
    if add is not None and provider is not None:
        if add not in {model.model for model in found[provider]}:
            raise NotFound(f"{provider} has no model {add}; `holdfast model discover {provider}` lists them.")
    elif as_json:
        print_json(found)
        return
    else:
        rows = [(name, model) for name, models in found.items() for model in models]
        _print_offered(rows)
        chosen = _choose(rows)
        if chosen is None:
            return
        provider, add = chosen
    name = as_name or config_name(add)

    async def kept(client: "Client") -> ModelRow:
        body: dict[str, Json] = {"provider": provider, "model": add}
        return await client.request("PUT", f"/model-configs/{name}", ModelRow, body=body)

    answer = with_server(url, kept)
    print_json(answer) if as_json else print(
        f"Added as {answer.name}. Try it with `holdfast model test {answer.name}`, "
        f"use it with `holdfast chat --model {answer.name}`."
    )


@app.command()
def remove(name: Name, url: Url = None) -> None:
    """Remove a model. Chats that chose it continue with the default."""

    async def removed(client: "Client") -> None:
        await client.request("DELETE", f"/model-configs/{name}", type(None))

    with_server(url, removed)
    print("Removed.")


async def try_model(client: "Client", name: str) -> TrialAnswer:
    return await client.post(f"/model-configs/{name}/test", TrialAnswer)


def show_trials(trials: dict[str, TrialAnswer], *, as_json: bool) -> None:
    from holdfast.cli.safe_text import neutral_line

    if as_json:
        print_json(trials)
    else:
        for name, trial in trials.items():
            print(f"{name}: {'answers' if trial.ok else 'FAILED'}: {neutral_line(trial.message, 500)}")
    if not all(trial.ok for trial in trials.values()):
        raise typer.Exit(1)


class _Named(Record, frozen=True, kw_only=True):
    name: str


async def _offered(client: "Client", provider: str, matching: str) -> list[Offered]:
    return [
        model
        async for model in client.every(f"/providers/{provider}/models", Offered)
        if matching.lower() in model.model.lower()
    ]


def config_name(model: str) -> str:
    """A name that is easily typed: the last part of the model's id, with the characters that names have."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", model.rpartition("/")[2]).strip("-._")[:64] or "model"


def _print_offered(rows: list[tuple[str, Offered]]) -> None:
    from holdfast.cli.safe_text import neutral_line
    from holdfast.cli.tables import print_table
    from holdfast.cli.wording import amount

    tools = {True: "yes", False: "no", None: "?"}
    print_table(
        ("", "provider", "context", "inputs", "tools", "$ in/out", "here as", "model"),
        [
            (
                str(number),
                provider,
                amount(model.context_limit) if model.context_limit else "?",
                " ".join(model.inputs) or "?",
                tools[model.tools],
                _dollars(model.price) if model.price else "?",
                " ".join(model.configured_as) or "-",
                neutral_line(model.model, 200),
            )
            for number, (provider, model) in enumerate(rows, 1)
        ],
    )


def _dollars(price: Price) -> str:
    return f"{price.input_usd_micros / 1e6:g}/{price.output_usd_micros / 1e6:g}"


def _choose(rows: list[tuple[str, Offered]]) -> tuple[str, str] | None:
    """Which one to add, asked on a terminal alone."""
    if not rows or not sys.stdin.isatty() or not sys.stdout.isatty():
        return None
    try:
        typed = input(f"Which one do you want to add? (1 to {len(rows)}, empty for none) ").strip()
    except EOFError:
        return None
    if not typed:
        return None
    if not typed.isascii() or not typed.isdigit() or not 1 <= int(typed[:9]) <= len(rows):
        raise WrongUsage(f"Choose a number from 1 to {len(rows)}.")
    provider, model = rows[int(typed) - 1]
    return provider, model.model
