"""The first hour, as the README tells it: a fresh clone, `make run`, the link in a browser, a chat in a
terminal, a model of one's own, work in a repository, and a kill in between. It installs everything anew."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.cli.terminals import terminal
from tests.e2e.conftest import FLAGS, PATIENCE_MS, chromium
from tests.house.test_wheel import clone
from tests.local_model import LocalModel

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
SETUP_SECONDS = 2400.0


class Checkout:
    """A clone, and `make run` in it."""

    def __init__(self, home: Path) -> None:
        self.path = clone(home / "holdfast")
        self.home = home
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "HOLDFAST_SERVER_PORT": str(self.port),
            **{
                name: value for name, value in os.environ.items() if name.startswith(("PIP_", "NPM_", "npm_"))
            },
        }
        # What a person sees; the log goes to standard error where that is no terminal.
        self.said: list[str] = []
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    def run(self) -> str:
        """Until the link is printed, which is answered."""
        self._process = subprocess.Popen(
            ["make", "run"],
            cwd=self.path,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        found: list[str] = []
        printed = threading.Event()

        def read(lines: Iterator[str]) -> None:
            for line in lines:
                self.said.append(line.rstrip("\n"))
                if link := re.search(r"http://\S+/login#token=\S+", line):
                    found.append(link[0])
                    printed.set()
            printed.set()

        self._reader = threading.Thread(target=read, args=(self._process.stdout,))
        self._reader.start()
        assert printed.wait(SETUP_SECONDS), self.said
        assert found, "\n".join(self.said)
        return found[0]

    def kill(self) -> None:
        """As a power cut would: make, the server and all."""
        if self._process is not None and self._reader is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._reader.join()
            self._process.communicate()
            self._process = None

    def holdfast(self, *arguments: str, within: Path | None = None) -> str:
        done = subprocess.run(
            [self.path / ".venv" / "bin" / "holdfast", *arguments],
            cwd=within or self.home,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, done
        return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    home = tmp_path_factory.mktemp("fresh")
    made = Checkout(home)
    yield made
    made.kill()
    shutil.rmtree(home, ignore_errors=True)


def test_the_first_hour(checkout: Checkout, local_model: LocalModel) -> None:
    began = time.monotonic()
    link = checkout.run()
    _says_what_it_installs_first(checkout.said)
    print(f"\nfrom the clone to the link: {time.monotonic() - began:.0f} s")
    _signs_in_and_tries_the_demo(link)

    program = checkout.path / ".venv" / "bin" / "holdfast"
    with terminal("chat", environ=checkout.environ, program=program) as shown:
        shown.wait_for("This is the demo model. Try:")
        shown.enter("Show me a tool call")
        shown.wait_for("notes.md")
        shown.type("\x04")

    # Work in a repository; the power fails while the agent is at it.
    repository = checkout.home / "code" / "demo"
    repository.mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=repository, check=True)
    writes = 'call: write_file {"path": "a.md", "content": "one"}'
    script = f'{writes}\nwait: 5\ncall: read_file {{"path": "a.md"}}\nsay: Done.'
    working = subprocess.Popen(
        [program, "run", "-w", ".", script],
        cwd=repository,
        env=checkout.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    _until((repository / "a.md").exists)
    checkout.kill()
    checkout.run()
    assert working.communicate(timeout=600)[0].strip() == "Done."
    [chat] = [one for one in json.loads(checkout.holdfast("ps", "--json")) if "write_file" in one["title"]]
    assert chat["status"] == "idle"

    # A model of one's own, as "Your first model" says it.
    name = local_model.name
    checkout.holdfast("provider", "set", "local", "--kind", "llamacpp", "--base-url", local_model.base_url)
    assert name in checkout.holdfast("model", "discover", "local")
    named = ("--provider", "local", "--model", name)
    checkout.holdfast("model", "set", name, *named, "--no-tools", "--max-output", "32")
    checkout.holdfast("model", "default", name)
    assert checkout.holdfast("run", "Say hello.").strip()


def _says_what_it_installs_first(said: list[str]) -> None:
    """And the next thing to read is the link."""
    told = next(number for number, line in enumerate(said) if "this checkout needs, and gets now" in line)
    assert any("Python packages" in line for line in said[told:])
    assert not any("chromium" in line.lower() for line in said)
    before = said[: next(number for number, line in enumerate(said) if "/login#token=" in line)]
    assert [line for line in before if not line.startswith(("==> ", "      ", "Holdfast is listening"))] == []


def _signs_in_and_tries_the_demo(link: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(link)
        page.get_by_role("button", name="A tool call").click()
        expect(page.get_by_test_id("call").first).to_be_visible()
        expect(page.get_by_test_id("live")).to_have_count(0)
        browser.close()


def _until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.05)
