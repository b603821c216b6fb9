# pyright: reportPrivateUsage=false
"""`holdfast serve` with two faults in it: a call of `todo` with a certain item, and a script that says the
same, end the process. `MORTAL` says how."""

import faulthandler
import os
import signal
import sys
from typing import Any

from holdfast.scripts.runs.run_driver import RunDriver
from holdfast.tools import todo

DIE = "die of this"


def die() -> None:
    if os.environ["MORTAL"] == "fault":
        faulthandler._sigsegv()  # type: ignore[attr-defined]
    os.kill(os.getpid(), signal.SIGKILL)


def _disturb() -> None:
    shown, replay = todo._shown, RunDriver._replay

    def fatal(item: Any) -> Any:
        if getattr(item, "text", item) == DIE:
            die()
        return shown(item)

    async def fatal_replay(self: RunDriver) -> None:
        if DIE in self.run.script:
            die()
        await replay(self)

    todo._shown = fatal
    RunDriver._replay = fatal_replay


if __name__ == "__main__":
    _disturb()
    from holdfast.cli.start import main

    sys.exit(main())
