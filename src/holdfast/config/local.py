"""How programs on a server's machine find it: the file in the data directory that says where the server
answers, beside the token that counts there, and the socket for who owns the directory. A token is worth
something only to the server whose address stands beside it, and is shown to no other."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from holdfast.core.shapes import Record, encode_text

ADDRESS_FILE = "server.json"
SOCKET_FILE = "admin.sock"
# The longest path that the address of a socket holds, on every system.
_LONGEST = 100


class Local(Record, frozen=True, kw_only=True):
    """What a server wrote when it started. `has_socket`: without the socket it is not running."""

    url: str
    has_socket: bool

    def written(self) -> str:
        return encode_text(self)


def read_local(data: Path) -> Local | None:
    """None: no server has started with this data directory, or it is not for this user to read."""
    try:
        return msgspec.json.decode((data / ADDRESS_FILE).read_bytes(), type=Local)
    except (OSError, msgspec.DecodeError):
        return None


@contextmanager
def reachable(path: Path) -> Generator[str]:
    """A path for the address of a socket, which has few bytes for it: where the real one is too long, a short
    one by the opened directory. Raises OSError where there is none."""
    if len(os.fsencode(path)) <= _LONGEST or not sys.platform.startswith("linux"):
        yield str(path)
        return
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)
