"""`holdfast db` as a person runs it: in a process of its own, with its exit code and its sentences."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HOLDFAST = Path(sys.executable).parent / "holdfast"


def holdfast(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HOLDFAST, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False
    )


def test_without_arguments_says_what_works() -> None:
    told = holdfast()
    assert told.returncode == 0
    assert "holdfast db migrate" in told.stdout


def test_migrate_check_and_backup(tmp_path: Path) -> None:
    data = tmp_path / "data"
    copy = tmp_path / "copy.db"
    assert holdfast("db", "migrate", "--data", data).returncode == 0
    assert holdfast("db", "migrate", "--data", data).stdout == "The database is up to date.\n"
    assert holdfast("db", "check", "--data", data).stdout == "The database is whole.\n"
    assert holdfast("db", "backup", copy, "--data", data).stdout == f"Wrote {copy}.\n"
    assert json.loads(holdfast("db", "check", "--database", f"sqlite:{copy}", "--json").stdout) == []
    assert data.stat().st_mode & 0o777 == 0o700


def test_migrate_and_check_on_postgresql(postgres_url: str) -> None:
    assert holdfast("db", "migrate", "--database", postgres_url).returncode == 0
    assert holdfast("db", "check", "--database", postgres_url).stdout == "The database is whole.\n"


@pytest.mark.parametrize(
    "url, sentence",
    [
        ("mysql://u:secret@host/db", "does not know"),
        ("sqlite:", "names no file"),
        ("postgresql://u:secret@127.0.0.1:1/db", "127.0.0.1"),
    ],
)
def test_a_wrong_database_is_one_sentence(url: str, sentence: str, tmp_path: Path) -> None:
    told = holdfast("db", "check", "--database", url, "--data", tmp_path)
    assert told.returncode == 1
    assert sentence in told.stderr
    assert told.stderr.startswith("holdfast: ")
    assert told.stderr.count("\n") == 1
    assert "secret" not in told.stderr


def test_a_wrong_password_is_one_sentence(postgres_url: str) -> None:
    user, host = postgres_url.removeprefix("postgresql://").split("@", 1)
    wrong = f"postgresql://{user.split(':')[0]}:not-the-password@{host}"
    told = holdfast("db", "migrate", "--database", wrong)
    assert told.returncode == 1
    assert "password" in told.stderr
    assert "not-the-password" not in told.stderr


def test_a_missing_database_says_how_to_make_one(tmp_path: Path) -> None:
    told = holdfast("db", "check", "--data", tmp_path / "nowhere")
    assert told.returncode == 1
    assert "holdfast db migrate" in told.stderr


def test_a_backup_does_not_overwrite(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("precious")
    assert holdfast("db", "migrate", "--data", tmp_path).returncode == 0
    told = holdfast("db", "backup", taken, "--data", tmp_path)
    assert told.returncode == 1
    assert taken.read_text() == "precious"


def test_wrong_usage_is_exit_code_two() -> None:
    assert holdfast("db", "no-such-command").returncode == 2
