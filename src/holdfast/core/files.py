"""Files that people and agents put into chats. Contents are addressed by their hash."""

from datetime import datetime

from holdfast.core.ids import FileId, UserId
from holdfast.core.parts import File
from holdfast.core.shapes import Record


class StoredFile(Record, frozen=True, kw_only=True):
    id: FileId
    owner_id: UserId
    name: str
    media_type: str
    size: int
    # SHA-256 of the content, in hexadecimal.
    hash: str
    created_at: datetime

    @property
    def is_picture(self) -> bool:
        return self.media_type.startswith("image/")

    @property
    def part(self) -> File:
        return File(file_id=self.id, media_type=self.media_type, name=self.name, size=self.size)
