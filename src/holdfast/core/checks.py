"""The result of a workspace's check, which runs after files were written. It is reported in a notice and is a
span of the trace."""

from datetime import datetime
from typing import Literal

from holdfast.core.shapes import Record

# The code of that notice.
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
        """The text of the notice. Only a failed check includes its output."""
        seconds = (self.finished_at - self.started_at).total_seconds()
        match self.result:
            case "passed":
                return f"The check `{self.command}` passed after the last changes ({seconds:.1f} s)."
            case "timed_out":
                ending = f"did not end within {seconds:.0f} s"
            case "failed":
                ending = f"ended with {self.exit_code}"
        return f"The check `{self.command}` {ending} after the last changes:\n{self.output}"
