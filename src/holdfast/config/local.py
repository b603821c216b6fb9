"""How programs on a server's machine find it: a file in the data directory says where the server answers,
beside the token that is valid there, and the socket for the owner of the directory. A token is only sent to
the server whose address is next to it."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from holdfast.core.shapes import Record, encode_text

ADDRESS_FILE = "server.json"
SOCKET_FILE = "admin.sock"
# The longest path that a socket address can hold, on every system.
_LONGEST = 100


class Local(Record, frozen=True, kw_only=True):
    """What a server wrote when it started. `has_socket`: without the socket it is not running."""

    url: str
    has_socket: bool

    def written(self) -> str:
        return encode_text(self)


def read_local(data: Path) -> Local | None:
    """None: no server has started with this data directory, or this user may not read it."""
    try:
        return msgspec.json.decode((data / ADDRESS_FILE).read_bytes(), type=Local)
    except (OSError, msgspec.DecodeError):
        return None


@contextmanager
def reachable(path: Path) -> Generator[str]:
    """A path for a socket address, which has few bytes for it: if the real path is too long, a short one
    through the opened directory. Raises OSError if there is none."""
    if len(os.fsencode(path)) <= _LONGEST or not sys.platform.startswith("linux"):
        yield str(path)
        return
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)
