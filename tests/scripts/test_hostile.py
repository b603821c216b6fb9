"""Hostile scripts: each ends with a failure that says why, within its limits, and nothing outside is
touched."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from holdfast.core.errors import BadScript
from holdfast.core.runs import Language
from holdfast.scripts.engines.limits import ScriptLimits
from holdfast.scripts.engines.messages import ScriptDone, ScriptFailed
from holdfast.scripts.engines.sandbox import Sandbox
from holdfast.scripts.source import read_script
from tests.scripts import hostile_js, hostile_py
from tests.scripts.host import META, drive, start_of

SECRET = "what a script must never see"
# Many compute until they are stopped: the limit is what they cost.
LIMITS = ScriptLimits(cpu_seconds=0.25, memory_mib=48, workflows=50)
SCRIPTS: list[tuple[Language, str]] = [
    *(("javascript", name) for name in hostile_js.HOSTILE),
    *(("python", name) for name in hostile_py.HOSTILE),
]


def text_of(language: Language, name: str) -> str:
    bodies = hostile_js.HOSTILE if language == "javascript" else hostile_py.HOSTILE
    return META[language] + bodies[name]


@asynccontextmanager
async def port_that_nobody_may_call() -> AsyncGenerator[int]:
    called: list[object] = []

    async def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        called.append(writer.get_extra_info("peername"))
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
    assert called == []


def put_secret(directory: Path) -> Path:
    file = directory / "secret"
    file.write_text(SECRET)
    return file


def untouched(directory: Path) -> None:
    assert {path.name: path.read_text() for path in directory.iterdir()} == {"secret": SECRET}


async def gone(group: int) -> None:
    """Until no process of the group runs any more."""
    async with asyncio.timeout(60):
        # Nobody tells when a process ends that is not ours.
        while [  # noqa: ASYNC110
            pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _runs_in(pid, group)
        ]:
            await asyncio.sleep(0.01)


def _runs_in(pid: int, group: int) -> bool:
    try:
        state, _, pgrp = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:3]
    except OSError:
        return False
    return int(pgrp) == group and state != "Z"


# A label that is no text is ignored; a set is a list, bytes are their numbers, without a word.
IGNORED = (
    "options that are made when read",
    "a result that is a set",
    "a result that is bytes",
    "a poisoned prototype",
)
# What is no JSON is made JSON, with a warning, and leads nowhere.
MADE_JSON = (
    *IGNORED,
    "options that contain themselves",
    "options with a promise",
    "a result that contains itself",
    "a result that is NaN",
    "a result that is infinite",
    "a result that is a date",
    "a result that is a map",
    "a result that is a big integer",
    "a result that is a symbol",
    "a result that is a function",
    "a result that is a class",
    "a result that is complex",
    "a result with numbers as keys",
    "a result that is a huge number",
    "a result that is very deep",
    "type with three arguments",
)


@pytest.mark.heavy
@pytest.mark.parametrize("language, name", SCRIPTS, ids=[f"{language}-{name}" for language, name in SCRIPTS])
async def test_a_hostile_script_fails_and_touches_nothing(
    language: Language, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_CANARY", SECRET)
    file = put_secret(tmp_path)
    script = read_script(text_of(language, name), language)
    async with port_that_nobody_may_call() as port:
        start = start_of(script, args={"file": str(file), "port": port}, limits=LIMITS)
        async with await Sandbox.open(language) as sandbox:
            ran = await drive(sandbox, start)
    if name in MADE_JSON:
        assert isinstance(ran.stop, ScriptDone)
        assert any("Not everything is JSON" in warning for warning in ran.warnings) or name in IGNORED
    else:
        assert isinstance(ran.stop, ScriptFailed), f"it got what it wanted: {str(ran.stop)[:200]}"
        assert 3 < len(ran.stop.message) < 5000
    assert SECRET not in str(ran.said) + str(ran.stop)
    untouched(tmp_path)
    await gone(sandbox.pid)


@pytest.mark.parametrize("name", hostile_py.REFUSED)
def test_what_the_sandbox_lacks_is_refused_before_anything_runs(name: str) -> None:
    with pytest.raises(BadScript) as refused:
        read_script(META["python"] + hostile_py.REFUSED[name], "python")
    assert refused.value.line is not None
    assert refused.value.line >= 2


def test_there_are_enough_hostile_scripts() -> None:
    assert len(hostile_js.HOSTILE) >= 60
    assert len(hostile_py.HOSTILE) >= 60
