"""System calls that a command may not make, as data, and the filter that refuses them (seccomp). Calls that
programs can do without are refused as if the kernel did not have them, so that programs use a fallback."""

import errno
import platform
import struct
from functools import cache

# By architecture: the kernel's name for it, and the numbers of the calls below.
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# On x86-64 the numbers of a second set of calls start here; all of them are refused.
X32 = 0x40000000

_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "unshare": (272, 97),
    "setns": (308, 268),
    "clone": (56, 220),
    "clone3": (435, 435),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "open_by_handle_at": (304, 265),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "personality": (135, 92),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "iopl": (172, None),
    "ioperm": (173, None),
    "uselib": (134, None),
    "vhangup": (153, 58),
    "lookup_dcookie": (212, 18),
    "fanotify_init": (300, 262),
    "ioctl": (16, 29),
    "socket": (41, 198),
    "open": (2, None),
    "creat": (85, None),
    "openat": (257, 56),
    "openat2": (437, 437),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "mknod": (133, None),
    "mknodat": (259, 33),
}

# Not as if forbidden, but as if this kernel did not have it.
_ABSENT = ("clone3", "openat2", "io_uring_setup", "io_uring_enter", "io_uring_register")
_BY_ARGUMENT = (
    *("clone", "personality", "ioctl", "socket", "open", "creat", "openat", "chmod", "fchmod", "fchmodat"),
    *("fchmodat2", "mknod", "mknodat"),
)
_NEW_NAMESPACES = 0x7E020000
_SET_ID = 0o6000
_MAKES_FILE = 0o100 | 0o20000000  # O_CREAT, O_TMPFILE (without O_DIRECTORY)
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_PERSONALITIES = (
    0,
    0x40000,
    0xFFFFFFFF,
)  # the current one, without address randomisation (debuggers), a query
_FAMILIES = (1, 2, 10, 16)  # unix, inet, inet6, netlink

# Instructions of the filter's virtual machine.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW = 0x7FFF0000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16


@cache
def program(machine: str | None = None) -> bytes | None:
    """For the kernel; None: the numbers of this architecture are not listed here."""
    machine = machine or platform.machine()
    if machine not in ARCHITECTURES:
        return None
    column = list(ARCHITECTURES).index(machine)
    numbers = {name: pair[column] for name, pair in _NUMBERS.items()}
    made = _Filter()
    made.load(_ARCHITECTURE)
    made.refuse_unless(_EQUAL, ARCHITECTURES[machine], errno.ENOSYS)
    made.load(_NUMBER)
    if machine == "x86_64":
        made.refuse_if(_AT_LEAST, X32, errno.ENOSYS)
    for name, number in numbers.items():
        if number is not None and name not in _BY_ARGUMENT:
            made.refuse_if(_EQUAL, number, errno.ENOSYS if name in _ABSENT else errno.EPERM)
    for name, number in numbers.items():
        if number is not None and name in _BY_ARGUMENT:
            made.block(number, _rule(name))
    made.add(_RETURN, _ALLOW)
    return made.code()


def _refuse(number: int) -> int:
    return 0x00050000 | number


def _rule(name: str) -> "_Filter":
    """What follows once the call is known; ends by returning."""
    rule = _Filter()
    match name:
        case "clone":
            rule.load(_argument(0))
            rule.refuse_if(_ANY_BIT, _NEW_NAMESPACES, errno.EPERM)
        case "personality":
            _only(rule, 0, _PERSONALITIES, errno.EPERM)
        case "socket":
            _only(rule, 0, _FAMILIES, errno.EAFNOSUPPORT)
        case "ioctl":
            rule.load(_argument(1))
            for request in _TERMINAL_INPUT:
                rule.refuse_if(_EQUAL, request, errno.EPERM)
        case "open" | "openat":
            first = 1 if name == "open" else 2
            rule.load(_argument(first))
            rule.allow_unless(_ANY_BIT, _MAKES_FILE)
            rule.load(_argument(first + 1))
            rule.refuse_if(_ANY_BIT, _SET_ID, errno.EPERM)
        case _:
            at = 1 if name in ("creat", "chmod", "fchmod", "mknod") else 2
            rule.load(_argument(at))
            rule.refuse_if(_ANY_BIT, _SET_ID, errno.EPERM)
    rule.add(_RETURN, _ALLOW)
    return rule


def _only(rule: "_Filter", argument: int, allowed: tuple[int, ...], number: int) -> None:
    rule.load(_argument(argument))
    for value in allowed:
        rule.allow_if(_EQUAL, value)
    rule.add(_RETURN, _refuse(number))


def _argument(place: int) -> int:
    """Its lower half, on little-endian machines: all that the kernel looks at in these."""
    return _ARGUMENTS + 8 * place


class _Filter:
    def __init__(self) -> None:
        self._code: list[bytes] = []

    def add(self, operation: int, value: int, met: int = 0, unmet: int = 0) -> None:
        self._code.append(struct.pack("<HBBI", operation, met, unmet, value))

    def load(self, offset: int) -> None:
        self.add(_LOAD, offset)

    def refuse_if(self, operation: int, value: int, number: int) -> None:
        self.add(operation, value, 0, 1)
        self.add(_RETURN, _refuse(number))

    def allow_if(self, operation: int, value: int) -> None:
        self.add(operation, value, 0, 1)
        self.add(_RETURN, _ALLOW)

    def allow_unless(self, operation: int, value: int) -> None:
        self.add(operation, value, 1, 0)
        self.add(_RETURN, _ALLOW)

    def refuse_unless(self, operation: int, value: int, number: int) -> None:
        self.add(operation, value, 1, 0)
        self.add(_RETURN, _refuse(number))

    def block(self, number: int, rule: "_Filter") -> None:
        """The rule, for this call only."""
        self.add(_EQUAL, number, 0, len(rule._code))
        self._code += rule._code

    def code(self) -> bytes:
        return b"".join(self._code)
