"""`holdfast run`: where the prompt comes from, what goes along, and what is told of a bad answer."""

import io
import json

import pytest

from holdfast.cli.errand import read_budget, read_prompt
from holdfast.core.errors import InvalidInput, WrongUsage
from tests.cli.serving import Server


class Piped(io.StringIO):
    def isatty(self) -> bool:  # pyright: ignore[reportImplicitOverride]
        return False


class Typing(Piped):
    def isatty(self) -> bool:  # pyright: ignore[reportImplicitOverride]
        return True

    def read(self, size: int | None = -1, /) -> str:  # pyright: ignore[reportImplicitOverride]
        raise AssertionError("a terminal is not read to its end")


@pytest.mark.parametrize(
    "given, piped, prompt",
    [
        ("explain", "the file\n", "explain\n\nthe file"),
        (None, "a prompt\n", "a prompt"),
        ("-", "a prompt", "a prompt"),
        ("explain", "", "explain"),
        ("", "", ""),
    ],
)
def test_argument_and_pipe_are_joined(given: str | None, piped: str, prompt: str) -> None:
    assert read_prompt(given, Piped(piped)) == prompt


def test_a_terminal_is_not_waited_for() -> None:
    assert read_prompt("explain", Typing()) == "explain"
    with pytest.raises(WrongUsage):
        read_prompt(None, Typing())
    with pytest.raises(WrongUsage):
        read_prompt(None, Piped(""))


def test_a_pipe_that_is_no_text() -> None:
    with pytest.raises(InvalidInput, match="--attach"):
        read_prompt("look", io.TextIOWrapper(io.BytesIO(b"\xff\xfe\x00"), encoding="utf-8"))


@pytest.mark.parametrize(
    "text, budget",
    [
        ("500", {"tokens": 500}),
        ("50k", {"tokens": 50_000}),
        ("1.5M", {"tokens": 1_500_000}),
        ("$2", {"cost_usd_micros": 2_000_000}),
        ("0.25usd", {"cost_usd_micros": 250_000}),
    ],
)
def test_budgets(text: str, budget: dict[str, int]) -> None:
    assert read_budget(text) == budget


@pytest.mark.parametrize("text", ["", "much", "-5", "$2k", "1,5usd"])
def test_what_is_no_budget(text: str) -> None:
    with pytest.raises(WrongUsage):
        read_budget(text)


# --- against a server ---


def last_message(server: Server) -> list[dict[str, object]]:
    return json.loads(server.done("logs", "last", "--json").splitlines()[0])["parts"]


@pytest.mark.heavy
def test_a_file_by_the_pipe_stands_below_the_prompt(server: Server) -> None:
    assert server.done("run", "say: read", given="x = 1\ny\t= 2\n") == "read\n"
    assert last_message(server) == [{"type": "text", "text": "say: read\n\nx = 1\ny\t= 2"}]
    assert server.done("run", given="say: alone") == "alone\n"
    nothing = server.run("run", given="")
    assert nothing.returncode == 2
    assert "prompt" in nothing.stderr


@pytest.mark.heavy
def test_files_go_along(server: Server) -> None:
    (server.home / "notes.txt").write_text("some notes\n")
    assert server.done("run", "say: got it", "--attach", "notes.txt") == "got it\n"
    text, file = last_message(server)
    assert text["text"] == "say: got it"
    assert (file["type"], file["name"]) == ("file", "notes.txt")
    missing = server.run("run", "say: hi", "--attach", "missing.txt")
    assert missing.returncode == 1
    assert "missing.txt" in missing.stderr
    uploaded = json.loads(server.done("upload", "notes.txt", "--json"))
    assert uploaded[0]["name"] == "notes.txt"


@pytest.mark.heavy
def test_one_object_at_the_end(server: Server) -> None:
    done = json.loads(server.done("run", "--json-result", "say: One.\ncall: todo\nsay: Two."))
    assert (done["outcome"], done["text"], done["problems"]) == ("finished", "Two.", [])
    assert done["usage"]["total"] > 0
    assert server.done("logs", done["chat_id"])
    failed = server.run("run", "--json-result", "fail: auth")
    assert failed.returncode == 1
    assert json.loads(failed.stdout)["failure"]["kind"] == "auth"
    assert server.run("run", "--json", "--json-result", "say: hi").returncode == 2


@pytest.mark.heavy
@pytest.mark.parametrize(
    "script, code, out, told",
    [
        ("stop: length", 1, "", "cut"),
        ("say: part\nstop: length", 0, "part\n", "cut"),
        ("stop: content_filter", 1, "", "content rules"),
        ("stop: stop", 1, "", "empty answer"),
        ('call: todo {"items": []}\nstop: stop', 0, "", ""),
        ("fail: overloaded 1 times\nsay: there", 0, "there\n", "Retrying in"),
    ],
)
def test_what_is_wrong_is_told_on_standard_error(
    server: Server, script: str, code: int, out: str, told: str
) -> None:
    done = server.run("run", script)
    assert (done.returncode, done.stdout) == (code, out), done
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == (1 if told else 0)


@pytest.mark.heavy
def test_a_new_chat_has_what_was_chosen(server: Server) -> None:
    (server.home / "system.md").write_text("Answer briefly.")
    server.done("agent", "set", "helper", "--description", "helps", "--instructions", "@system.md")
    made = json.loads(
        server.done(
            "run", "--json-result", "--agent", "helper", "--system", "Be kind.", "--budget", "50k",
            "--effort", "low", "--max-steps", "7", "say: hi",
        )
    )  # fmt: skip
    chat = next(one for one in json.loads(server.done("ps", "--json")) if one["id"] == made["chat_id"])
    assert (chat["budget"]["tokens"], chat["effort"], chat["max_steps"]) == (50_000, "low", 7)
    assert server.run("run", "--chat", "last", "--budget", "5", "hi").returncode == 2
    assert server.run("run", "--agent", "nosuch", "hi").returncode == 2


@pytest.mark.heavy
def test_no_more_steps_than_were_allowed(server: Server) -> None:
    done = server.run("run", "--max-steps", "2", "repeat 5: call: todo\nsay: never")
    assert "never" not in done.stdout
    assert "2 steps" in done.stderr


@pytest.mark.heavy
def test_a_failure_is_printed_once(server: Server) -> None:
    with server.terminal("run", "fail: auth") as terminal:
        assert terminal.exit_code() == 1
        assert terminal.screen.text.count("told to fail: auth") == 1
