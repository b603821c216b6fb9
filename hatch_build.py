"""Building the wheel: without the page and the interpreter of Python scripts there is none. From a clean
clone they are built first, the page where there is a system Node; otherwise the build fails with a sentence
that says what to do."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    # The standard library has no `override` before 3.12.
    def initialize(  # pyright: ignore[reportImplicitOverride]
        self, version: str, build_data: dict[str, Any]
    ) -> None:
        """An editable install serves whatever is built later."""
        root = Path(self.root)
        if version == "editable":
            return
        script = root / "scripts" / "page"
        if not _is_there(root) and script.is_file():
            subprocess.run(["sh", str(script), "early"], cwd=root, check=False)
        if not _is_there(root):
            raise RuntimeError(
                "The page is not built, and a wheel without it serves nothing. Run `make setup` first, or "
                "install Node 20.19 or newer."
            )
        self._interpreter(root)

    def _interpreter(self, root: Path) -> None:
        script = root / "scripts" / "interpreter"
        if script.is_file():
            # Where this environment has its programs.
            path = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", "")))
            subprocess.run(["sh", str(script)], cwd=root, check=False, env={**os.environ, "PATH": path})
        if not (root / "src" / "holdfast" / "scripts" / "engines" / "python.wasm").is_file():
            raise RuntimeError(
                "The interpreter of Python scripts is not built. Run `make setup` first, or install "
                "componentize-py."
            )


def _is_there(root: Path) -> bool:
    return (root / "src" / "holdfast" / "page" / "index.html").is_file()
