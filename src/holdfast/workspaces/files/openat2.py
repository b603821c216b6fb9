"""The kernel's own way to stay below a directory (Linux 5.6 and newer): one call resolves the whole path and
refuses whatever leads out, without a race. None if the kernel, or what confines this process, does not have
it."""

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from functools import cache

# The same number on every architecture but alpha, which nobody uses.
_SYSCALL = 437
_NO_MAGICLINKS = 0x02
_BENEATH = 0x08
# The kernel gives up with EAGAIN if somebody renames directories while it walks through `..`.
_TRIES = 100


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


# (directory, path below it, flags) -> descriptor; OSError as from open(2), EXDEV if the path leads out.
Open = Callable[[int, str, int], int]


@cache
def kernel_open() -> Open | None:
    if not sys.platform.startswith("linux"):
        return None
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long

    def open_beneath(directory: int, path: str, flags: int) -> int:
        how = _OpenHow(flags=flags | os.O_CLOEXEC, mode=0, resolve=_BENEATH | _NO_MAGICLINKS)
        name = ctypes.c_char_p(os.fsencode(path))
        number = 0
        for _ in range(_TRIES):
            descriptor = syscall(
                ctypes.c_long(_SYSCALL),
                ctypes.c_int(directory),
                name,
                ctypes.byref(how),
                ctypes.c_size_t(ctypes.sizeof(how)),
            )
            if descriptor >= 0:
                return descriptor
            number = ctypes.get_errno()
            if number not in (errno.EAGAIN, errno.EINTR):
                break
        raise OSError(number, os.strerror(number), path)

    return open_beneath if _works(open_beneath) else None


def _works(open_beneath: Open) -> bool:
    top = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(open_beneath(top, ".", os.O_RDONLY | os.O_DIRECTORY))
    except OSError:
        return False
    finally:
        os.close(top)
    return True
