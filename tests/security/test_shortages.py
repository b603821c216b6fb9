"""No thread, descriptor or memory available: requests are told to try again, turns wait and continue. It is
never reported as an internal error."""

import asyncio
import errno
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from holdfast.core.errors import NotBegun, Shortage, TryAgain
from holdfast.core.shortage import is_shortage, shortages_named
from tests.api.serving import Serving, config_for, serving


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Serving]:
    async with serving(config_for(tmp_path / "data")) as running:
        yield running


@contextmanager
def no_threads(monkeypatch: pytest.MonkeyPatch) -> Generator[list[str]]:
    """As when the system gives none; the names of those that were asked for."""
    wanted: list[str] = []

    def start(thread: threading.Thread) -> None:
        wanted.append(thread.name)
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        yield wanted


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - nobody tells when
            await asyncio.sleep(0.02)


async def workspace(server: Serving, tmp_path: Path) -> str:
    root = tmp_path / "code"
    root.mkdir()
    (root / "a.txt").write_text("something\n")
    made = await server.admin.post("workspaces", {"name": "code", "path": str(root)})
    assert made.status == 201, made
    return made.json["id"]


async def test_a_request_is_told_to_come_again(
    server: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = await workspace(server, tmp_path)
    with no_threads(monkeypatch) as wanted, capture_logs() as logs:
        refused = await server.admin.get(f"workspaces/{place}/files?q=a")
        assert wanted
    assert (refused.status, refused.code) == (503, "try_again")
    assert int(refused.headers["Retry-After"]) >= 1
    assert not [entry for entry in logs if entry["log_level"] == "error"]
    assert (await server.admin.get(f"workspaces/{place}/files?q=a")).status == 200


async def test_nothing_to_look_up_a_credential_with(server: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    async def failing(_: str) -> Any:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(server.parts.services.access, "authenticate", failing)
        refused = await server.admin.get("chats")
    assert (refused.status, refused.code) == (503, "try_again")


async def test_a_turn_waits_and_goes_on(
    server: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = await workspace(server, tmp_path)
    script = 'call: read_file {"path": "a.txt"}\nsay: {result}'
    with no_threads(monkeypatch) as wanted:
        chat = await server.admin.start_chat(script, workspace_id=place)
        await until(lambda: len(wanted) >= 3)
        assert (await server.admin.chat(chat["id"]))["status"] == "running"
    ended = await server.admin.until_settled(chat["id"])
    assert (ended["status"], ended["last_error"]) == ("idle", None)
    said = (await server.admin.messages(chat["id"]))[-1]
    assert "something" in said["parts"][0]["text"]


async def test_a_command_that_could_not_be_started_is_started_later(
    server: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has effects, but none yet."""
    place = await workspace(server, tmp_path)
    thread = server.parts.toolbox.processes._thread  # pyright: ignore[reportPrivateUsage]
    tried: list[int] = []

    def failing(*_: Any) -> Any:
        tried.append(1)
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    with monkeypatch.context() as patch:
        patch.setattr(thread, "launch", failing)
        chat = await server.admin.start_chat(
            'call: execute {"command": "echo once >> b.txt"}\nsay: done',
            workspace_id=place,
            tools={"execute": "auto"},
        )
        await until(lambda: len(tried) >= 2)
    ended = await server.admin.until_settled(chat["id"])
    assert (ended["status"], ended["last_error"]) == ("idle", None)
    assert (tmp_path / "code" / "b.txt").read_text() == "once\n"


async def test_a_turn_can_be_interrupted_while_it_waits(
    server: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = await workspace(server, tmp_path)
    with no_threads(monkeypatch) as wanted:
        chat = await server.admin.start_chat(
            'call: read_file {"path": "a.txt"}\nsay: {result}', workspace_id=place
        )
        await until(lambda: len(wanted) >= 2)
        assert (await server.admin.post(f"chats/{chat['id']}/interrupt")).status == 202
        ended = await server.admin.until_settled(chat["id"])
    assert ended["status"] == "idle"


SHORT = [
    OSError(errno.EMFILE, "Too many open files"),
    OSError(errno.ENFILE, "Too many open files in system"),
    BlockingIOError(errno.EAGAIN, "fork"),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
    MemoryError(),
    RuntimeError("can't start new thread"),
    ExceptionGroup("", [MemoryError(), OSError(errno.EMFILE, "")]),
    NotBegun("no process"),
]
NOT_SHORT = [
    OSError(errno.ENOENT, ""),
    OSError(errno.ENOSPC, ""),
    RuntimeError("another"),
    ValueError(),
    TryAgain("the database"),
    ExceptionGroup("", [MemoryError(), ValueError()]),
]


def test_what_is_a_shortage() -> None:
    assert all(map(is_shortage, SHORT))
    assert not any(map(is_shortage, NOT_SHORT))
    for error in SHORT[:-1]:
        with pytest.raises(Shortage), shortages_named():
            raise error
    for error in NOT_SHORT:
        with pytest.raises(type(error)) as told, shortages_named():
            raise error
        assert told.value is error


@pytest.mark.heavy
async def test_a_worker_comes_back_when_there_is_a_thread_for_its_lease(
    server: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lost its lease meanwhile, and the next one needs a thread."""
    store = server.parts.services.store

    def lost(*_: Any) -> bool:
        return False

    with no_threads(monkeypatch) as wanted, monkeypatch.context() as patch:
        patch.setattr(store, "renew", lost)
        await until(lambda: wanted.count("holdfast-lease") >= 2)
    chat = await server.admin.start_chat("say: here again")
    ended = await server.admin.until_settled(chat["id"])
    assert (ended["status"], ended["last_error"]) == ("idle", None)
