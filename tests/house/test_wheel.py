"""The wheel: no page, no wheel; and installed alone it serves the page with everything that it loads."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
import urllib.request
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src" / "holdfast" / "page"
START_SECONDS = 120.0

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600)]


def build(source: Path, into: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(into)],
        cwd=source,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def clone(into: Path) -> Path:
    """What git has, with what is not committed yet, without anything that was built."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("tests/", "bench/")):
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, into / name)
    assert not (into / "src" / "holdfast" / "page" / "index.html").exists()
    return into


def test_without_the_page_there_is_no_wheel(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "cat", "cksum", "dirname", "find", "sort"):
        (tools / name).symlink_to(shutil.which(name) or name)
    done = build(clone(tmp_path / "clone"), tmp_path / "wheels", PATH=str(tools))
    assert done.returncode != 0
    assert "The page is not built" in done.stderr
    assert not list((tmp_path / "wheels").glob("*.whl"))


def test_an_installed_wheel_serves_the_page(tmp_path: Path) -> None:
    source = clone(tmp_path / "clone")
    shutil.copytree(PAGE, source / "src" / "holdfast" / "page")
    done = build(source, tmp_path / "wheels")
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "wheels").glob("*.whl")
    python = _environment(tmp_path / "venv")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel], check=True)
    server = subprocess.Popen(
        [python.parent / "holdfast", "serve", "--port", "0", "--data", tmp_path / "data"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        found = re.search(r"http://\S+", server.stdout.readline())
        assert found is not None
        page = _read(found[0] + "/")
        assert "<script" in page
        loaded = re.findall(r'(?:src|href)="(/[^"]+)"', page)
        assert any(path.endswith(".js") for path in loaded)
        for path in loaded:
            assert _read(found[0] + path), path
        assert "<h1" in _read(f"{found[0]}/docs/tutorial.md")
    finally:
        server.terminate()
        server.communicate(timeout=START_SECONDS)


def _environment(place: Path) -> Path:
    """A new environment with the dependencies, taken from where they are installed here, and without
    the checkout."""
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    purelib = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    # Path files in a directory that is added like this, as that of the checkout, are not read.
    (Path(purelib) / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return python


def _read(url: str) -> str:
    ends = time.monotonic() + START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(url, timeout=30) as response:
                return response.read().decode("utf-8", "replace")
        except ConnectionError:
            assert time.monotonic() < ends
            time.sleep(0.05)
