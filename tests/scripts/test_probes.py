"""The guide's list of what the sandboxes have and lack is what trying each thing shows."""

import pytest

from tests.scripts.probes import section, written


@pytest.mark.heavy
async def test_the_guide_lists_what_the_sandboxes_lack() -> None:
    assert written() == await section(), "run .venv/bin/python -m tests.scripts.probes"
