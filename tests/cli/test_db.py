"""`holdfast db` as a person runs it: in a process of its own, with its exit code and its sentences."""

import json
from pathlib import Path

import pytest

from tests.cli.running import holdfast

# Each line is a process.
pytestmark = pytest.mark.heavy


def test_migrate_check_and_backup(tmp_path: Path) -> None:
    data = tmp_path / "data"
    copy = tmp_path / "copy.db"
    assert holdfast("db", "migrate", "--data", data).returncode == 0
    assert holdfast("db", "migrate", "--data", data).stdout == "The database is up to date.\n"
    assert holdfast("db", "check", "--data", data).stdout == "No problems found.\n"
    said = holdfast("db", "backup", copy, "--data", data).stdout.splitlines()
    assert said[0] == f"Wrote {copy}."
    assert "secret.key" in said[1]
    assert "secret.key" in holdfast("db", "backup", "--help").stdout
    assert json.loads(holdfast("db", "check", "--database", f"sqlite:{copy}", "--json").stdout) == []
    assert data.stat().st_mode & 0o777 == 0o700


def test_migrate_and_check_on_postgresql(empty_postgres_url: str) -> None:
    assert holdfast("db", "migrate", "--database", empty_postgres_url).returncode == 0
    assert holdfast("db", "check", "--database", empty_postgres_url).stdout == "No problems found.\n"


def test_a_backup_does_not_overwrite(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("precious")
    assert holdfast("db", "migrate", "--data", tmp_path).returncode == 0
    told = holdfast("db", "backup", taken, "--data", tmp_path)
    assert told.returncode == 1
    assert taken.read_text() == "precious"
    assert "already exists" in holdfast("db", "backup", ".", "--data", tmp_path).stderr


def test_wrong_usage_is_exit_code_two() -> None:
    assert holdfast("db", "no-such-command").returncode == 2
