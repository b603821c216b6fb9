"""What is attached to the next message: files, and the output of commands that were run on this machine."""

from dataclasses import dataclass, field

from holdfast.cli.files import Uploaded
from holdfast.core.shapes import Json


@dataclass(slots=True)
class Along:
    files: list[Uploaded] = field(default_factory=list[Uploaded])
    ran: list[str] = field(default_factory=list[str])

    @property
    def count(self) -> int:
        return len(self.files) + len(self.ran)

    def take(self) -> "Along":
        """All of it; nothing is left here."""
        taken = Along(self.files, self.ran)
        self.files, self.ran = [], []
        return taken

    def give_back(self, taken: "Along") -> None:
        self.files, self.ran = taken.files + self.files, taken.ran + self.ran

    def content(self, text: str) -> Json:
        """A message with this text."""
        whole = "\n\n".join((*self.ran, text))
        if not self.files:
            return whole
        parts: list[Json] = [{"type": "file", "file_id": file.id} for file in self.files]
        return [{"type": "text", "text": whole}, *parts]
