"""Every key of the configuration with its type, bounds, default and meaning. Reading, checking, reloading and
the reference page are all driven by these records."""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from holdfast.config.hook_section import HookSection
from holdfast.core.chats import Writes
from holdfast.core.debug_runs import DebugMode
from holdfast.core.secret import Secret
from holdfast.core.shapes import Json, Record
from holdfast.providers.configs import ModelConfig, ProviderConfig
from holdfast.tools.approval import Policy
from holdfast.tools.hooks.definitions import Hook
from holdfast.tools.mcp.entries import ServerEntry, ServerFields

OnUncertain = Literal["tell", "ask"]
Network = Literal["none", "internet", "host"]


class ServerSection(Record, frozen=True, kw_only=True):
    host: Annotated[str, Meta(description="The address to listen on.")] = "127.0.0.1"
    port: Annotated[
        int, Meta(ge=0, le=65_535, description="The port to listen on; 0 takes any free one.")
    ] = 8420
    data: Annotated[
        Path,
        Meta(
            description="The directory for the database, files and keys. With `XDG_DATA_HOME` set, the "
            "default is `$XDG_DATA_HOME/holdfast`."
        ),
    ] = Path("~/.local/share/holdfast")
    hosts: Annotated[
        tuple[str, ...],
        Meta(
            description="Names by which browsers and programs reach the server, besides localhost. Required "
            "when `host` lets other machines in."
        ),
    ] = ()
    proxies: Annotated[
        tuple[str, ...],
        Meta(
            description="Addresses of proxies in front of the server (`127.0.0.1`, `10.0.0.0/8`): their "
            "`X-Forwarded-For` header is trusted, so that failed sign-ins are counted per client. "
            "Nobody else's is."
        ),
    ] = ()
    drain_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=600,
            description="How long a stopping server still answers while `/readyz` says `stopping`, so that "
            "load balancers notice in time. Ctrl-C on a terminal does not wait.",
        ),
    ] = 2.0
    secret_key: (
        Annotated[
            Secret,
            Meta(
                description="Seals stored provider keys: 32 random bytes in base64 or hexadecimal. If not "
                "set, the file `secret.key` in the data directory is used, and created at the "
                "first start. Replicas that share a PostgreSQL must share it."
            ),
        ]
        | None
    ) = None


class DatabaseSection(Record, frozen=True, kw_only=True):
    url: Annotated[
        Secret,
        Meta(
            description='`"sqlite"` (a file in the data directory), `"sqlite:PATH"` or '
            '`"postgresql://user@host/database"`.'
        ),
    ] = Secret("sqlite")


class BusSection(Record, frozen=True, kw_only=True):
    url: Annotated[
        Secret,
        Meta(
            description="How replicas notify each other. Empty: in process, or through PostgreSQL; or "
            '`"redis://host"` (`pip install "holdfast[redis]"`), `"rediss://..."` with TLS, '
            '`"unix://..."`. Streamed text passes through it.'
        ),
    ] = Secret("")


class WorkerSection(Record, frozen=True, kw_only=True):
    enabled: Annotated[
        bool, Meta(description="Whether this process runs chats, besides serving requests.")
    ] = True
    max_chats: Annotated[
        int, Meta(ge=1, le=100_000, description="Top-level chats that run at once; others wait.")
    ] = 100
    max_agents: Annotated[
        int, Meta(ge=1, le=100_000, description="Sub-agents and agents of workflows that run at once.")
    ] = 100
    max_per_user: Annotated[
        int, Meta(ge=1, le=100_000, description="Chats of one user that run at once.")
    ] = 50
    lease_seconds: Annotated[
        float,
        Meta(
            ge=3,
            le=300,
            description="How long the chats of a dead worker are held before others may take them.",
        ),
    ] = 15.0
    grace_seconds: Annotated[
        float, Meta(ge=0, le=3600, description="How long running calls get to finish when the server stops.")
    ] = 15.0


class LimitsSection(Record, frozen=True, kw_only=True):
    queue: Annotated[int, Meta(ge=1, le=1000, description="Messages that may wait in one chat.")] = 20
    steps: Annotated[int, Meta(ge=1, le=1_000_000, description="Model calls in one turn.")] = 1200
    closing: Annotated[
        bool,
        Meta(
            description="Whether the model may sum up, without tools, before a limit or a loop ends its turn."
        ),
    ] = True
    agent_depth: Annotated[
        int, Meta(ge=0, le=100, description="How deep sub-agents may be nested; 0 allows none.")
    ] = 4
    agents_per_chat: Annotated[
        int, Meta(ge=0, le=10_000, description="Sub-agents that one chat may have.")
    ] = 32


class WorkspacesSection(Record, frozen=True, kw_only=True):
    roots: Annotated[
        tuple[Path, ...], Meta(description="Directories below which workspaces may be created.")
    ] = (Path("~/code"),)
    check: Annotated[
        str,
        Meta(
            description="The command that checks a workspace after files were written, run behind the wall; "
            "failures are reported to the model. `auto`: what the project's own files name "
            "(package.json, Makefile, pyproject.toml). `off`: none."
        ),
    ] = "auto"
    check_seconds: Annotated[
        float, Meta(ge=1, le=3600, description="Timeout of a check, after which it counts as failed.")
    ] = 60.0


class TemplatesSection(Record, frozen=True, kw_only=True):
    roots: Annotated[
        tuple[str, ...],
        Meta(
            description="Where templates of workspaces are: directories with templates in them (agents must "
            "not be able to write there, so not below `workspaces.roots`), and `https` addresses of git "
            "repositories, with `#` and a branch, tag or commit."
        ),
    ] = ()


class SandboxSection(Record, frozen=True, kw_only=True):
    network: Annotated[
        Network,
        Meta(
            description="What commands can reach. `internet`: the internet, through the chat's own network, "
            "but neither this machine's other programs nor private addresses. `none`: only each "
            "other. `host`: everything this machine can reach. Where `internet` is not available, "
            "commands have no network, and `holdfast doctor` says why."
        ),
    ] = "internet"


class WebSection(Record, frozen=True, kw_only=True):
    search: Annotated[
        Literal["", "searxng", "brave", "tavily", "exa"],
        Meta(description="The service behind `web_search`. Without one the tool is not offered."),
    ] = ""
    url: Annotated[
        str, Meta(description="Where the service is; needed for `searxng`, which you run yourself.")
    ] = ""
    api_key: Annotated[Secret, Meta(description="The key of the search service.")] = Secret("")
    allow: Annotated[
        tuple[str, ...],
        Meta(description="Hosts that `web_fetch` may reach, with everything below them. Empty: all."),
    ] = ()
    deny: Annotated[
        tuple[str, ...], Meta(description="Hosts that `web_fetch` never reaches, with everything below them.")
    ] = ()
    ports: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=65_535)], ...], Meta(description="Ports that `web_fetch` may use.")
    ] = (80, 443)


class ToolChoice(Record, frozen=True, kw_only=True):
    """`[tools.<name>]`: settings for one tool."""

    approval: Annotated[Policy, Meta(description="As above, for this tool.")] | None = None
    on_uncertain: Annotated[OnUncertain, Meta(description="As above, for this tool.")] | None = None
    timeout_seconds: (
        Annotated[
            float,
            Meta(ge=1, le=86_400, description="Timeout of a call; otherwise the tool's own default."),
        ]
        | None
    ) = None


class ToolsSection(Record, frozen=True, kw_only=True):
    approval: Annotated[
        Policy,
        Meta(
            description="Whose approval a call needs. `auto`: what stays in the workspace or behind the "
            "operating system's wall runs, everything else asks."
        ),
    ] = "auto"
    on_uncertain: Annotated[
        OnUncertain,
        Meta(description="A call in flight when the server died: tell the model, or ask a person."),
    ] = "tell"
    # Not a key: the tables `[tools.<name>]`.
    named: dict[str, ToolChoice] = {}  # noqa: RUF012 - msgspec copies it


class CompactionSection(Record, frozen=True, kw_only=True):
    threshold: Annotated[
        int,
        Meta(
            ge=0,
            le=100,
            description="Percent of a model's context at which history is summarised; 100: never.",
        ),
    ] = 70
    model: Annotated[str, Meta(description="The model that summarises. Empty: the chat's own.")] = ""
    prompt: Annotated[
        str, Meta(description="What the model is asked for instead of the built-in text. Empty: that text.")
    ] = ""
    seconds: Annotated[
        float, Meta(ge=1, le=3600, description="How long one attempt at a summary may take.")
    ] = 90.0


class TitlesSection(Record, frozen=True, kw_only=True):
    model: Annotated[
        str,
        Meta(
            description="The model that writes titles and summaries: it is called once after the first "
            "exchange of a chat, for its title, and once after each turn, for its one-line "
            "summary. Empty: no call, the first line is used."
        ),
    ] = ""
    summaries: Annotated[
        bool,
        Meta(description="Whether `titles.model` also writes the summaries. Off: only one call per chat."),
    ] = True


class ModelsSection(Record, frozen=True, kw_only=True):
    """The keys besides the tables `[models.<name>]`."""

    default: Annotated[
        str,
        Meta(
            description="The default model. Empty: what `holdfast model default` chose, else "
            "`[models.default]`, else the first."
        ),
    ] = ""


class FilesSection(Record, frozen=True, kw_only=True):
    max_mib: Annotated[int, Meta(ge=1, le=1024, description="The largest file that may be uploaded.")] = 20
    quota_mib: Annotated[
        int,
        Meta(
            ge=0,
            le=1_048_576,
            description="How much the files of one user may take in total, including those of their agents; "
            "0: no limit. Files that no chat uses any more are deleted after a day.",
        ),
    ] = 2048


class WorkflowsSection(Record, frozen=True, kw_only=True):
    budget: Annotated[
        int,
        Meta(
            ge=0,
            le=10**15,
            description=(
                "Output tokens after which a run without a budget of its own starts no more agents; 0: any."
            ),
        ),
    ] = 100_000
    max_runs: Annotated[int, Meta(ge=1, le=1000, description="Runs that execute at once.")] = 3
    max_concurrency: Annotated[int, Meta(ge=1, le=1000, description="Calls of one run at once.")] = 16
    max_agents: Annotated[int, Meta(ge=1, le=100_000, description="Agents that one run may start.")] = 1000
    cpu_seconds: Annotated[
        float, Meta(ge=1, le=3600, description="CPU time that a script may use between two calls.")
    ] = 30.0
    memory_mib: Annotated[int, Meta(ge=16, le=65_536, description="Memory of one script.")] = 128
    agent_seconds: Annotated[
        float, Meta(ge=1, le=604_800, description="How long one agent of a run may take.")
    ] = 1800.0
    run_seconds: Annotated[
        float, Meta(ge=0, le=31_536_000, description="How long a whole run may take; 0: no limit.")
    ] = 0.0


class ChangesSection(Record, frozen=True, kw_only=True):
    writes: Annotated[
        Writes,
        Meta(
            description="Where agents write by default. `direct`: into the workspace. `review`: into a "
            "draft, from which a person applies what is good."
        ),
    ] = "direct"
    keep_days: Annotated[
        int, Meta(ge=1, le=3650, description="How long checkpoints of workspaces are kept.")
    ] = 30
    max_mib: Annotated[
        int,
        Meta(
            ge=16,
            le=1_048_576,
            description="How much the checkpoints of one workspace may take; the oldest go first.",
        ),
    ] = 2048


class DebugSection(Record, frozen=True, kw_only=True):
    mode: Annotated[
        DebugMode,
        Meta(
            description="Which chats have a debug record of what models were asked and what they answered. "
            "`off`: none. `allow`: those for which their owner switches it on. `on`: all."
        ),
    ] = "allow"
    keep_days: Annotated[int, Meta(ge=1, le=3650, description="How long debug records are kept.")] = 7


class ModeChoice(Record, frozen=True, kw_only=True):
    """`[modes.<name>]`: a mode of one's own."""

    tools: Annotated[
        tuple[str, ...],
        Meta(description="The only tools that may be used in this mode; every other call is denied."),
    ] = ()
    instructions: Annotated[str, Meta(description="What the model is told when the mode begins.")] = ""


class BudgetSection(Record, frozen=True, kw_only=True):
    tokens: Annotated[
        int, Meta(ge=0, le=10**15, description="Tokens that a chat with its sub-agents may use; 0: no limit.")
    ] = 0
    cost_usd: Annotated[
        float,
        Meta(ge=0, le=10**9, description="Dollars that a chat with its sub-agents may cost; 0: no limit."),
    ] = 0.0


class McpSection(ServerFields, frozen=True, kw_only=True):
    """`[mcp.<name>]`: an MCP server for all users."""

    env: Annotated[
        dict[str, Json],
        Meta(description='Variables of its program. A value may be `"env:NAME"` or `"file:PATH"`.'),
    ] = {}  # noqa: RUF012 - msgspec copies it
    headers: Annotated[
        dict[str, Json],
        Meta(description='Headers of requests to `url`. A value may be `"env:NAME"` or `"file:PATH"`.'),
    ] = {}  # noqa: RUF012


class Config(Record, frozen=True, kw_only=True):
    """The whole configuration. `providers` and `models` are those of the file and the environment; see
    `sources` for what is merged with them."""

    server: ServerSection = ServerSection()
    database: DatabaseSection = DatabaseSection()
    bus: BusSection = BusSection()
    worker: WorkerSection = WorkerSection()
    limits: LimitsSection = LimitsSection()
    workspaces: WorkspacesSection = WorkspacesSection()
    templates: TemplatesSection = TemplatesSection()
    sandbox: SandboxSection = SandboxSection()
    tools: ToolsSection = ToolsSection()
    compaction: CompactionSection = CompactionSection()
    titles: TitlesSection = TitlesSection()
    files: FilesSection = FilesSection()
    workflows: WorkflowsSection = WorkflowsSection()
    budget: BudgetSection = BudgetSection()
    changes: ChangesSection = ChangesSection()
    web: WebSection = WebSection()
    debug: DebugSection = DebugSection()
    # The tables `[modes.<name>]`.
    modes: dict[str, ModeChoice] = {}  # noqa: RUF012 - msgspec copies it
    providers: tuple[ProviderConfig, ...] = ()
    models: tuple[ModelConfig, ...] = ()
    mcp: tuple[ServerEntry, ...] = ()
    hooks: tuple[Hook, ...] = ()
    # `[models] default = "name"`.
    default_model: str = ""
    # Names of these that come only from the environment, as in "models.fast".
    only_in_environment: frozenset[str] = frozenset()
    # The file that was read, if any.
    file: Path | None = None
    # Files that secrets are read from (`file:PATH`).
    key_files: tuple[Path, ...] = ()


# The sections that hold keys, by name.
SECTIONS: dict[str, type[Record]] = {
    "server": ServerSection,
    "database": DatabaseSection,
    "bus": BusSection,
    "worker": WorkerSection,
    "limits": LimitsSection,
    "workspaces": WorkspacesSection,
    "templates": TemplatesSection,
    "sandbox": SandboxSection,
    "tools": ToolsSection,
    "compaction": CompactionSection,
    "titles": TitlesSection,
    "files": FilesSection,
    "workflows": WorkflowsSection,
    "budget": BudgetSection,
    "changes": ChangesSection,
    "web": WebSection,
    "debug": DebugSection,
    "models": ModelsSection,
}
# Those with a table per name, `[providers.<name>]`, and what such a table contains.
NAMED_SECTIONS: dict[str, type[Record]] = {
    "tools": ToolChoice,
    "modes": ModeChoice,
    "providers": ProviderConfig,
    "models": ModelConfig,
    "mcp": McpSection,
}
# Tables of which there may be several, `[[hooks]]`; only in the file.
LISTED_SECTIONS: dict[str, type[Record]] = {"hooks": HookSection}
# What a running server applies when it reads its configuration again; the rest needs a restart.
RELOADED = frozenset(
    {
        "debug",
        "limits",
        "tools",
        "compaction",
        "titles",
        "workflows",
        "budget",
        "changes",
        "web",
        "modes",
        "providers",
        "models",
        "mcp",
        "hooks",
    }
)


def needs_restart(running: Config, read: Config) -> tuple[str, ...]:
    """The keys that differ and are only read at the start, as "section.key"; and new key files, because the
    wall hides from commands only those known at the start."""
    keys = tuple(
        f"{name}.{key}"
        for name, section in SECTIONS.items()
        if name not in RELOADED
        for key in section.__struct_fields__
        if getattr(getattr(running, name), key) != getattr(getattr(read, name), key)
    )
    return (*keys, *(f"file:{path}" for path in read.key_files if path not in running.key_files))
