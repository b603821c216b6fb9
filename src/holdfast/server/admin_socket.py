"""Access for the owner of the data directory: the socket `admin.sock` in it, accessible only to its owner,
and never visible to commands behind the wall. Next to it is the server's address, for programs on this
machine. What a killed server left is replaced; if two servers use one data directory, the first has the
socket."""

import asyncio
import errno
import fcntl
import os
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import structlog
from litestar.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override

from holdfast.accounts.private_files import replace_private
from holdfast.api.local_requests import BY_SOCKET
from holdfast.config.local import ADDRESS_FILE, SOCKET_FILE, Local, reachable
from holdfast.server.protocol import LimitedProtocol
from holdfast.store.directory import unusable

log = structlog.get_logger(__name__)

_LOCK_FILE = f"{SOCKET_FILE}.lock"
_CREDENTIALS = struct.Struct("3i")


@dataclass(frozen=True)
class LocalWay:
    """`listening` None: this system, or the file system of the data directory, has no sockets."""

    data: Path
    listening: socket.socket | None
    lock: int

    def close(self) -> None:
        if self.listening is not None:
            self.listening.close()
            with suppress(OSError):
                (self.data / SOCKET_FILE).unlink()
        os.close(self.lock)


def open_way(data: Path, address: str) -> LocalWay | None:
    """None: another server has this data directory. Blocking. Raises DirectoryUnusable."""
    try:
        lock = os.open(data / _LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise unusable(data, error) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        log.warning("another server has this data directory, and the socket for admins", data=str(data))
        return None
    listening = _listen(data)
    replace_private(data / ADDRESS_FILE, Local(url=address, has_socket=listening is not None).written())
    return LocalWay(data, listening, lock)


def _listen(data: Path) -> socket.socket | None:
    """Under a temporary name first, so that nobody finds it before it is closed to others."""
    name, new = data / SOCKET_FILE, data / f"{SOCKET_FILE}.new"
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        new.unlink(missing_ok=True)
        with reachable(new) as path:
            listening.bind(path)
        new.chmod(0o600)
        new.replace(name)
        listening.listen(128)
    except OSError as error:
        listening.close()
        with suppress(OSError):
            name.unlink()
        log.warning(
            "there is no socket for admins: what needs one is done by an admin who signed in",
            path=str(name),
            reason=error.strerror or str(error),
        )
        return None
    listening.setblocking(False)
    return listening


class BySocket:
    """The application, for requests on the socket."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            cast(Any, scope).setdefault("state", {})[BY_SOCKET] = True
        await self._app(scope, receive, send)


class SocketProtocol(LimitedProtocol):
    """Admits the user that the server runs as, and root. The file's mode says the same, but a directory may
    be shared, and a descriptor passed on."""

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        uid = peer_uid(transport)
        if uid is not None and uid not in (os.geteuid(), 0):
            log.warning("another user tried the socket for admins", uid=uid)
            transport.abort()


def peer_uid(transport: asyncio.Transport) -> int | None:
    """None: this system does not tell."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    try:
        # uvloop's own has no options.
        with socket.fromfd(
            transport.get_extra_info("socket").fileno(), socket.AF_UNIX, socket.SOCK_STREAM
        ) as own:
            return _CREDENTIALS.unpack(own.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))[1]
    except OSError as error:
        # Already gone; whoever it was is not admitted.
        return -1 if error.errno != errno.ENOPROTOOPT else None
