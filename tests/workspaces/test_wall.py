"""The wall: what a command can see, change and reach. Behind each kind of wall; as another user see
test_other_user."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from holdfast.workspaces.commands.mounts import CommandPlace
from holdfast.workspaces.commands.networks import Network
from holdfast.workspaces.commands.wall import MARK, Kind
from tests.workspaces.rooms import EVERYWHERE, WALLS, Room, room
from tests.workspaces.tricks import PROBES

NETWORKS: dict[Network, str] = {"host": "reached", "none": "refused"}


@pytest.mark.parametrize("probe", PROBES)
async def test_the_wall_holds(walled: Room, probe: str) -> None:
    _, text = await walled.run(PROBES[probe])
    assert text == "ok\n"


@pytest.mark.parametrize("kind", EVERYWHERE)
async def test_secrets_of_the_server_are_in_no_environment(tmp_path: Path, kind: Kind) -> None:
    canary = {
        "ANTHROPIC_API_KEY": "canary-1",
        "HOLDFAST_SERVER_SECRET": "canary-2",
        "AWS_SECRET_ACCESS_KEY": "canary-3",
        "https_proxy": "http://user:canary-4@proxy.example",
        "HTTP_PROXY": "http://proxy.example:3128",
        "LD_PRELOAD": "canary-5",
        "BASH_ENV": "canary-6",
        "ENV": "canary-7",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }
    async with room(tmp_path, kind, environment=canary) as found:
        if found is None:
            pytest.skip(f"this machine has no wall made by {kind}")
        everywhere = "cat /proc/[0-9]*/environ | tr '\\0' '\\n'" if found.probe.wall.stands else "true"
        _, own = await found.run(f"env; {everywhere}")
        names = {line.partition("=")[0] for line in own.splitlines()}
        assert "canary" not in own
        assert {"PATH", "HOME", "LANG", "TZ", "LC_ALL", "HTTP_PROXY", MARK} <= names
        assert names <= {
            *("PATH", "HOME", "LANG", "TZ", "LC_ALL", "HTTP_PROXY", MARK, "TMPDIR", "SHELL", "TERM"),
            *("NO_COLOR", "PAGER", "GIT_PAGER", "GIT_TERMINAL_PROMPT", "DEBIAN_FRONTEND"),
            *("PWD", "SHLVL", "_", "OLDPWD"),
        }


async def test_the_servers_data_cannot_be_seen(walled: Room) -> None:
    (walled.data / "admin.token").write_text("canary")
    everywhere_else = (
        "find / '(' -path /usr -o -path /opt -o -path /proc ')' -prune -o -name admin.token -print"
    )
    _, text = await walled.run(
        f"cat {walled.data}/admin.token; ls -A {walled.data}; {everywhere_else} 2>/dev/null"
    )
    assert "canary" not in text
    assert "token" not in text.replace(f"{walled.data}/admin.token", "")


@pytest.mark.parametrize("kind", WALLS)
async def test_what_is_hidden_stays_so_inside_of_the_workspace(tmp_path: Path, kind: Kind) -> None:
    """A person may well open their home directory, which has the server's data in it."""
    secret = tmp_path / "holdfast.toml"
    secret.write_text("canary")
    async with room(tmp_path, kind, hidden=(secret,)) as found:
        if found is None:
            pytest.skip(f"this machine has no wall made by {kind}")
        (found.data / "admin.token").write_text("canary")
        process = await found.start(
            "cat holdfast.toml data/admin.token; ls -A data; echo mine > workspace/mine; echo ok",
            place=CommandPlace(root=tmp_path),
            cwd=tmp_path,
        )
        await found.ended(process)
        text = await found.text(process.entry)
        assert "canary" not in text
        assert text.splitlines()[-1] == "ok"
        assert (tmp_path / "workspace" / "mine").read_text() == "mine\n"


async def test_a_workspace_inside_of_what_is_hidden(walled: Room) -> None:
    """A chat's scratch directory lies in the server's data directory."""
    scratch = walled.data / "scratch" / "one"
    scratch.mkdir(parents=True)
    (walled.data / "scratch" / "two").mkdir()
    process = await walled.start("pwd; ls -A ..; touch mine", place=CommandPlace(root=scratch), cwd=scratch)
    await walled.ended(process)
    assert await walled.text(process.entry) == f"{scratch}\none\n"
    assert (scratch / "mine").exists()


async def test_what_a_person_opened_can_be_read_and_no_more(walled: Room, tmp_path: Path) -> None:
    opened, shared = tmp_path / "opened", tmp_path / "shared"
    for path in (opened, shared):
        path.mkdir()
    (opened / "file").write_text("text\n")
    place = CommandPlace(root=walled.workspace, readable=(opened,), writable=(shared,))
    process = await walled.start(
        f"cat {opened}/file; touch {shared}/x; touch {opened}/x || echo refused", place=place
    )
    await walled.ended(process)
    text = await walled.text(process.entry)
    assert text.startswith("text\n")
    assert text.endswith("refused\n")
    assert (shared / "x").exists()


async def test_links_lead_nowhere(walled: Room, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("canary")
    (walled.workspace / "link").symlink_to(tmp_path / "outside")
    _, text = await walled.run("cat link; cd / && ls -R tmp")
    assert "canary" not in text
    assert "outside" not in text.replace("cat: link", "").partition("tmp:")[2]


async def test_the_machines_devices_stay_as_they_are(walled: Room) -> None:
    before = os.stat("/dev/null").st_mode
    if walled.probe.wall.superuser:
        await walled.run("chmod 600 /dev/null; chown 1 /dev/zero; true")
    assert os.stat("/dev/null").st_mode == before
    assert (await walled.run("echo x > /dev/null && echo ok"))[1] == "ok\n"


async def test_a_command_that_kills_all_it_can(walled: Room) -> None:
    bystander = subprocess.Popen(["cat"], stdin=subprocess.PIPE)  # noqa: ASYNC220
    try:
        for command in (
            "kill -9 -1",
            "kill -9 $PPID",
            "kill -TERM $PPID",
            f"kill -9 {os.getpid()}",
            "kill -9 1 0",
        ):
            process = await walled.start(f"{command}; sleep 0.01")
            await walled.ended(process)
        assert bystander.poll() is None
        assert (await walled.run("echo lives"))[1] == "lives\n"
    finally:
        bystander.communicate(b"\n")


async def test_the_servers_port_and_socket(walled: Room, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        port = server.getsockname()[1]
        local.bind(str(tmp_path / "socket"))
        local.listen()
        script = (
            "import socket, sys\n"
            f"try: socket.create_server(('127.0.0.1', {port})); print('listens')\n"
            "except OSError: print('refused')\n"
            f"try: socket.socket(socket.AF_UNIX).connect({str(tmp_path / 'socket')!r}); print('connects')\n"
            "except OSError: print('refused')\n"
        )
        (walled.workspace / "script.py").write_text(script)
        _, text = await walled.run("command -v python3 >/dev/null || exit 9; python3 script.py")
        if not text:
            pytest.skip("the system has no python3")
        assert text == "refused\nrefused\n"


@pytest.mark.parametrize("kind", WALLS)
async def test_without_network_nothing_is_reached(tmp_path: Path, kind: Kind) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for network, wanted in NETWORKS.items():
            async with room(tmp_path, kind, network=network) as found:
                if found is None:
                    pytest.skip(f"this machine has no wall made by {kind}")
                _, text = await found.run(
                    f"(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo reached || echo refused"
                )
                assert text == f"{wanted}\n"


async def test_root_can_still_own_and_change_files(walled: Room) -> None:
    """A workspace of another user, and a build that sets owners, work as root is used to."""
    if not walled.probe.wall.superuser:
        pytest.skip("the tests do not run as root")
    (walled.workspace / "theirs").write_text("x")
    os.chown(walled.workspace / "theirs", 4321, 4321)
    (walled.workspace / "theirs").chmod(0o600)
    end, text = await walled.run(
        "cat theirs && echo y > theirs && touch mine && chown 4321:4321 mine && echo ok"
    )
    assert text == "xok\n"
    assert end.exit_code == 0
    assert (walled.workspace / "mine").stat().st_uid == 4321


async def test_the_probe_says_what_stands(walled: Room) -> None:
    first, *_, last = walled.probe.sentences
    assert first.startswith("Commands run behind a wall made by ")
    assert "at most" in last
    assert all(sentence.endswith(".") for sentence in walled.probe.sentences)


async def test_without_a_wall_the_probe_says_what_to_do(tmp_path: Path) -> None:
    async with room(tmp_path, "none") as found:
        assert found is not None
        assert not found.probe.wall.stands
        assert "execute asks" in found.probe.sentences[0]
        assert "Install bubblewrap" in " ".join(found.probe.sentences)


async def test_a_wall_that_cannot_be_built_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program by that name that does nothing of the kind."""
    fake = tmp_path / "bin" / "bwrap"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'bwrap: no permissions' >&2; exit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr("holdfast.workspaces.commands.wall.SEARCH_PATH", f"{fake.parent}:/usr/bin:/bin")
    async with room(tmp_path, "bubblewrap") as found:
        assert found is None
