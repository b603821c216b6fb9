"""The interpreter of Python scripts as machine code. What comes with the program is WebAssembly; it is
compiled once for a machine, which takes ten seconds, and kept where nobody else can write."""

import hashlib
import os
import platform
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from wasmtime import Config

BESIDE = Path(__file__).parent
INTERPRETER = BESIDE / "python.wasm"
COMPILE_SECONDS = 600


def settings() -> Config:
    """Must be the same for compiling and for running."""
    config = Config()
    config.epoch_interruption = True
    return config


class NoInterpreter(Exception):
    """The text says what to do."""


@cache
def image(kept_in: Path | None = None) -> Path:
    """The compiled interpreter: one that was made beside the program (a checkout, a container's image), else
    the one in this directory, made now if it is not there. Blocks."""
    name = f"python-{_key()}.image"
    ready = BESIDE / name
    if kept_in is None or ready.exists():
        kept_in = BESIDE
    made = kept_in / name
    if not made.exists():
        _make(made)
    return made


def _key() -> str:
    """A digest of everything that the machine code depends on."""
    if not INTERPRETER.exists():
        raise NoInterpreter(
            f"The interpreter for Python scripts is missing ({INTERPRETER}). In a checkout, `make setup` "
            "builds it."
        )
    with INTERPRETER.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    parts = (content, version("wasmtime"), sys.platform, platform.machine(), _processor())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _processor() -> str:
    """The features of the processor: machine code that was compiled on a better one may not run here."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, able = line.partition(":")
            if name.strip() in ("flags", "Features"):
                return " ".join(sorted(able.split()))
    return platform.processor()


def _make(path: Path) -> None:
    """Compiles in a separate process, which takes 400 MB for a moment. Processes that do so at the same time
    make the same file."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, half = tempfile.mkstemp(prefix="python-", suffix=".half", dir=path.parent)
    os.close(handle)
    try:
        subprocess.run(
            [sys.executable, "-m", __name__, half],
            check=True,
            capture_output=True,
            timeout=COMPILE_SECONDS,
        )
        # Not secret, and a server may run as another user than the one who installed it.
        os.chmod(half, 0o644)
        os.replace(half, path)
    except (subprocess.SubprocessError, OSError) as error:
        raise NoInterpreter(f"The interpreter for Python scripts could not be compiled: {error}.") from error
    finally:
        Path(half).unlink(missing_ok=True)


def _compile(into: str) -> None:
    from wasmtime import Engine
    from wasmtime.component import Component

    os.nice(10)
    component = Component(Engine(settings()), INTERPRETER.read_bytes())
    Path(into).write_bytes(component.serialize())


if __name__ == "__main__":
    _compile(sys.argv[1])
