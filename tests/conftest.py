"""What every test may use: one PostgreSQL server a session, a database a test, patient Hypothesis."""

import gc
import os
import secrets
import signal
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings

from tests import postgres as starter
from tests import redis_server
from tests.local_model import LocalModel, LocalModelUnavailable, installed_packages
from tests.postgres import Databases, Postgres
from tests.postgres_binaries import PostgresUnavailable
from tests.ready_databases import ReadyDatabases
from tests.redis_server import RedisServer

# A deadline fails on a busy machine, not on a bug. CI must give the same answer twice, a person's run may
# explore.
settings.register_profile("holdfast", deadline=None, print_blob=True, derandomize="CI" in os.environ)
settings.load_profile("holdfast")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Started in the background by a script: what tests start would ignore it too, for ever.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):  # an xdist worker joins the session of its controller
        starter.begin_session()


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        starter.end_session()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """What is collected stays to the end: the garbage collector does not look at it, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(scope="session")
def postgres() -> Databases:
    """The server that all tests share: make databases on it, never stop it."""
    try:
        return starter.shared()
    except PostgresUnavailable as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def ready_databases(postgres: Databases) -> Iterator[ReadyDatabases]:
    databases = ReadyDatabases(postgres)
    yield databases
    databases.close()


@pytest.fixture
def postgres_url(ready_databases: ReadyDatabases) -> Iterator[str]:
    """The address of a database of the test's own: our tables, and nothing in them."""
    lent = ready_databases.borrow()
    yield lent.url
    ready_databases.give_back(lent)


@pytest.fixture
def empty_postgres_url(postgres: Databases) -> Iterator[str]:
    """The address of a database without any table, for tests of how it gets them."""
    name = f"t_{secrets.token_hex(8)}"
    yield postgres.create_database(name)
    postgres.drop_database(name)


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """A running server of the test's own (about two seconds), to restart, stop or kill."""
    try:
        server = Postgres()
        server.start()
    except PostgresUnavailable as error:
        pytest.fail(str(error), pytrace=False)
    yield server
    server.remove()


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Redis that all tests share, where there is one to start."""
    program = redis_server.program()
    if program is None:
        pytest.skip("There is no redis-server here; Debian has it as the package redis-server.")
    server = RedisServer(program, tmp_path_factory.mktemp("redis"))
    server.start()
    yield server.url
    server.stop()


@pytest.fixture(scope="session")
def local_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalModel]:
    """A real model behind llama.cpp, for slow tests: it says about ten words a second."""
    try:
        model = LocalModel(installed_packages(), tmp_path_factory.mktemp("llama") / "log")
        model.start()
    except LocalModelUnavailable as error:
        pytest.fail(str(error), pytrace=False)
    yield model
    model.stop()
