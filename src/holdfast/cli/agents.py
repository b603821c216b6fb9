"""`holdfast agent`: named agents, which are instructions, a model and tools under a name."""

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.files import text_or_file
from holdfast.cli.options import AsJson, Url, print_json, with_server
from holdfast.cli.safe_text import neutral, neutral_line
from holdfast.core.accounts import NamedAgent
from holdfast.core.errors import NotFound
from holdfast.core.shapes import Json

if TYPE_CHECKING:
    from holdfast.cli.client import Client

app = typer.Typer(help="List, show, create and remove named agents.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The agent's name.")]


@app.command("list")
def list_agents(as_json: AsJson = False, url: Url = None) -> None:
    """List your named agents and those that others shared."""

    async def listed(client: "Client") -> list[NamedAgent]:
        return [agent async for agent in client.every("/agents", NamedAgent)]

    agents = with_server(url, listed)
    if as_json:
        print_json(agents)
        return
    from holdfast.cli.tables import print_table

    if not agents:
        print("No named agents yet. `holdfast agent set NAME --instructions @FILE` creates one.")
        return
    print_table(
        ("name", "model", "effort", "tools", "published", "description"),
        [
            (
                neutral_line(agent.name, 64),
                neutral_line(agent.model or "-", 64),
                neutral_line(agent.effort or "-", 20),
                "all" if agent.tools is None else str(len(agent.tools)),
                "yes" if agent.published else "-",
                neutral_line(agent.description, 300),
            )
            for agent in agents
        ],
    )


@app.command()
def show(name: Name, as_json: AsJson = False, url: Url = None) -> None:
    """Show a named agent with its instructions."""
    agent = with_server(url, lambda client: find_agent(client, name))
    if as_json:
        print_json(agent)
        return
    tools = "all" if agent.tools is None else ", ".join(agent.tools) or "none"
    print(f"{neutral_line(agent.name, 64)}: {neutral_line(agent.description, 2000) or 'no description'}")
    print(f"model {agent.model or 'default'} · effort {agent.effort or 'default'} · tools {tools}")
    print(f"\n{neutral(agent.instructions) or '(no instructions)'}")


@app.command("set")
def put(
    name: Name,
    instructions: Annotated[
        str | None,
        typer.Option("--instructions", "-i", help="Its instructions; `@FILE` reads them from a file."),
    ] = None,
    description: Annotated[
        str | None, typer.Option(help="What it is good at. Other agents choose by this text.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", "-m", help="Model, by its configured name.")] = None,
    effort: Annotated[str | None, typer.Option("--effort", "-e", help="Reasoning effort.")] = None,
    tools: Annotated[
        list[str] | None, typer.Option("--tool", help="A tool it may use. Can be repeated. Default: all.")
    ] = None,
    publish: Annotated[bool | None, typer.Option(help="Share it with everyone on the server.")] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Create or change a named agent. Options you leave out keep their value."""
    chosen: dict[str, Json] = {
        "instructions": None if instructions is None else text_or_file(instructions),
        "description": description,
        "model": model,
        "effort": effort,
        "tools": tools or None,
        "published": publish,
    }
    body = {field: value for field, value in chosen.items() if value is not None}

    async def kept(client: "Client") -> NamedAgent:
        async for agent in client.every("/agents", NamedAgent):
            if agent.name == name:
                return await client.request("PATCH", f"/agents/{agent.id}", NamedAgent, body=body)
        return await client.post("/agents", NamedAgent, {"name": name, **body})

    agent = with_server(url, kept)
    print_json(agent) if as_json else print(f'Saved. Use it with `holdfast run --agent "{agent.name}"`.')


@app.command()
def remove(name: Name, url: Url = None) -> None:
    """Remove a named agent. Its chats continue without it."""

    async def removed(client: "Client") -> None:
        agent = await find_agent(client, name)
        await client.request("DELETE", f"/agents/{agent.id}", type(None))

    with_server(url, removed)
    print("Removed.")


async def find_agent(client: "Client", name: str) -> NamedAgent:
    async for agent in client.every("/agents", NamedAgent):
        if name in (agent.name, agent.id):
            return agent
    raise NotFound(f"There is no agent {name!r}; `holdfast agent list` lists them.")
