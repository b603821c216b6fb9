"""What a server gets from outside, for tests to look at: templates of its roots, hooks of a repository."""

import json

from tests.e2e.server import Person, Server
from tests.e2e.workspace import Workspace, make_workspace

TEMPLATE = """\
description = "A small HTTP service in Python, with tests."
setup = ['printf %s "$TEMPLATE_TITLE" > TITLE', 'echo "set up as $TEMPLATE_WORKSPACE"']
check = "test -s TITLE"

[parameters]
type = "object"
required = ["title"]

[parameters.properties.title]
type = "string"
description = "What the service is called."

[parameters.properties.port]
type = "integer"
default = 8080

[parameters.properties.database]
type = "string"
enum = ["sqlite", "postgres"]
default = "sqlite"

[[services]]
name = "web"
command = "sleep 600"
"""
# Writes of one file are refused, with a reason.
GUARD = """\
grep -q '"file_path":"[^"]*/secret.txt"' && { echo "This file is not for agents." >&2; exit 2; }
exit 0
"""
HANDLER = {"type": "command", "command": 'sh "$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh', "timeout": 20}
HOOKS = {
    "PreToolUse": [{"matcher": "Write", "hooks": [HANDLER]}],
    "SessionStart": [{"hooks": [{"type": "command", "command": "echo hello"}]}],
}


def bring_templates(server: Server) -> None:
    """One that asks for something and runs commands, one of files alone, one that is broken."""
    for name, definition in {
        "python-service": TEMPLATE,
        "plain-notes": 'description = "Only files."\n',
        "broken": "description = ",
    }.items():
        directory = server.templates / name
        directory.mkdir(exist_ok=True)
        (directory / "README.md").write_text(f"# {name}\n")
        (directory / "template.toml").write_text(definition)


def guarded_workspace(person: Person) -> Workspace:
    """With a hook that refuses, trusted."""
    workspace = make_workspace(
        person,
        {".claude/settings.json": json.dumps({"hooks": HOOKS}), ".claude/hooks/guard.sh": GUARD},
    )
    trust(person, workspace)
    return workspace


def trust(person: Person, workspace: Workspace) -> None:
    brought = person.get(f"workspaces/{workspace.id}/trust")["items"]
    items = [{"path": item["path"], "hash": item["hash"]} for item in brought]
    person.post(f"workspaces/{workspace.id}/trust", {"items": items, "decision": "trust"})
