"""The networks of commands: one per chat, created for its first command and removed some time after its last.
With `internet` a user-mode network (slirp4netns) carries outgoing traffic, and a filter inside, which no
command can change, keeps it away from this machine and from private networks."""

import ipaddress
import os
import select
import shutil
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import structlog

from holdfast.core.ids import ChatId
from holdfast.workspaces.commands.wall import SEARCH_PATH, Joined

log = structlog.get_logger(__name__)

Network = Literal["none", "internet", "host"]

RESOLVER = "10.0.2.3"
START_SECONDS = 20.0
# Nothing is left 30 s after the last command.
IDLE_SECONDS = 15.0
# Not part of the internet: this network, private ones, this machine, metadata services, multicast.
CLOSED = (
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
    *("192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"),
)


class NoNetwork(Exception):
    """Why there is none."""


@dataclass(kw_only=True)
class _Open:
    holder: "subprocess.Popen[bytes]"
    carrier: "subprocess.Popen[bytes] | None"
    # When it is closed, the carrier process ends.
    lifeline: int
    users: int = 0
    left_at: float = 0.0

    @property
    def alive(self) -> bool:
        return self.holder.poll() is None and (self.carrier is None or self.carrier.poll() is None)

    def close(self) -> None:
        if self.lifeline >= 0:
            os.close(self.lifeline)
        assert self.holder.stdin is not None
        self.holder.stdin.close()
        for process in (self.holder, self.carrier):
            if process is not None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(2.0)
                if process.poll() is None:
                    process.kill()
                    process.wait()
                if process.stdout is not None:
                    process.stdout.close()


class Networks:
    """Thread-safe. Every process of it reads from a pipe that only this process holds, and ends with it."""

    def __init__(self, mode: Literal["none", "internet"], *, superuser: bool) -> None:
        self.mode: Literal["none", "internet"] = mode
        self._superuser = superuser
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._open: dict[str, _Open] = {}
        self._closed = False

    def join(self, chat_id: ChatId | str) -> Joined:
        """Blocks while it is created. To be left once per join. NoNetwork says why not."""
        with self._starting:
            if (found := self._joined(chat_id)) is None:
                made = self._start()
                with self._lock:
                    self._open[chat_id] = made
                found = self._joined(chat_id)
        if found is None:
            raise NoNetwork("it ended at once")
        return Joined(pid=found.holder.pid, resolver=RESOLVER if self.mode == "internet" else None)

    def _joined(self, chat_id: ChatId | str) -> _Open | None:
        with self._lock:
            if self._closed:
                raise NoNetwork("the server is stopping")
            found = self._open.get(chat_id)
            if found is not None and not found.alive:
                self._open.pop(chat_id).close()
                return None
            if found is not None:
                found.users += 1
            return found

    def leave(self, chat_id: ChatId | str) -> None:
        with self._lock:
            if (found := self._open.get(chat_id)) is not None:
                found.users -= 1
                found.left_at = time.monotonic()

    def close_idle(self, idle_seconds: float = IDLE_SECONDS) -> None:
        """Those that nobody uses any more."""
        with self._lock:
            until = time.monotonic() - idle_seconds
            idle = [name for name, one in self._open.items() if one.users == 0 and one.left_at <= until]
            ended = [self._open.pop(name) for name in idle]
        for one in ended:
            one.close()

    def close(self) -> None:
        with self._starting, self._lock:
            self._closed = True
            ended = list(self._open.values())
            self._open.clear()
        for one in ended:
            one.close()

    def _start(self) -> _Open:
        holder = _holder(self.mode, superuser=self._superuser)
        made = _Open(holder=holder, carrier=None, lifeline=-1)
        try:
            _wait_for(holder, b"ready\n")
            if self.mode == "internet":
                made.carrier, made.lifeline = _carrier(holder.pid)
        except BaseException:
            made.close()
            raise
        return made


def _holder(mode: Network, *, superuser: bool) -> "subprocess.Popen[bytes]":
    """A process that does nothing but hold a network."""
    words = ["unshare", "--net"]
    words += [] if superuser else ["--user", "--map-current-user", "--keep-caps"]
    filtered = f"nft -f - <<'END'\n{rules(_own_addresses())}END\n" if mode == "internet" else ""
    script = f"set -e\nip link set lo up\n{filtered}echo ready\nexec cat\n"
    return _started([*words, "--", "/bin/sh", "-c", script])


def rules(own: list[str]) -> str:
    """Also for what bypasses the routes: a program may choose the device itself."""
    closed = ", ".join((*CLOSED, *own))
    return f"""table inet holdfast {{
    chain output {{
        type filter hook output priority 0; policy drop;
        oif "lo" accept
        ip daddr {RESOLVER} udp dport 53 accept
        ip daddr {RESOLVER} tcp dport 53 accept
        ip daddr {{ {closed} }} reject with icmp type admin-prohibited
        meta nfproto ipv4 accept
        meta nfproto ipv6 reject with icmpv6 type admin-prohibited
    }}
}}
"""


def _own_addresses() -> list[str]:
    """This machine's own addresses, also in public networks: what listens there is not meant for commands."""
    done = subprocess.run(
        ["ip", "-o", "-4", "addr", "show"],
        env={"PATH": SEARCH_PATH},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        check=False,
    )
    closed = [ipaddress.ip_network(one) for one in CLOSED]
    found: list[str] = []
    for line in done.stdout.splitlines():
        words = line.split()
        address = ipaddress.ip_address(words[words.index("inet") + 1].partition("/")[0])
        if not any(address in network for network in closed):
            found.append(str(address))
    return sorted(set(found))


def _carrier(pid: int) -> tuple["subprocess.Popen[bytes]", int]:
    """The process that carries packets out of it, and the descriptor that keeps it alive."""
    reading, lifeline = os.pipe()
    words = ["slirp4netns", "--configure", "--mtu=65520", "--disable-host-loopback", "--enable-sandbox"]
    words += ["--enable-seccomp", f"--exit-fd={reading}", "--ready-fd=1", str(pid), "tap0"]
    try:
        carrier = _started(words, keep=(reading,))
    except BaseException:
        os.close(lifeline)
        raise
    finally:
        os.close(reading)
    try:
        _wait_for(carrier, b"1")
    except BaseException:
        os.close(lifeline)
        carrier.kill()
        carrier.wait()
        raise
    return carrier, lifeline


def _started(words: list[str], keep: tuple[int, ...] = ()) -> "subprocess.Popen[bytes]":
    if shutil.which(words[0], path=SEARCH_PATH) is None:
        raise NoNetwork(f"{words[0]} is not installed")
    try:
        return subprocess.Popen(
            words,
            env={"PATH": SEARCH_PATH},
            cwd="/",
            stdin=subprocess.PIPE if words[0] == "unshare" else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if words[0] == "unshare" else subprocess.DEVNULL,
            pass_fds=keep,
            start_new_session=True,
        )
    except OSError as error:
        raise NoNetwork(f"{words[0]} cannot be started: {error}") from None


def _wait_for(process: "subprocess.Popen[bytes]", wanted: bytes) -> None:
    assert process.stdout is not None
    said = b""
    until = time.monotonic() + START_SECONDS
    while wanted not in said:
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, until - time.monotonic()))
        piece = os.read(process.stdout.fileno(), 4096) if ready else b""
        if not piece:
            why = said.decode("utf-8", "replace").strip().splitlines()
            name = process.args[0] if isinstance(process.args, list) else "it"
            raise NoNetwork(f"{name} does not work here{f' ({why[-1]})' if why else ''}")
        said += piece
