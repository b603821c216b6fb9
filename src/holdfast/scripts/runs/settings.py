"""The settings of runs."""

from holdfast.core.shapes import Record
from holdfast.scripts.engines.limits import ScriptLimits


class RunSettings(Record, frozen=True, kw_only=True):
    # Runs of one process at once.
    max_runs: int = 3
    # Agents of one run at once, and in all.
    max_concurrency: int = 16
    max_agents: int = 1000
    # Output tokens after which a run without a budget starts no more agents; 0: no cap.
    budget: int = 0
    cpu_seconds: float = 30.0
    memory_mib: int = 128
    # The timeout of an agent, and of a whole run (0: none).
    agent_seconds: float = 1800.0
    run_seconds: float = 0.0
    # A lost hint delays by no more than this.
    poll_seconds: float = 1.0

    @property
    def limits(self) -> ScriptLimits:
        return ScriptLimits(cpu_seconds=self.cpu_seconds, memory_mib=self.memory_mib, agents=self.max_agents)
