"""What one script may use and send. The server's settings decide the first few; the rest protects the
server."""

from holdfast.core.shapes import Record


class ScriptLimits(Record, frozen=True, kw_only=True):
    memory_mib: int = 128
    # Computing between two answers.
    cpu_seconds: float = 30.0
    agents: int = 1000
    workflows: int = 100
    pauses: int = 10_000
    # Functions of one parallel(), items of one pipeline().
    parallel: int = 4096
    prompt_characters: int = 1024 * 1024
    # The result, the options of a call, the arguments of a workflow: as JSON.
    value_bytes: int = 4 * 1024 * 1024
    value_depth: int = 100
    phases: int = 500
    warnings: int = 200
    log_lines: int = 2000
    log_characters: int = 4000

    @property
    def turn_seconds(self) -> float:
        """How long the server waits for a running script. Longer than the script may compute, because other
        work shares the machine; then it is killed."""
        return 2 * self.cpu_seconds + 30

    @property
    def line_bytes(self) -> int:
        """The longest line that a sandbox can have to write: everything in it escaped."""
        return 6 * max(self.prompt_characters, self.value_bytes) + 64 * 1024

    @property
    def turn_bytes(self) -> int:
        """All that a script may send before it waits."""
        return max(64 * 1024 * 1024, self.line_bytes)
