"""`holdfast skill`: what agents can read up on in a workspace."""

import os
from typing import TYPE_CHECKING

import typer

from holdfast.cli.options import AsJson, Url, WorkspaceName, print_json, with_server
from holdfast.cli.safe_text import neutral_line
from holdfast.core.errors import WrongUsage
from holdfast.core.shapes import Record

if TYPE_CHECKING:
    from holdfast.cli.client import Client

app = typer.Typer(help="List the skills that agents find in a workspace.", no_args_is_help=True)


class SkillRow(Record, frozen=True, kw_only=True):
    name: str
    description: str
    folder: str
    place: str = "workspace"


@app.command("list")
def list_skills(workspace: WorkspaceName = None, as_json: AsJson = False, url: Url = None) -> None:
    """List the skills in a workspace. Default: the one in the current directory."""

    async def listed(client: "Client") -> list[SkillRow]:
        from holdfast.cli.workspace_choice import choose

        place = await choose(client, workspace, os.environ, None)
        if place.workspace_id is None:
            raise WrongUsage("The current directory is not a workspace. Name one with -w.")
        where = {"workspace_id": place.workspace_id}
        return [skill async for skill in client.every("/skills", SkillRow, where)]

    skills = with_server(url, listed)
    if as_json:
        print_json(skills)
        return
    from holdfast.cli.tables import print_table

    if skills:
        print_table(
            ("name", "place", "description"),
            [
                (neutral_line(skill.name, 100), skill.place, neutral_line(skill.description, 500))
                for skill in skills
            ],
        )
    else:
        print(
            "No skills. Agents find them in .agents/skills/NAME/SKILL.md of the workspace and of your "
            "home directory."
        )
