"""What the check of a workspace said after files were written. It is told in a notice, and is a span of the
trace."""

from datetime import datetime
from typing import Literal

from holdfast.core.shapes import Record

# The code of such a notice.
CHECK = "check"
CheckResult = Literal["passed", "failed", "timed_out"]


class Checked(Record, frozen=True, kw_only=True):
    command: str
    result: CheckResult
    exit_code: int | None
    output: str
    started_at: datetime
    finished_at: datetime

    @property
    def text(self) -> str:
        """As it is told; only what went wrong needs its output told."""
        seconds = (self.finished_at - self.started_at).total_seconds()
        match self.result:
            case "passed":
                return f"After the last changes the check `{self.command}` passed ({seconds:.1f} s)."
            case "timed_out":
                ending = f"did not end within {seconds:.0f} s"
            case "failed":
                ending = f"ended with {self.exit_code}"
        return f"After the last changes the check `{self.command}` {ending}:\n{self.output}"
