"""The wall's promises as this machine keeps them, and the table of them in the guide."""

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import cast

from holdfast.workspaces.commands.cgroups import Cgroups
from holdfast.workspaces.commands.limits import CommandLimits
from holdfast.workspaces.commands.wall import Kind
from holdfast.workspaces.commands.wall_probe import probe
from holdfast.workspaces.commands.wall_promises import PROMISES, try_all
from tests.workspaces.serving import ROOT, STRANGER, strangers_environment, strangers_python

GUIDE = ROOT / "docs" / "guides" / "security.md"
KINDS: tuple[Kind, ...] = ("bubblewrap", "unshare")
BEGIN, END = "<!-- promises -->\n", "<!-- /promises -->"
# What hangs on the machine's set-up, not on the wall.
DEPENDS = {"memory"}

# By who runs the server and what makes the wall: by promise, whether it holds.
Measured = dict[tuple[str, Kind], dict[str, bool]]


def tried_here(directory: Path, kind: Kind) -> dict[str, bool] | None:
    """As this user; None: there is no such wall."""
    limits = CommandLimits()
    cgroups = Cgroups.find(directory)
    try:
        found = probe(directory, cgroups=cgroups, limits=limits, kinds=(kind,), network="internet")
        if found.wall.kind != kind:
            return None
        tried = try_all(directory, found, limits=limits, grouped=cgroups is not None)
    finally:
        if cgroups is not None:
            cgroups.close()
    return {one.promise.name: one.holds for one in tried}


def tried_by_another(kind: Kind) -> dict[str, bool] | None:
    directory = Path(tempfile.mkdtemp(prefix=f"holdfast-{secrets.token_hex(4)}-"))
    try:
        os.chown(directory, STRANGER, STRANGER)
        done = subprocess.run(
            [strangers_python(), "-m", "tests.security.promised", str(directory), kind],
            cwd=ROOT,
            env=strangers_environment(),
            user=STRANGER,
            group=STRANGER,
            extra_groups=[],
            capture_output=True,
            check=True,
        )
    finally:
        shutil.rmtree(directory)
    return json.loads(done.stdout)


def measured() -> Measured:
    found: Measured = {}
    me = "root" if os.geteuid() == 0 else "other user"
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as name:
            if (tried := tried_here(Path(name).resolve(), kind)) is not None:
                found[me, kind] = tried
        if me == "root" and (tried := tried_by_another(kind)) is not None:
            found["other user", kind] = tried
    return found


def with_table(text: str, found: Measured) -> str:
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table(found)}{END}{after}"


def table(found: Measured) -> str:
    columns: list[tuple[str, Kind]] = [(who, kind) for who in ("root", "other user") for kind in KINDS]
    heads = " | ".join(f"{who}, {kind}" for who, kind in columns)
    lines = [f"| promise | {heads} |", f"|---|{'---|' * len(columns)}"]
    for promise in PROMISES:
        cells = " | ".join(_cell(promise.name, found.get(column)) for column in columns)
        lines.append(f"| {promise.says} | {cells} |")
    return "".join(f"{line}\n" for line in lines)


def _cell(name: str, tried: dict[str, bool] | None) -> str:
    if name in DEPENDS:
        return "depends"
    if tried is None:
        return "not tried"
    return "holds" if tried[name] else "**does not hold**"


if __name__ == "__main__":
    print(json.dumps(tried_here(Path(sys.argv[1]).resolve(), cast(Kind, sys.argv[2]))))
