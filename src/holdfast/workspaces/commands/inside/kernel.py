"""Linux system calls that Python does not have: mounts by descriptor, namespaces, capabilities. Mounts never
use a name that somebody could exchange: source and target are both opened before."""

import ctypes
import os

AT_EMPTY_PATH = 0x1000
AT_RECURSIVE = 0x8000

OPEN_TREE_CLONE = 1
FROM_DESCRIPTOR = 0x04 | 0x40  # MOVE_MOUNT_F_EMPTY_PATH, MOVE_MOUNT_T_EMPTY_PATH

READ_ONLY = 0x1
NO_SETUID = 0x2
NO_DEVICES = 0x4
MAPPED_USERS = 0x100000
PRIVATE = 1 << 18

NEW_USER = 0x10000000

SET_PARENT_DEATH_SIGNAL = 1
SET_KEEP_CAPABILITIES = 8
SET_SECCOMP = 22
DROP_BOUNDING = 24
SET_NO_NEW_PRIVILEGES = 38
AMBIENT = 47
AMBIENT_RAISE = 2
AMBIENT_CLEAR = 4
SECCOMP_FILTER = 2

# The same on every architecture since they exist.
_OPEN_TREE, _MOVE_MOUNT, _FSOPEN, _FSCONFIG, _FSMOUNT, _MOUNT_SETATTR = 428, 429, 430, 431, 432, 442
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SET_STRING, _CREATE = 1, 6

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("users", ctypes.c_uint64),
    )


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _call(number: int, what: str, *arguments: object) -> int:
    given = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return _check(_LIBC.syscall(ctypes.c_long(number), *given), what)


def clone_tree(descriptor: int) -> int:
    """A copy of what is mounted there, with everything below; not mounted anywhere yet."""
    flags = OPEN_TREE_CLONE | os.O_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE
    return _call(_OPEN_TREE, "copying a mount", descriptor, b"", flags)


def set_attributes(tree: int, attributes: int, users: int | None = None, *, below: bool = True) -> None:
    """`users`: a user namespace through which the owners of files are seen."""
    if users is not None:
        attributes |= MAPPED_USERS
    given = _Attributes(set=attributes, clear=0, propagation=PRIVATE, users=users or 0)
    flags = AT_EMPTY_PATH | (AT_RECURSIVE if below else 0)
    size = ctypes.sizeof(given)
    _call(_MOUNT_SETATTR, "restricting a mount", tree, b"", flags, ctypes.byref(given), size)


def attach(tree: int, target: int) -> None:
    """Mounts it over `target`, and closes it."""
    try:
        _call(_MOVE_MOUNT, "mounting", tree, b"", target, b"", FROM_DESCRIPTOR)
    finally:
        os.close(tree)


def new_file_system(kind: str, attributes: int, **options: str) -> int:
    """Not mounted anywhere yet."""
    context = _call(_FSOPEN, f"making {kind}", kind.encode(), 1)
    try:
        for name, value in options.items():
            _call(_FSCONFIG, f"making {kind}", context, _SET_STRING, name.encode(), value.encode(), 0)
        _call(_FSCONFIG, f"making {kind}", context, _CREATE, None, None, 0)
        return _call(_FSMOUNT, f"making {kind}", context, 1, attributes)
    finally:
        os.close(context)


def change_root(root: int) -> None:
    """The old root is gone afterwards."""
    number = _PIVOT_ROOT.get(os.uname().machine)
    os.fchdir(root)
    if number is None:
        _check(_LIBC.pivot_root(b".", b"."), "changing the root directory")
    else:
        _call(number, "changing the root directory", b".", b".")
    _check(_LIBC.umount2(b".", 2), "leaving the old root directory")
    os.chdir("/")


def heed_signals() -> None:
    """Python ignores two signals (SIGPIPE, SIGXFSZ), and no command expects that."""
    for number in (13, 25):
        _LIBC.signal(ctypes.c_int(number), ctypes.c_void_p(0))


def unshare(flags: int) -> None:
    _check(_LIBC.unshare(ctypes.c_int(flags)), "making a namespace")


def enter(namespace: int) -> None:
    _check(_LIBC.setns(ctypes.c_int(namespace), ctypes.c_int(0)), "entering a namespace")


def prctl(option: int, first: int = 0, second: int = 0) -> None:
    _check(
        _LIBC.prctl(
            ctypes.c_int(option),
            ctypes.c_ulong(first),
            ctypes.c_ulong(second),
            ctypes.c_ulong(0),
            ctypes.c_ulong(0),
        ),
        "giving up rights",
    )


def keep_capabilities(kept: int) -> None:
    """Sets permitted, effective and inheritable to exactly these."""
    low, high = kept & 0xFFFFFFFF, kept >> 32
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)(low, low, low, high, high, high)
    _check(_LIBC.capset(ctypes.byref(header), ctypes.byref(data)), "giving up rights")


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def filter_calls(program: bytes) -> None:
    """From here on, and in everything that is started. Needs no_new_privs."""
    given = _Program(length=len(program) // 8, filter=program)
    _check(
        _LIBC.prctl(
            ctypes.c_int(SET_SECCOMP),
            ctypes.c_ulong(SECCOMP_FILTER),
            ctypes.byref(given),
            ctypes.c_ulong(0),
            ctypes.c_ulong(0),
        ),
        "filtering system calls",
    )
