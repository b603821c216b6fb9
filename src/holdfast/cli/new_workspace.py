"""Making a workspace from a template: parameters as words, what it runs shown before it is trusted, and its
output while it is made."""

import asyncio
import sys
from collections.abc import Sequence
from typing import cast

import msgspec
import typer

from holdfast.cli.client import Client
from holdfast.cli.safe_text import neutral, neutral_line
from holdfast.cli.tables import print_table
from holdfast.cli.workspace_choice import WorkspaceRow
from holdfast.core.errors import Refused, WrongUsage
from holdfast.core.shapes import Json, Record

_LOOK_SECONDS = 0.3


class BackgroundRow(Record, frozen=True, kw_only=True):
    name: str
    command: str


class TemplateRow(Record, frozen=True, kw_only=True):
    name: str
    description: str = ""
    parameters: dict[str, Json] = {}  # noqa: RUF012 - msgspec copies it
    setup: str = ""
    check: str = ""
    services: tuple[BackgroundRow, ...] = ()
    address: str | None = None
    hash: str | None = None
    state: str = ""
    error: str | None = None

    @property
    def runs(self) -> str:
        """All its commands, as a person reads them."""
        services = "\n".join(f"{one.command}  # service {one.name}" for one in self.services)
        return "\n".join(part for part in (self.setup, self.check, services) if part)


class TemplateRows(Record, frozen=True, kw_only=True):
    items: tuple[TemplateRow, ...]


class BuildRow(Record, frozen=True, kw_only=True):
    id: str
    state: str
    workspace_id: str | None = None
    error: str | None = None
    output: str | None = None


def show_templates(found: Sequence[TemplateRow]) -> None:
    if not found:
        print("No templates. `[templates] roots` in the configuration says where they are.")
        return
    rows = [
        (neutral_line(one.name, 100), one.state, neutral_line(one.error or one.description, 200))
        for one in found
    ]
    print_table(("name", "state", "about"), rows)


async def build(
    client: Client,
    word: str,
    template: TemplateRow,
    name: str | None,
    words: Sequence[str],
    yes: bool,
    quiet: bool,
) -> WorkspaceRow:
    """Waits until the workspace is there. Raises Refused with the reason if it could not be made."""
    body: dict[str, Json] = {"template": word, "parameters": parameters_of(template, words)}
    if name is not None:
        body["name"] = name
    if template.runs and template.state != "trusted":
        print(f"{neutral_line(word, 300)} runs these commands in the new workspace:\n", file=sys.stderr)
        print(f"{neutral(template.runs)}\n", file=sys.stderr)
        if not yes and not typer.confirm("Trust exactly this content?", err=True):
            raise typer.Exit(1)
        trust: dict[str, Json] = {"template": word, "hash": template.hash, "decision": "trust"}
        await client.post("/templates/trust", type(None), trust)
    made = await client.post("/workspace-builds", BuildRow, body)
    shown = ""
    while made.state == "building":
        await asyncio.sleep(_LOOK_SECONDS)
        made = await client.get(f"/workspace-builds/{made.id}", BuildRow)
        if made.output and not quiet:
            shown = _print_more(shown, made.output)
    if made.workspace_id is None:
        raise Refused(made.error or "No workspace was made.")
    return await client.get(f"/workspaces/{made.workspace_id}", WorkspaceRow)


def parameters_of(template: TemplateRow, words: Sequence[str]) -> dict[str, Json]:
    """As their types in the schema say; what is no text is read as JSON."""
    properties = template.parameters.get("properties")
    known = cast(dict[str, Json], properties) if isinstance(properties, dict) else {}
    found: dict[str, Json] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not key or not equals:
            raise WrongUsage(f"A parameter is given as NAME=VALUE, not {word[:100]!r}.")
        described = known.get(key)
        kind = cast(dict[str, Json], described).get("type") if isinstance(described, dict) else None
        found[key] = value if kind == "string" else _read(value)
    return found


def _read(value: str) -> Json:
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value


def _print_more(before: str, now: str) -> str:
    """Only what is new; the server gives the end of a long output."""
    new = now.removeprefix(before)
    sys.stderr.write(neutral(new))
    sys.stderr.flush()
    return now
