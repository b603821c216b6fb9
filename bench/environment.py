"""The peers' own environment, .venv-bench: made from requirements/bench.lock the first time, and again when
the lock or the interpreter changed."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bench.contender import PEERS_PYTHON, ROOT

PLACE = ROOT / ".venv-bench"
LOCK = ROOT / "requirements" / "bench.lock"
STAMP = PLACE / ".made-from"
LOG = PLACE / "setup.log"
SECONDS = 900


class NoPeers(Exception):
    """The peers cannot be installed; the text says why and what to do."""


def provide(say: Callable[[str], None]) -> None:
    wanted = _fingerprint()
    if STAMP.exists() and STAMP.read_text() == wanted:
        return
    say("making .venv-bench for the peers (once; a minute or two)")
    shutil.rmtree(PLACE, ignore_errors=True)
    try:
        _run([sys.executable, "-m", "venv", str(PLACE)], log=None)
        pip = (
            str(PEERS_PYTHON),
            "-m",
            "pip",
            "install",
            "--no-input",
            "--disable-pip-version-check",
            "--quiet",
        )
        _run([*pip, "--require-hashes", "-r", str(LOCK)], log=LOG)
    except OSError as error:
        raise NoPeers(f"The peers' environment could not be made: {error}.") from error
    STAMP.write_text(wanted)
    say("the peers are installed")


def _run(command: list[str], log: Path | None) -> None:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    if log is not None:
        log.write_text(done.stdout)
    if done.returncode != 0:
        last = done.stdout.strip().splitlines()[-1:] or ["nothing was said"]
        raise NoPeers(
            f"The peers could not be installed ({last[0]}). Check the network, or point pip at a mirror with "
            "PIP_INDEX_URL; until then only Holdfast and the floor are measured."
        )


def _fingerprint() -> str:
    """Of what it is made from; the place is part of it, because programs in an environment carry it."""
    made_from = f"{sys.version}\n{PLACE}\n".encode() + LOCK.read_bytes()
    return hashlib.sha256(made_from).hexdigest()
