"""One attempt at a step: the answer that is being received, for the commit, or for an interrupt that comes
first and keeps what there is of it."""

from datetime import datetime

from holdfast.chats.commands import NewStep
from holdfast.core.clock import Stopwatch
from holdfast.core.events import Episode
from holdfast.providers.assemble import Assembler
from holdfast.providers.registry import Model


class Attempt:
    def __init__(
        self, episode: Episode, step: NewStep, assembler: Assembler, model: Model, watch: Stopwatch
    ) -> None:
        self.episode = episode
        self.step = step
        self.assembler = assembler
        self.model = model
        self.watch = watch
        self.first_part_at: datetime | None = None
        self.first_part_seconds = 0.0
