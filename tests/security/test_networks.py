"""What commands can reach: with `internet` the internet, and nothing of this machine or of private networks.
The internet of these tests is a network namespace with an address that nobody routes."""

import os
import secrets
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.core.ids import ChatId
from holdfast.workspaces.commands.networks import CLOSED, Networks, rules
from holdfast.workspaces.commands.wall import Kind
from tests.workspaces.rooms import KINDS, Room, room, until
from tests.workspaces.serving import Served

OTHER = ChatId("01890000-0000-7000-8000-000000000002")
pytestmark = pytest.mark.heavy
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make networks for tests")

REACH = "(exec 3<>/dev/tcp/{0}/{1}) 2>/dev/null && echo reached || echo refused"
SERVER = """
import socket
one = socket.create_server(("", 7))
print("ready", flush=True)
while True:
    one.accept()[0].close()
"""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def internet() -> Iterator[tuple[str, str]]:
    """A public address and a private one behind a cable, where a server answers on port 7."""
    name, third = f"hf{secrets.token_hex(3)}", secrets.randbelow(250)
    here, there = f"198.51.100.{third - third % 4 + 1}", f"198.51.100.{third - third % 4 + 2}"
    ip("netns", "add", name)
    try:
        ip("link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b", "netns", name)
        near, private = f"10.213.{third}.1", f"10.213.{third}.2"
        ip("addr", "add", f"{here}/30", "dev", f"{name}a")
        ip("addr", "add", f"{near}/30", "dev", f"{name}a")
        ip("link", "set", f"{name}a", "up")
        for address in (there, private):
            ip("-n", name, "addr", "add", f"{address}/30", "dev", f"{name}b")
        ip("-n", name, "link", "set", f"{name}b", "up")
        server = subprocess.Popen(
            [
                *("ip", "netns", "exec", name, "python3", "-c", SERVER),
            ],
            stdout=subprocess.PIPE,
        )
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == b"ready\n"
            yield there, private
        finally:
            server.kill()
            server.communicate()
    finally:
        ip("netns", "del", name)


def need_internet(found: Room | None) -> Room:
    if found is None or found.probe.network != "internet":
        pytest.skip("a way to the internet alone cannot be made here")
    return found


@ROOT
@pytest.mark.parametrize("kind", KINDS[:-1])
async def test_the_internet_and_nothing_near(tmp_path: Path, kind: Kind, internet: tuple[str, str]) -> None:
    public, private = internet
    own = public.rpartition(".")[0] + "." + str(int(public.rpartition(".")[2]) - 1)
    socket.create_connection((private, 7), 10).close()
    with socket.create_server(("0.0.0.0", 0)) as server:
        port = server.getsockname()[1]
        async with room(tmp_path, kind, network="internet") as any_room:
            found = need_internet(any_room)
            assert (await found.run(REACH.format(public, 7)))[1] == "reached\n"
            assert (await found.run(REACH.format(private, 7)))[1] == "refused\n"
            for address in ("127.0.0.1", "10.0.2.2", "10.0.2.3", own, "::1"):
                assert (await found.run(REACH.format(address, port)))[1] == "refused\n", address


@ROOT
async def test_the_device_cannot_be_chosen_past_the_filter(tmp_path: Path) -> None:
    """Bound to the device, a packet goes out even where no route leads."""
    with socket.create_server(("0.0.0.0", 0)) as server:
        port = server.getsockname()[1]
        async with room(tmp_path, "unshare", network="internet") as any_room:
            found = need_internet(any_room)
            (found.workspace / "past.py").write_text(
                "import socket\n"
                "for address in ('10.0.2.2', '10.0.2.3', '127.0.0.1'):\n"
                "    one = socket.socket(); one.settimeout(5)\n"
                "    one.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b'tap0')\n"
                f"    try: one.connect((address, {port})); print('reached', address)\n"
                "    except OSError: print('refused')\n"
            )
            assert (await found.run("python3 past.py"))[1] == "refused\n" * 3


@pytest.mark.parametrize("kind", KINDS[:-1])
async def test_commands_of_a_chat_reach_each_other(tmp_path: Path, kind: Kind) -> None:
    async with room(tmp_path, kind, network="none") as found:
        if found is None:
            pytest.skip(f"this machine has no wall made by {kind}")
        server = await found.start(
            "exec python3 -u -c \"import socket; s = socket.create_server(('127.0.0.1', 4567)); "
            "print('ready'); s.accept()[0].sendall(b'hello\\n'); s.accept()\"",
            background=True,
        )
        await found.printed(server, "ready")
        assert (await found.run("cat < /dev/tcp/127.0.0.1/4567"))[1] == "hello\n"
        other = await found.start(REACH.format("127.0.0.1", 4567), OTHER)
        await found.ended(other)
        assert await found.text(other.entry) == "refused\n"
        await found.processes.stop(server, "stopped", grace_seconds=0)


@pytest.mark.parametrize("kind", KINDS[:-1])
async def test_sockets_without_a_file_are_out_of_reach(tmp_path: Path, kind: Kind) -> None:
    name = f"holdfast-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        async with room(tmp_path, kind, network="none") as found:
            if found is None:
                pytest.skip(f"this machine has no wall made by {kind}")
            said = await found.run(
                'python3 -c "import socket; socket.socket(socket.AF_UNIX).'
                f"connect('\\0{name}')\" 2>&1 | tail -1"
            )
            assert "ConnectionRefusedError" in said[1]


@ROOT
def test_nothing_of_a_network_outlives_its_owner() -> None:
    networks = Networks("internet", superuser=True)
    with closing(networks):
        joined = networks.join("one")
        again = networks.join("one")
        assert joined == again
        for _ in range(2):
            networks.close_idle(0)
            assert os.path.exists(f"/proc/{joined.pid}")
            networks.leave("one")
        networks.close_idle(0)
        assert not os.path.exists(f"/proc/{joined.pid}")
    assert children_named("slirp4netns", os.getpid()) == []


@ROOT
async def test_networks_end_with_a_server_that_is_killed(tmp_path: Path) -> None:
    served = Served(
        tmp_path, "unshare", [{"command": "echo ready; sleep 1000", "stay": True}], network="internet"
    )
    try:
        served.line()
        served.line()
        mine = [
            *children_named("slirp4netns", served.process.pid),
            *children_named("cat", served.process.pid),
        ]
        assert mine
    finally:
        served.end()
    await until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in mine), "they have ended")


def children_named(name: str, parent: int) -> list[int]:
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue
            if f"({name})" in text and int(text.rpartition(")")[2].split()[1]) == parent:
                found.append(int(entry.name))
    return found


def test_the_filter_names_what_is_closed() -> None:
    text = rules(["203.0.113.9"])
    assert all(network in text for network in (*CLOSED, "203.0.113.9"))
    assert "policy drop" in text
