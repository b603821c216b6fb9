"""Shortages: the machine has no thread, process, descriptor or memory to spare. That is nobody's mistake, and
passes. Only this module tells shortages from other errors."""

import errno
from collections.abc import Generator
from contextlib import contextmanager

from holdfast.core.errors import HoldfastError, Shortage

# EAGAIN is how the system refuses another process or thread. Its other meanings are handled where they occur.
_ERRNOS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EAGAIN})
# Python's messages, with and without the underlying reason.
_NO_THREAD = "can't start new thread"


def is_shortage(error: BaseException) -> bool:
    match error:
        case Shortage() | MemoryError():
            return True
        case BaseExceptionGroup():
            return all(map(is_shortage, error.exceptions))
        case OSError():
            return error.errno in _ERRNOS
        case RuntimeError():
            return _NO_THREAD in str(error)
        case _:
            return False


def shortage_of(error: BaseException) -> Shortage:
    name = type(error).__name__
    return Shortage(f"The server is short of threads, files or memory at the moment ({name}). Try again.")


@contextmanager
def shortages_named() -> Generator[None]:
    """Raises shortages as `Shortage`."""
    try:
        yield
    except HoldfastError:
        raise
    except Exception as error:
        if is_shortage(error):
            raise shortage_of(error) from error
        raise
