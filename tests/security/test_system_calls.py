"""System calls that no command may make: refused inside, whoever asks and by whatever set of calls."""

import platform
import struct

import pytest

from holdfast.workspaces.commands.system_calls import ARCHITECTURES, program
from tests.workspaces.rooms import Room

# Each call with arguments that would be fine without the filter; prints the names of those let through.
ATTEMPTS = """
import ctypes, errno, os, stat
libc = ctypes.CDLL(None, use_errno=True)
def call(*words):
    ctypes.set_errno(0)
    result = libc.syscall(*[ctypes.c_long(w) if isinstance(w, int) else w for w in words])
    return None if result >= 0 else ctypes.get_errno()
name = b"file"
open(name, "w").close()
tried = {
    "mount": call(165, b"none", b"/tmp", b"tmpfs", 0, None),
    "fsopen": call(430, b"tmpfs", 0),
    "open_tree": call(428, -100, b"/tmp", 1),
    "unshare": call(272, 0x10000000),
    "setns": call(308, os.open("/proc/self/ns/uts", os.O_RDONLY), 0),
    "clone3": call(435, None, 0),
    "keyctl": call(250, 0, -3, 1),
    "add_key": call(248, b"user", b"x", b"y", 1, -3),
    "bpf": call(321, 0, None, 0),
    "perf_event_open": call(298, None, 0, -1, -1, 0),
    "userfaultfd": call(323, 1),
    "io_uring_setup": call(425, 1, None),
    "open_by_handle_at": call(304, -100, None, 0),
    "process_vm_readv": call(310, os.getpid(), None, 0, None, 0, 0),
    "init_module": call(175, None, 0, b""),
    "kexec_load": call(246, 0, 0, None, 0),
    "personality": call(135, 0x0400000),
    "chmod": call(90, name, 0o4755),
    "fchmod": call(91, os.open(name, os.O_RDONLY), 0o2755),
    "fchmodat": call(268, -100, name, 0o4755),
    "fchmodat2": call(452, -100, name, 0o4755, 0),
    "open": call(2, b"made1", os.O_CREAT | os.O_WRONLY, 0o4755),
    "openat": call(257, -100, b"made2", os.O_CREAT | os.O_WRONLY, 0o4755),
    "openat with a temporary file": call(257, -100, b".", os.O_TMPFILE | os.O_WRONLY, 0o4755),
    "creat": call(85, b"made3", 0o4755),
    "mknod": call(133, b"made4", stat.S_IFREG | 0o4755, 0),
    "mknodat": call(259, -100, b"made5", stat.S_IFREG | 0o4755, 0),
    "openat2": call(437, -100, name, None, 0),
    "TIOCSTI": call(16, 0, 0x5412, b"x"),
    "x32": call(0x40000000 + 39),
    "vsock": call(41, 40, 1, 0),
    "packet": call(41, 17, 3, 0),
}
refused = (errno.EPERM, errno.ENOSYS, errno.EAFNOSUPPORT)
for what, number in tried.items():
    if number not in refused:
        print(what, errno.errorcode.get(number, "let through"))
for made in os.listdir("."):
    if os.lstat(made).st_mode & 0o6000:
        print(made, "has a bit")
print("done")
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86-64")
async def test_what_no_command_needs_is_refused(walled: Room) -> None:
    (walled.workspace / "attempts.py").write_text(ATTEMPTS)
    _, text = await walled.run("python3 attempts.py")
    assert text == "done\n"


async def test_what_commands_need_works(walled: Room) -> None:
    _, text = await walled.run(
        "set -e; umask 022; echo x > f; chmod 755 f; mkdir -m 1777 d; mkfifo p; ln f g; cp -p f h; "
        "tar cf t f; tar xf t; "
        'python3 -c \'import subprocess, threading, socket, multiprocessing as m; subprocess.run(["true"]); '
        'threading.Thread(target=print).start(); socket.socket(); m.get_context("spawn").Lock()\'; echo ok'
    )
    assert text.splitlines()[-1] == "ok"


async def test_set_uid_has_no_effect_on_any_mount(walled: Room) -> None:
    _, text = await walled.run(
        "grep -vE '^(devtmpfs|[^ ]+ /dev)' /proc/self/mounts | grep -v nosuid; echo done"
    )
    assert text == "done\n"


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_the_filter_is_well_formed(machine: str) -> None:
    """No jump leads past the end, and the last instruction allows."""
    code = program(machine)
    assert code is not None
    instructions = [struct.unpack_from("<HBBI", code, place) for place in range(0, len(code), 8)]
    for place, (operation, met, unmet, _) in enumerate(instructions):
        if operation & 0x07 == 0x05:
            assert place + 1 + max(met, unmet) < len(instructions)
    assert instructions[-1] == (0x06, 0, 0, 0x7FFF0000)
    assert len(instructions) < 4096


def test_an_unknown_architecture_has_no_filter() -> None:
    assert program("vax") is None
