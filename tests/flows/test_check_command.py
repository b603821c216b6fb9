"""`holdfast flow check`: for CI, without a server."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from holdfast.cli.main import app

pytestmark = pytest.mark.heavy

GOOD = "name: good\ndescription: d\nsteps:\n  - {id: a, kind: wait, for: 1s}\n"
BAD = "name: bad\ndescription: d\nsteps:\n  - {id: a, kind: wait, for: 1s, deps: [b]}\n"


def test_files_are_checked_with_line_and_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flows = tmp_path / ".holdfast" / "flows"
    flows.mkdir(parents=True)
    (flows / "good.yaml").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    ran = runner.invoke(app, ["flow", "check"])
    assert ran.exit_code == 0, ran.output
    assert "good.yaml: good, 1 step" in ran.output
    (flows / "bad.yaml").write_text(BAD)
    ran = runner.invoke(app, ["flow", "check"])
    assert ran.exit_code == 1
    assert "bad.yaml:4:41: there is no step 'b'." in ran.output
    ran = runner.invoke(app, ["flow", "check", "--json", str(flows / "bad.yaml")])
    (told,) = json.loads(ran.output)
    assert (told["line"], told["column"]) == (4, 41)
