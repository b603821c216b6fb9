"""Which place wins, what each key accepts, and the errors for invalid values."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from holdfast.config.load import Flags, check_tools, load
from holdfast.config.sections import LISTED_SECTIONS, NAMED_SECTIONS, SECTIONS, Config, ToolChoice
from holdfast.config.values import keys_of
from holdfast.core.errors import BadConfig, CannotStart
from holdfast.core.secret import Secret
from holdfast.providers.configs import ModelConfig, ProviderConfig
from holdfast.providers.registry import complete
from tests.config.conftest import Loading, file_of

# As the design has it, with a space for each line break.
DESIGNED = """
[server]
host = "127.0.0.1"
port = 8420
data = "~/.local/share/holdfast"
hosts = []
[database]
url = "sqlite"
[bus]
url = ""
[worker]
enabled = true
max_chats = 100
max_agents = 100
max_per_user = 50
lease_seconds = 15
grace_seconds = 15
[limits]
queue = 20
steps = 1200
agent_depth = 4
agents_per_chat = 32
[workspaces]
roots = ["~/code"]
[tools]
approval = "auto"
on_uncertain = "tell"
[compaction]
threshold = 70
model = ""
[titles]
model = ""
[files]
max_mib = 20
[workflows]
max_runs = 3
max_concurrency = 16
max_agents = 1000
cpu_seconds = 30
memory_mib = 128
agent_seconds = 1800
run_seconds = 0
[budget]
tokens = 0
cost_usd = 0
"""


def refused(loading: Loading, toml: str | None = None, **more: Any) -> str:
    with pytest.raises(BadConfig) as error:
        loading(toml, **more)
    assert isinstance(error.value, CannotStart)
    assert "\n" not in error.value.text
    return error.value.text


# Which place wins


def test_the_defaults_are_the_designed_ones(loading: Loading, tmp_path: Path) -> None:
    bare = loading()
    written = loading(DESIGNED)
    assert written.file == file_of(tmp_path)
    for name in SECTIONS:
        assert getattr(bare, name) == getattr(written, name)
    assert bare.file is None
    assert bare.server.data == tmp_path / "home" / ".local/share/holdfast"
    assert bare.workspaces.roots == (tmp_path / "home" / "code",)


def test_the_nearest_place_wins(loading: Loading, tmp_path: Path) -> None:
    file = "[server]\nport = 1\n[database]\nurl = 'sqlite:one'"
    assert loading(file).server.port == 1
    assert loading(file, HOLDFAST_SERVER_PORT="2").server.port == 2
    flags = Flags(port=3, host="::1", data=tmp_path / "d", database="sqlite:three")
    config = loading(
        file,
        flags=flags,
        HOLDFAST_SERVER_PORT="2",
        HOLDFAST_DATABASE_URL="sqlite:two",
        HOLDFAST_SERVER_HOST="::2",
    )
    assert (config.server.port, config.server.host, config.server.data) == (3, "::1", tmp_path / "d")
    assert config.database.url.reveal() == "sqlite:three"


def test_the_file_is_the_flags_then_the_variables_then_the_homes(loading: Loading, tmp_path: Path) -> None:
    in_xdg = tmp_path / "xdg" / "holdfast" / "holdfast.toml"
    named, by_flag = tmp_path / "named.toml", tmp_path / "flag.toml"
    for path, port in ((file_of(tmp_path), 1), (in_xdg, 2), (named, 3), (by_flag, 4)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"[server]\nport = {port}")
    xdg = {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    assert loading().server.port == 1
    assert loading(**xdg).server.port == 2
    assert loading(HOLDFAST_CONFIG=str(named), **xdg).server.port == 3
    assert loading(flags=Flags(config=by_flag), HOLDFAST_CONFIG=str(named), **xdg).server.port == 4
    assert str(tmp_path / "nothing") in refused(loading, flags=Flags(config=tmp_path / "nothing"))
    assert "HOLDFAST_CONFIG" in refused(loading, HOLDFAST_CONFIG=str(tmp_path / "nothing"))


def test_data_follows_xdg_unless_it_is_chosen(loading: Loading, tmp_path: Path) -> None:
    xdg = {"XDG_DATA_HOME": str(tmp_path / "x")}
    assert loading(**xdg).server.data == tmp_path / "x" / "holdfast"
    assert loading("[server]\ndata = '~/mine'", **xdg).server.data == tmp_path / "home" / "mine"
    assert loading("[server]\ndata = 'here'").server.data == tmp_path / "work" / "here"


# What is taken


LISTS = ("hosts", "proxies", "roots", "allow", "deny", "ports")


def _other(name: str, key: str) -> object:
    """A value that the key takes and that is not its default."""
    special = {
        "host": "localhost",
        "hosts": ["a.example", "b.example"],
        "proxies": ["127.0.0.1", "10.0.0.0/8"],
        "roots": ["/a", "/b"],
        "approval": "deny",
        "on_uncertain": "ask",
        "secret_key": "s",
        "enabled": False,
        "model": "m",
        "data": "/d",
        "check": "make test",
        "url": "redis://h" if name == "bus" else f"{name}:x",
        "lease_seconds": 20,
        "memory_mib": 64,
        "network": "none",
        "writes": "review",
        "max_mib": 64,
        "quota_mib": 64,
        "summaries": False,
        "closing": False,
        "prompt": "In short.",
        "search": "brave",
        "api_key": "k",
        "allow": ["a.example"],
        "deny": ["b.example"],
        "ports": [8080],
        "mode": "on",
        "keep_days": 9,
    }
    return special.get(key, 7)


# The key of [models] stands beside its tables: see test_findings.
@pytest.mark.parametrize("section", [name for name in SECTIONS if name != "models"])
def test_every_key_is_read_from_the_file_and_from_the_environment(loading: Loading, section: str) -> None:
    for key in keys_of(SECTIONS[section]):
        value: Any = _other(section, key)
        read = getattr(getattr(loading(f"[{section}]\n{key} = {json.dumps(value)}"), section), key)
        assert read != getattr(getattr(Config(), section), key)
        variable = f"HOLDFAST_{section.upper()}_{key.upper()}"
        for text in [json.dumps(value), ",".join(map(str, value))] if key in LISTS else [str(value)]:
            assert getattr(getattr(loading("", **{variable: text}), section), key) == read


@pytest.mark.parametrize(
    "text, value",
    [("true", True), ("YES", True), ("on", True), ("1", True), ("0", False), ("off", False)],
)
def test_flags_in_variables(loading: Loading, text: str, value: bool) -> None:
    assert loading(HOLDFAST_WORKER_ENABLED=text).worker.enabled is value


def test_an_empty_variable_is_not_set(loading: Loading) -> None:
    config = loading("[server]\nport = 7", HOLDFAST_SERVER_PORT="", HOLDFAST_SERVER_HOSTS="")
    assert (config.server.port, config.server.hosts) == (7, ())


def test_tools_by_name(loading: Loading) -> None:
    config = loading(
        '[tools]\napproval = "ask"\n[tools.execute]\napproval = "deny"\ntimeout_seconds = 30',
        HOLDFAST_TOOLS_WEB_FETCH_APPROVAL="allow",
        HOLDFAST_TOOLS_EXECUTE_TIMEOUT_SECONDS="60",
        HOLDFAST_TOOLS_ON_UNCERTAIN="ask",
    )
    assert (config.tools.approval, config.tools.on_uncertain) == ("ask", "ask")
    assert config.tools.named == {
        "execute": ToolChoice(approval="deny", timeout_seconds=60.0),
        "web_fetch": ToolChoice(approval="allow"),
    }


def test_providers_and_models(loading: Loading) -> None:
    config = loading(
        """
        [providers.anthropic]
        api_key = "env:ANTHROPIC_API_KEY"
        [providers.my-local]
        kind = "openai"
        base_url = "http://127.0.0.1:11434/v1"
        api = "chat"
        api_key = "none"
        [models.default]
        provider = "anthropic"
        model = "claude"
        context_limit = 200000
        max_output = 32000
        temperature = 1
        efforts = ["low", "high"]
        inputs = ["text", "image"]
        provider_options = { extra = { deep = [1, 2.5, true] } }
        """,
        HOLDFAST_PROVIDERS_MY_LOCAL_BASE_URL="http://127.0.0.1:9/v1",
        HOLDFAST_PROVIDERS_OTHER_KIND="groq",
        HOLDFAST_MODELS_FAST_PROVIDER="other",
        HOLDFAST_MODELS_FAST_MODEL="quick",
        HOLDFAST_MODELS_FAST_PROVIDER_OPTIONS='{"a": 1}',
    )
    assert config.providers == (
        ProviderConfig(name="anthropic", kind="anthropic", api_key="env:ANTHROPIC_API_KEY"),
        ProviderConfig(name="my-local", kind="openai", base_url="http://127.0.0.1:9/v1", api_key="none"),
        ProviderConfig(name="other", kind="groq"),
    )
    assert config.only_in_environment == {"providers.other", "models.fast"}
    default, fast = config.models
    assert default == ModelConfig(
        name="default",
        provider="anthropic",
        model="claude",
        context_limit=200_000,
        temperature=1.0,
        efforts=("low", "high"),
        inputs=("text", "image"),
        provider_options={"extra": {"deep": [1, 2.5, True]}},
    )
    assert fast == ModelConfig(name="fast", provider="other", model="quick", provider_options={"a": 1})
    assert complete(config.providers, config.models, {}).default == "default"


def test_a_table_without_keys_says_enough(loading: Loading) -> None:
    config = loading("[providers.ollama]\n[tools.execute]")
    assert config.providers == (ProviderConfig(name="ollama", kind="ollama"),)
    assert config.tools.named == {"execute": ToolChoice()}


def test_secrets_are_read_from_where_they_are_said_to_be(loading: Loading, tmp_path: Path) -> None:
    (tmp_path / "home" / "url").write_text("postgresql://u:p@h/d\n")
    toml = '[database]\nurl = "file:~/url"\n[server]\nsecret_key = "env:MY_KEY"\n[bus]\nurl = "redis://h"'
    config = loading(toml, MY_KEY=" k ")
    assert config.database.url == Secret("postgresql://u:p@h/d")
    assert config.server.secret_key == Secret("k")
    assert config.bus.url == Secret("redis://h")
    assert "MY_KEY, which is not set" in refused(loading, toml)
    assert "no-such, which cannot be read" in refused(loading, '[database]\nurl = "file:/no-such"')


# What is refused


@pytest.mark.parametrize(
    "toml, said",
    [
        ("[sever]\nport = 1", "[sever]"),
        ("[sever]\nport = 1", "did you mean server?"),
        ("[server]\nprot = 1", "[server] has no key prot; did you mean port?"),
        ("[server]\nxyz = 1", "there is data, drain_seconds, host, hosts, port, proxies, secret_key."),
        ("[tools]\naproval = 'ask'", "[tools] has no key aproval; did you mean approval?"),
        ("[tools.execute]\naproval = 'ask'", "[tools.execute] has no key aproval; did you mean approval?"),
        ("[providers.x]\nkind = 'openai'\nbase_ulr = 'x'", "did you mean base_url?"),
        ("[providers.x]\nbase_url = 'http://h/v1'", "[providers.x] needs kind ("),
        ("[providers.x]\nkind = 'opnai'", "did you mean openai?"),
        ("[providers.x]\nkind = 'openai'\nbase_url = 'ftp://h'", "base_url must look like"),
        ("[models.x]\nprovider = 'openai'", "[models.x] needs model ("),
        ("[models.x]\nprovider = 'openai'\nmodel = 'm'\ntemperature = 3", "temperature must be from 0 to 2"),
        ("[models.x]\nprovider = 'openai'\nmodel = 'm'\ninputs = ['video']", "words out of image, pdf, text"),
        ("[models]\nx = 1", "[models] has no key x; there is default."),
        ("[models.x]", "[models.x] needs provider and model ("),
        ("[tools.'a b']", "No tool can have a name like 'a b'"),
        ("server = 1", "server must be a section"),
        ("[server]\nport = '8420'", "server.port in"),
        ("[server]\nport = 65536", "must be a whole number from 0 to 65 535."),
        ("[server]\nport = true", "must be a whole number"),
        ("[server]\nport = 1.5", "must be a whole number"),
        ("[server]\nhosts = 'a'", "must be a list of texts"),
        ("[server]\nhosts = ['http://a']", "without scheme, port or wildcard"),
        ("[server]\nhosts = ['*']", "without scheme, port or wildcard"),
        ("[server]\nhosts = ['a:80']", "without scheme, port or wildcard"),
        ('[server]\nhost = "a\\u0000b"', "must be text on one line"),
        ("[server]\ndata = ''", "must be a path"),
        ("[worker]\nenabled = 1", "must be true or false"),
        ("[worker]\nlease_seconds = nan", "must be a number from 3 to 300"),
        ("[worker]\nlease_seconds = inf", "must be a number from 3 to 300"),
        ("[tools]\napproval = 'maybe'", "must be one of allow, ask, auto, deny"),
        ("[compaction]\nthreshold = -1", "from 0 to 100"),
        (
            "[models.x]\nprovider = 'p'\nmodel = 'm'\nprovider_options = {d = 2020-01-01}",
            "a table of JSON values",
        ),
        ("[server\nport = 1", "is not valid TOML"),
        ("[server]\nport = 1\nport = 2", "is not valid TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name(
    loading: Loading, tmp_path: Path, toml: str, said: str
) -> None:
    text = refused(loading, toml)
    assert said in text
    assert str(file_of(tmp_path)) in text


@pytest.mark.parametrize(
    "variable, value, said",
    [
        ("HOLDFAST_SERVER_PORT", "x", "HOLDFAST_SERVER_PORT must be a whole number"),
        ("HOLDFAST_SERVER_PORT", "tcp://10.0.0.1:80", "HOLDFAST_SERVER_PORT must be a whole number"),
        ("HOLDFAST_SERVER_PROT", "1", "did you mean port?"),
        ("HOLDFAST_SERVR_PORT", "1", "did you mean HOLDFAST_SERVER_PORT?"),
        ("HOLDFAST_WORKER_ENABLED", "maybe", "must be true or false"),
        ("HOLDFAST_SERVER_HOSTS", "[1", "written as JSON"),
        ("HOLDFAST_SERVER_HOSTS", "[1]", "must be a list of texts"),
        ("HOLDFAST_PROVIDERS_API_KEY", "x", "names no key of [providers]"),
        ("HOLDFAST_SERVER_HOST", "a\udc80", "must be text on one line"),
    ],
)
def test_a_wrong_variable_is_refused_with_its_name(
    loading: Loading, variable: str, value: str, said: str
) -> None:
    text = refused(loading, **{variable: value})
    assert said in text
    assert variable in text


def test_variables_of_others_are_left_alone(loading: Loading) -> None:
    others = {
        "HOLDFAST_SERVICE_HOST": "10.0.0.1",
        "HOLDFAST_SERVICE_PORT_HTTP": "80",
        "HOLDFAST_PORT": "tcp://10.0.0.1:80",
        "HOLDFAST_SERVER_SERVICE_HOST": "10.0.0.1",
        "HOLDFAST_DATABASE_PORT_5432_TCP": "tcp://10.0.0.1:5432",
        "HOLDFAST_TOKEN": "hf_x",
        "HOLDFAST_URL": "http://h",
        "HOLDFAST_TEST_FSYNC": "1",
    }
    assert loading(**others) == loading()


@pytest.mark.usefixtures("loading")
@pytest.mark.parametrize(
    "name, hint", [("exeucte", "did you mean execute"), ("zzz", "there is execute, read_file")]
)
def test_a_tool_that_is_not_there_is_a_mistake(name: str, hint: str, tmp_path: Path) -> None:
    file = file_of(tmp_path)
    file.parent.mkdir(parents=True)
    file.write_text(f"[tools.{name}]\napproval = 'ask'\n")
    with pytest.raises(BadConfig, match=f"no tool {name} .*{hint}"):
        check_tools(load(Flags(), {}), ("execute", "read_file"))
    file.write_text("[tools.execute]\napproval = 'ask'\n")
    check_tools(load(Flags(), {}), ("execute", "read_file"))


@pytest.mark.parametrize("proxy", ["example.com", "10.0.0.1/8", "*", "10.0.0.0/64"])
def test_proxies_are_addresses(loading: Loading, proxy: str) -> None:
    assert "addresses or networks" in refused(loading, HOLDFAST_SERVER_PROXIES=proxy)


@pytest.mark.parametrize("url", ["redis://h", "rediss://u:p@h:6380/2", "unix:///run/redis.sock", ""])
def test_the_bus_is_empty_or_a_redis(loading: Loading, url: str) -> None:
    assert loading(HOLDFAST_BUS_URL=url).bus.url.reveal() == url


def test_another_bus_is_refused_and_its_password_not_told(loading: Loading) -> None:
    text = refused(loading, HOLDFAST_BUS_URL="amqp://me:hunter2@h")
    assert "HOLDFAST_BUS_URL" in text
    assert "redis://host" in text
    assert "hunter2" not in text


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.com", "[::]"])
def test_other_machines_are_let_in_only_by_name(loading: Loading, host: str) -> None:
    text = refused(loading, flags=Flags(host=host))
    assert "--host would let other machines in" in text
    assert "server.hosts" in text
    config = loading(flags=Flags(host=host), HOLDFAST_SERVER_HOSTS="holdfast.example.com")
    assert config.server.hosts == ("holdfast.example.com",)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost"])
def test_this_machine_needs_no_names(loading: Loading, host: str) -> None:
    assert loading(flags=Flags(host=host)).server.host == host


def test_what_cannot_be_read_is_said(loading: Loading, tmp_path: Path) -> None:
    loading("")
    file_of(tmp_path).write_bytes(b"\xff\xfe")
    assert "UTF-8" in refused(loading)
    (tmp_path / "dir").mkdir()
    assert "cannot be read" in refused(loading, flags=Flags(config=tmp_path / "dir"))


# Nothing is told


CANARY = "canary-5f2d9c1e-secret"


@pytest.mark.parametrize(
    "toml",
    [
        f'[database]\nurl = "postgresql://u:{CANARY}@h/d"',
        f'[bus]\nurl = "redis://:{CANARY}@h"',
        f'[server]\nsecret_key = "{CANARY}"',
        f'[providers.openai]\napi_key = "{CANARY}"',
    ],
)
def test_a_secret_is_shown_nowhere(loading: Loading, toml: str) -> None:
    from rich.pretty import pretty_repr

    config = loading(toml)
    for part in (config, *(getattr(config, name) for name in config.__struct_fields__)):
        for shown in (repr(part), str(part), f"{part}", pretty_repr(part)):
            assert CANARY not in shown


@pytest.mark.parametrize(
    "toml",
    [
        f'[server]\nport = "{CANARY}"',
        f'[server]\nhosts = ["{CANARY}/x"]',
        f'[tools]\napproval = "{CANARY}"',
        f'[database]\nurl = "a\\n{CANARY}"',
        f'[providers.openai]\napi_key = "a\\u0007{CANARY}"',
        f'[providers.openai]\nbase_url = "https://u:{CANARY}@h/v1"',
    ],
)
def test_an_error_does_not_repeat_what_was_written(loading: Loading, toml: str) -> None:
    assert tomllib.loads(toml)
    assert CANARY not in refused(loading, toml)


def test_no_section_is_without_its_reference() -> None:
    assert {*SECTIONS, *NAMED_SECTIONS, *LISTED_SECTIONS} == {
        name
        for name in Config.__struct_fields__
        if name not in ("file", "key_files", "default_model", "only_in_environment")
    }
