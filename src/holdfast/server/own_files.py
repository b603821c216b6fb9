"""The server's own files on this machine, besides its data directory: the configuration, the files that keys
are read from, the database. They are hidden from agents wherever they are."""

from collections.abc import Mapping
from pathlib import Path

from holdfast.config.places import config_directory
from holdfast.config.sections import Config
from holdfast.store.open import is_postgres, sqlite_file

# What SQLite and our lock keep next to a database file.
_BESIDE = ("", "-wal", "-shm", "-journal", ".lock")


def own_paths(config: Config, environ: Mapping[str, str]) -> tuple[Path, ...]:
    file = () if config.file is None else (config.file,)
    return (config_directory(environ), *file, *config.key_files, *_database(config))


def _database(config: Config) -> tuple[Path, ...]:
    """The files of a database outside the data directory."""
    url, data = config.database.url.reveal(), config.server.data
    if is_postgres(url):
        return ()
    file = sqlite_file(url, data)
    if file.is_relative_to(data):
        return ()
    return tuple(file.with_name(file.name + end) for end in _BESIDE)
