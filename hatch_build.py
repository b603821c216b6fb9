"""Building the wheel: without the page there is none. From a clean clone it is built first where there is a
system Node; otherwise the build fails with a sentence that says what to do."""

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """An editable install serves whatever is built later."""
        root = Path(self.root)
        if version == "editable" or _is_there(root):
            return
        script = root / "scripts" / "page"
        if script.is_file():
            subprocess.run(["sh", str(script), "early"], cwd=root, check=False)
        if not _is_there(root):
            raise RuntimeError(
                "The page is not built, and a wheel without it serves nothing. Run `make setup` first, or "
                "install Node 20.19 or newer."
            )


def _is_there(root: Path) -> bool:
    return (root / "src" / "holdfast" / "page" / "index.html").is_file()
