"""`make setup` on machines where something is missing: one sentence that says what to do, and no traces."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What setup needs of a checkout, at a path with a space."""
    copy = tmp_path / "a checkout"
    for name in ("scripts", "requirements"):
        shutil.copytree(ROOT / name, copy / name)
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


def setup(checkout: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(checkout / "scripts" / "setup")],
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("setup: ")
    return line


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_an_interpreter_that_does_not_exist_is_named(checkout: Path) -> None:
    assert "PYTHON=/nowhere/python3 is not a Python 3.11 or newer" in sentence(
        setup(checkout, PYTHON="/nowhere/python3")
    )
    assert not (checkout / ".venv").exists()


def test_an_old_interpreter_is_named(checkout: Path, tmp_path: Path) -> None:
    old = program(tmp_path / "bin" / "python3", "exit 1")  # what the question for the version ends with
    assert "is not a Python 3.11 or newer" in sentence(setup(checkout, PYTHON=str(old)))


def test_no_interpreter_at_all(checkout: Path, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "cat", "cksum", "dirname", "rm", "sed"):
        found = shutil.which(name)
        assert found is not None
        (tools / name).symlink_to(found)
    assert "no Python 3.11 or newer was found" in sentence(setup(checkout, PATH=str(tools), PYTHON=""))


def test_a_python_without_venv(checkout: Path, tmp_path: Path) -> None:
    bare = program(
        tmp_path / "bin" / "python3",
        f'case "$2" in *ensurepip*) exit 1;; esac\nexec "{sys.executable}" "$@"',
    )
    program(tmp_path / "bin" / "id", "echo 1000")  # an ordinary user, for whom nothing may be installed
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    assert f"apt-get install {version}-venv" in sentence(setup(checkout, PYTHON=str(bare), PATH=path))


@pytest.mark.heavy
def test_a_registry_out_of_reach(checkout: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: nobody answers there
        done = setup(
            checkout,
            PYTHON=sys.executable,
            PIP_CONFIG_FILE=os.devnull,
            PIP_FIND_LINKS="",
            PIP_INDEX_URL=f"http://127.0.0.1:{closed.getsockname()[1]}/simple",
            PIP_NO_CACHE_DIR="1",
            PIP_RETRIES="1",
        )
    assert "pip cannot reach the package registry" in sentence(done)
    assert not (checkout / ".venv" / ".setup-done").exists()


@pytest.mark.heavy
def test_a_package_that_is_not_what_the_lock_says(checkout: Path) -> None:
    lock = checkout / "requirements" / "dev.lock"
    lock.write_text("iniconfig==2.0.0 --hash=sha256:" + "0" * 64 + "\n")
    wheels = checkout / "wheels"
    wheels.mkdir()
    (wheels / "iniconfig-2.0.0-py3-none-any.whl").write_bytes(b"something else")
    done = setup(
        checkout,
        PYTHON=sys.executable,
        PIP_CONFIG_FILE=os.devnull,
        PIP_FIND_LINKS=wheels.as_uri(),
        PIP_NO_INDEX="1",
        PIP_NO_CACHE_DIR="1",
    )
    assert "is not the one the lock names" in sentence(done)
