"""The files of deploy/, as far as they can be checked without an engine."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from holdfast.config.load import Flags, load
from holdfast.providers.kinds import KINDS

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
KEYS = {kind.key_variable for kind in KINDS.values() if kind.key_variable}


def compose(name: str) -> dict[str, Any]:
    return yaml.safe_load((DEPLOY / name).read_text())


def test_the_image_starts_without_any_option(tmp_path: Path) -> None:
    [block] = re.findall(r"^ENV ((?:.*\\\n)*.*)$", DOCKERFILE, re.MULTILINE)
    environ = dict(pair.split("=", 1) for pair in block.replace("\\\n", " ").split())
    assert environ["HOLDFAST_SERVER_HOST"] == "0.0.0.0"
    config = load(Flags(), {**environ, "HOME": str(tmp_path)})
    assert config.server.hosts == ("localhost",)
    assert 'CMD ["holdfast", "serve"]' in DOCKERFILE


def test_the_image_is_not_run_by_root_and_has_a_health_check() -> None:
    assert re.findall(r"^USER (\w+)$", DOCKERFILE, re.MULTILINE) == ["holdfast"]
    assert "/readyz" in DOCKERFILE.partition("HEALTHCHECK")[2]


def test_what_the_image_copies_is_there_and_not_ignored() -> None:
    ignore = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    kept = {line[1:] for line in ignore if line.startswith("!")}
    for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE):
        *sources, _ = line.split()
        for source in sources:
            assert (ROOT / source).exists(), source
            assert source in kept, source


@pytest.mark.parametrize("name", ["compose.yaml", "compose.one.yaml"])
def test_every_provider_key_is_passed(name: str) -> None:
    services = compose(name)["services"].values()
    ours = [service for service in services if service.get("image") == "holdfast"]
    assert len(ours) == (3 if name == "compose.yaml" else 1)
    for service in ours:
        assert service["environment"].keys() >= KEYS
        assert "HOLDFAST_SERVER_HOSTS" in service["environment"]
        assert service["build"]["dockerfile"] == "deploy/Dockerfile"


def test_the_documents_have_the_line_that_runs_the_image() -> None:
    text = (ROOT / "docs/guides/installing.md").read_text()
    assert "docker run" in text
    assert all(key in text for key in KEYS)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_the_unit_is_one(tmp_path: Path) -> None:
    unit = (DEPLOY / "holdfast.service").read_text()
    # The program is installed elsewhere than here.
    copy = tmp_path / "holdfast.service"
    copy.write_text(unit.replace("/opt/holdfast/bin/holdfast", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False)
    assert [line for line in done.stderr.splitlines() if "holdfast.service:" in line] == []
