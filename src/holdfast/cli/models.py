"""`holdfast model`: which models chats may use, and whether they answer."""

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import AsJson, Url, print_json, with_server
from holdfast.core.shapes import Record

if TYPE_CHECKING:
    from holdfast.cli.client import Client

app = typer.Typer(help="List, configure and test models.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The model's configured name.")]


class Model(Record, frozen=True, kw_only=True):
    name: str
    provider: str
    model: str
    context_limit: int | None = None
    inputs: tuple[str, ...] = ()
    efforts: tuple[str, ...] = ()
    default: bool = False


class Trial(Record, frozen=True, kw_only=True):
    ok: bool
    message: str


@app.command("list")
def list_models(as_json: AsJson = False, url: Url = None) -> None:
    """List the models that chats may use; the default is taken when none is named."""

    async def listed(client: "Client") -> list[Model]:
        return [model async for model in client.every("/models", Model)]

    models = with_server(url, listed)
    if as_json:
        print_json(models)
        return
    from holdfast.cli.neutral import neutral_line
    from holdfast.cli.tables import print_table
    from holdfast.cli.wording import amount

    print_table(
        ("name", "provider", "context", "efforts", "default", "model"),
        [
            (
                model.name,
                model.provider,
                amount(model.context_limit) if model.context_limit else "?",
                " ".join(model.efforts) or "-",
                "yes" if model.default else "-",
                neutral_line(model.model, 200),
            )
            for model in models
        ],
    )


@app.command("test")
def try_one(name: Name, as_json: AsJson = False, url: Url = None) -> None:
    """Call a model with one short message. Exit code 1 if it does not answer."""

    async def tried(client: "Client") -> dict[str, Trial]:
        return {name: await try_model(client, name)}

    show_trials(with_server(url, tried), as_json=as_json)


@app.command("set")
def put(
    name: Name,
    provider: Annotated[str, typer.Option(help="The provider that has it, by its configured name.")],
    model: Annotated[str, typer.Option(help="What the provider calls it.")],
    context_limit: Annotated[
        int | None, typer.Option(min=1, help="Tokens it can read, when the provider does not tell.")
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Keep a model's configuration in the database, or replace it. One of the configuration file hides it."""
    body = {"provider": provider, "model": model, "context_limit": context_limit}

    async def kept(client: "Client") -> Model:
        return await client.request("PUT", f"/model-configs/{name}", Model, body=body)

    answer = with_server(url, kept)
    print_json(answer) if as_json else print(f"Kept. `holdfast model test {answer.name}` tries it.")


@app.command()
def remove(name: Name, url: Url = None) -> None:
    """Remove a model's configuration from the database. Chats that chose it go on with the default."""

    async def removed(client: "Client") -> None:
        await client.request("DELETE", f"/model-configs/{name}", type(None))

    with_server(url, removed)
    print("Removed.")


async def try_model(client: "Client", name: str) -> Trial:
    return await client.post(f"/model-configs/{name}/test", Trial)


def show_trials(trials: dict[str, Trial], *, as_json: bool) -> None:
    from holdfast.cli.neutral import neutral_line

    if as_json:
        print_json(trials)
    else:
        for name, trial in trials.items():
            print(f"{name}: {'answers' if trial.ok else 'FAILED'}: {neutral_line(trial.message, 500)}")
    if not all(trial.ok for trial in trials.values()):
        raise typer.Exit(1)
