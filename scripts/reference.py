"""Writes the reference pages that come from the code; with --check, only says which are out of date."""

import json
import sys
from pathlib import Path
from typing import cast

from reference_cli import command_line
from reference_client import client
from reference_tools import tools

from holdfast.api.app import document
from holdfast.chats.states import State
from holdfast.chats.table import TABLE
from holdfast.config.meanings import MEANINGS
from holdfast.config.sections import LISTED_SECTIONS, NAMED_SECTIONS, RELOADED, SECTIONS
from holdfast.config.values import ConfigKey, expected, keys_of
from holdfast.core.secret import Secret
from holdfast.core.shapes import Record
from holdfast.providers.kinds import KINDS

ROOT = Path(__file__).parent.parent


def transitions() -> str:
    lines = [
        "# Transitions",
        "",
        "Written from `holdfast/chats/table.py` by `make docs`. For each command: the state it is given in,",
        "and the states it may lead to. What is not listed is refused. A queue item that is not in the queue",
        "is refused in any state: `already_sent` with the message it became, or `not_found`.",
        "",
        "The states: " + ", ".join(state.value for state in State if state is not State.INVALID) + ".",
        "Anything else is invalid, and `reconcile` repairs it.",
    ]
    for command, row in TABLE.items():
        lines += ["", f"## {command}", "", "| from | to |", "|---|---|"]
        order = list(State)
        lines += [
            f"| {state.value} | {' / '.join(target.value for target in order if target in row[state])} |"
            for state in order
            if state in row
        ]
    return "\n".join(lines) + "\n"


CONFIGURATION = """\
# Configuration

Written from `holdfast/config/sections.py` by `make docs`.

A key is looked for in this order; the first place that has it wins:

1. the command line: `holdfast serve --host --port --data --database --config`;
2. the environment: `HOLDFAST_<SECTION>_<KEY>`, for example `HOLDFAST_SERVER_PORT`; for a table with a name,
   `HOLDFAST_<SECTION>_<NAME>_<KEY>`, for example `HOLDFAST_PROVIDERS_LOCAL_BASE_URL` (in capitals, and `_`
   for whatever is no letter or digit);
3. the file: the one named by `--config`, else by the variable `HOLDFAST_CONFIG`, else
   `$XDG_CONFIG_HOME/holdfast/holdfast.toml` (`~/.config/holdfast/holdfast.toml`); never one in the current
   directory, which an agent may have written;
4. the default.

**In the environment** everything is text. A flag is `true`, `yes`, `on`, `1` or `false`, `no`, `off`, `0`; a
list is separated by commas or written as JSON (`["a", "b"]`, and `[]` for an empty one); a table is JSON. A
variable that is empty counts as not set. Variables of other sections than these are left alone, unless they
are nearly one of them.

**Secrets** may be written as `env:NAME` or `file:PATH`. **Paths** may begin with `~`; what is not absolute is
below the working directory.

An unknown section or key is an error, and so is a value that does not fit: the server does not start, and
says which key in which place it is.

**While the server runs** it takes over changes of these sections, on SIGHUP and through the API:
{reloaded}.
All other keys need a restart.

**Providers and models** of the file and the environment are merged with those that admins keep in the
database; where a name is in both, the file and the environment count. A key in one of these variables
configures its provider without a file:
{variables}.
`models.default` is used when no model is named. With no provider at all the server runs on the built-in
`demo` model.
"""


def configuration() -> str:
    reloaded = ", ".join(
        f"`{name}`" for name in (*SECTIONS, "providers", "models", "mcp") if name in RELOADED
    )
    variables = ", ".join(f"`{kind.key_variable}`" for kind in KINDS.values() if kind.key_variable)
    lines = [CONFIGURATION.format(reloaded=reloaded, variables=variables)]
    for name, section in SECTIONS.items():
        lines += _table(name, f"[{name}]", section)
        if name in NAMED_SECTIONS:
            lines += _table(name, f"[{name}.<name>]", NAMED_SECTIONS[name])
    for name in (name for name in NAMED_SECTIONS if name not in SECTIONS):
        lines += _table(name, f"[{name}.<name>]", NAMED_SECTIONS[name])
    for name, section in LISTED_SECTIONS.items():
        lines += _table(name, f"[[{name}]]", section)
    return "\n".join(lines)


def _table(name: str, title: str, section: type[Record]) -> list[str]:
    rows = [
        f"| `{key.name}` | {expected(key.type)} | {_default(key)} "
        f"| {key.description or MEANINGS[f'{name}.{key.name}']} |"
        for key in keys_of(section).values()
    ]
    return [f"## `{title}`", "", "| key | takes | default | |", "|---|---|---|---|", *rows, ""]


def _default(key: ConfigKey) -> str:
    if key.required:
        return "needed"
    value = key.default.reveal() if isinstance(key.default, Secret) else key.default
    match value:
        case None | {}:
            return ""
        case bool():
            return f"`{str(value).lower()}`"
        case tuple():
            items = [f'"{item}"' for item in cast(tuple[object, ...], value)]
            return f"`[{', '.join(items)}]`"
        case int():
            return f"`{value}`"
        case float():
            return f"`{value:g}`"
        case _:
            return f'`"{value}"`'


def openapi() -> str:
    """What `/api/openapi.json` answers, to be read and compared; clients are made from it."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


def page_client() -> str:
    return client(document())


PAGES = {
    "docs/reference/transitions.md": transitions,
    "docs/reference/cli.md": command_line,
    "docs/reference/configuration.md": configuration,
    "docs/reference/openapi.json": openapi,
    "docs/reference/tools.md": tools,
    "web/src/api/schema.ts": page_client,
}


def main() -> int:
    stale = [name for name, write in PAGES.items() if _read(ROOT / name) != write()]
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"{name} is out of date; run make docs", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(PAGES[name]())
        print(f"wrote {name}")
    return 0


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
