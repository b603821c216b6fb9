"""One server for the commands of a module, on the demo model."""

from collections.abc import Iterator

import pytest

from tests.cli.serving import Server, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(tmp_path_factory.mktemp("server")) as running:
        yield running
