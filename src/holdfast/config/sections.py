"""Every key of the configuration with its type, bounds, default and meaning. Reading, checking, reloading and
the reference page are all driven by these records."""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from holdfast.core.chats import Writes
from holdfast.core.secret import Secret
from holdfast.core.shapes import Record
from holdfast.providers.configs import ModelConfig, ProviderConfig
from holdfast.tools.approval import Policy

OnUncertain = Literal["tell", "ask"]
Network = Literal["none", "internet", "host"]


class ServerSection(Record, frozen=True, kw_only=True):
    host: Annotated[str, Meta(description="The address to listen on.")] = "127.0.0.1"
    port: Annotated[
        int, Meta(ge=0, le=65_535, description="The port to listen on; 0 takes one that is free.")
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
            description="Names by which browsers and programs reach the server, beside localhost. Needed "
            "as soon as `host` is more than this machine."
        ),
    ] = ()
    proxies: Annotated[
        tuple[str, ...],
        Meta(
            description="Addresses of proxies in front of the server (`127.0.0.1`, `10.0.0.0/8`): what they "
            "say in `X-Forwarded-For` is believed, to count failed sign-ins by who tried. Nobody else is."
        ),
    ] = ()
    drain_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=600,
            description="How long a server that stops still answers while `/readyz` says `stopping`, so that "
            "load balancers notice before the door closes. Ctrl-C on a terminal does not wait.",
        ),
    ] = 2.0
    secret_key: (
        Annotated[
            Secret,
            Meta(
                description="Seals stored provider keys: 32 random bytes in base64 or hexadecimal digits. "
                "When it is not set, the file `secret.key` in the data directory is used, and made at the "
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
            description="What replicas tell each other by. Empty: in process, or through PostgreSQL; or "
            '`"redis://host"` (`pip install "holdfast[redis]"`), `"rediss://..."` with TLS, `"unix://..."`. '
            "What is streamed passes through it."
        ),
    ] = Secret("")


class WorkerSection(Record, frozen=True, kw_only=True):
    enabled: Annotated[
        bool, Meta(description="Whether this process runs chats, beside serving requests.")
    ] = True
    max_chats: Annotated[
        int, Meta(ge=1, le=100_000, description="Top-level chats that run at once; more wait.")
    ] = 100
    max_agents: Annotated[
        int, Meta(ge=1, le=100_000, description="Sub-agents and agents of workflows that run at once.")
    ] = 100
    max_per_user: Annotated[
        int, Meta(ge=1, le=100_000, description="Chats of one user that run at once.")
    ] = 50
    lease_seconds: Annotated[
        float,
        Meta(ge=3, le=300, description="How long a worker that died holds its chats before others may."),
    ] = 15.0
    grace_seconds: Annotated[
        float, Meta(ge=0, le=3600, description="How long running calls get to end when the server stops.")
    ] = 15.0


class LimitsSection(Record, frozen=True, kw_only=True):
    queue: Annotated[int, Meta(ge=1, le=1000, description="Messages that may wait in one chat.")] = 20
    steps: Annotated[int, Meta(ge=1, le=1_000_000, description="Model calls of one turn.")] = 1200
    agent_depth: Annotated[
        int, Meta(ge=0, le=100, description="How deep sub-agents may start sub-agents; 0 allows none.")
    ] = 4
    agents_per_chat: Annotated[
        int, Meta(ge=0, le=10_000, description="Sub-agents that one chat may have.")
    ] = 32


class WorkspacesSection(Record, frozen=True, kw_only=True):
    roots: Annotated[
        tuple[Path, ...], Meta(description="Directories below which workspaces may be made.")
    ] = (Path("~/code"),)
    check: Annotated[
        str,
        Meta(
            description="The command that checks a workspace after files were written, run behind the wall; "
            "its failure is told to the model. `auto`: what the project's own files name (package.json, "
            "Makefile, pyproject.toml). `off`: none."
        ),
    ] = "auto"
    check_seconds: Annotated[
        float, Meta(ge=1, le=3600, description="After how long a check is ended, and counts as failed.")
    ] = 60.0


class SandboxSection(Record, frozen=True, kw_only=True):
    network: Annotated[
        Network,
        Meta(
            description="What commands reach. `internet`: the internet, through a network of the chat's own, "
            "but neither this machine's other programs nor private addresses. `none`: each other alone. "
            "`host`: all that this machine reaches. Where `internet` cannot be had, commands have none, and "
            "`holdfast doctor` says why."
        ),
    ] = "internet"


class ToolChoice(Record, frozen=True, kw_only=True):
    """`[tools.<name>]`: what differs for one tool."""

    approval: Annotated[Policy, Meta(description="As above, for this tool.")] | None = None
    on_uncertain: Annotated[OnUncertain, Meta(description="As above, for this tool.")] | None = None
    timeout_seconds: (
        Annotated[
            float,
            Meta(ge=1, le=86_400, description="After how long a call is ended; its own default otherwise."),
        ]
        | None
    ) = None


class ToolsSection(Record, frozen=True, kw_only=True):
    approval: Annotated[
        Policy,
        Meta(
            description="Who must agree before a call runs. `auto`: what stays in the workspace or behind "
            "the operating system's wall runs, the rest asks."
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


class TitlesSection(Record, frozen=True, kw_only=True):
    model: Annotated[
        str,
        Meta(
            description="The model that writes titles and summaries: it is called once after the first "
            "exchange of a chat, for its title, and once after each turn, for the line below it. Empty: no "
            "call, the first line is taken."
        ),
    ] = ""
    summaries: Annotated[
        bool,
        Meta(description="Whether `titles.model` also writes the summaries. Off: one call a chat, no more."),
    ] = True


class ModelsSection(Record, frozen=True, kw_only=True):
    """The keys beside the tables `[models.<name>]`."""

    default: Annotated[
        str,
        Meta(
            description="The name of the model that is taken when none is named. Empty: what `holdfast model "
            "default` chose, else `[models.default]`, else the first."
        ),
    ] = ""


class FilesSection(Record, frozen=True, kw_only=True):
    max_mib: Annotated[int, Meta(ge=1, le=1024, description="The largest file that may be uploaded.")] = 20
    quota_mib: Annotated[
        int,
        Meta(
            ge=0,
            le=1_048_576,
            description="How much the files of one user may take together, those of their agents included; "
            "0: any amount. What no chat uses any more is deleted after a day.",
        ),
    ] = 2048


class WorkflowsSection(Record, frozen=True, kw_only=True):
    max_runs: Annotated[int, Meta(ge=1, le=1000, description="Runs that execute at once.")] = 3
    max_concurrency: Annotated[int, Meta(ge=1, le=1000, description="Calls of one run at once.")] = 16
    max_agents: Annotated[int, Meta(ge=1, le=100_000, description="Agents that one run may start.")] = 1000
    cpu_seconds: Annotated[
        float, Meta(ge=1, le=3600, description="Computing that a script may do between two calls.")
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


class ModeChoice(Record, frozen=True, kw_only=True):
    """`[modes.<name>]`: a mode of one's own."""

    tools: Annotated[
        tuple[str, ...],
        Meta(description="The only tools that may be used in this mode; every other call is denied."),
    ] = ()
    instructions: Annotated[str, Meta(description="What the model is told when the mode begins.")] = ""


class BudgetSection(Record, frozen=True, kw_only=True):
    tokens: Annotated[
        int, Meta(ge=0, le=10**15, description="Tokens that a chat with its sub-agents may use; 0: any.")
    ] = 0
    cost_usd: Annotated[
        float, Meta(ge=0, le=10**9, description="Dollars that a chat with its sub-agents may cost; 0: any.")
    ] = 0.0


class Config(Record, frozen=True, kw_only=True):
    """All of it. `providers` and `models` are those of the file and the environment; see `sources` for what
    is merged with them."""

    server: ServerSection = ServerSection()
    database: DatabaseSection = DatabaseSection()
    bus: BusSection = BusSection()
    worker: WorkerSection = WorkerSection()
    limits: LimitsSection = LimitsSection()
    workspaces: WorkspacesSection = WorkspacesSection()
    sandbox: SandboxSection = SandboxSection()
    tools: ToolsSection = ToolsSection()
    compaction: CompactionSection = CompactionSection()
    titles: TitlesSection = TitlesSection()
    files: FilesSection = FilesSection()
    workflows: WorkflowsSection = WorkflowsSection()
    budget: BudgetSection = BudgetSection()
    changes: ChangesSection = ChangesSection()
    # The tables `[modes.<name>]`.
    modes: dict[str, ModeChoice] = {}  # noqa: RUF012 - msgspec copies it
    providers: tuple[ProviderConfig, ...] = ()
    models: tuple[ModelConfig, ...] = ()
    # `[models] default = "name"`.
    default_model: str = ""
    # Names of these that stand in the environment alone, as in "models.fast".
    only_in_environment: frozenset[str] = frozenset()
    # The file that was read, if there is one.
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
    "sandbox": SandboxSection,
    "tools": ToolsSection,
    "compaction": CompactionSection,
    "titles": TitlesSection,
    "files": FilesSection,
    "workflows": WorkflowsSection,
    "budget": BudgetSection,
    "changes": ChangesSection,
    "models": ModelsSection,
}
# Those with a table per name, `[providers.<name>]`, and what such a table holds.
NAMED_SECTIONS: dict[str, type[Record]] = {
    "tools": ToolChoice,
    "modes": ModeChoice,
    "providers": ProviderConfig,
    "models": ModelConfig,
}
# What a running server takes over when it reads its configuration again; the rest needs a restart.
RELOADED = frozenset(
    {
        "limits",
        "tools",
        "compaction",
        "titles",
        "workflows",
        "budget",
        "changes",
        "modes",
        "providers",
        "models",
    }
)

# What the keys of providers and models mean: their records belong to `providers`.
MEANINGS: dict[str, str] = {
    "providers.kind": "Which interface it speaks; not needed when the table has the name of a kind.",
    "providers.base_url": "Where it is. `openai` and those alike with `/v1`, `anthropic` without. Default: "
    "the kind's own address.",
    "providers.api": "The wire format. `responses` is for later: today every provider is called with `chat`.",
    "providers.api_key": 'The key: `"env:NAME"`, `"file:PATH"`, the key itself, or `"none"` for a server '
    "that wants none. Default: the kind's usual variable.",
    "providers.enabled": "Whether its models may be called.",
    "models.provider": "The name of its provider.",
    "models.model": "The model's id at the provider.",
    "models.context_limit": "Tokens of its context. Default: what the provider says, else the price list. Of "
    "the provider's word and this one the lower counts.",
    "models.max_output": "Tokens of one answer at most. Fewer are asked for where the model or its context "
    "has less room.",
    "models.temperature": "From 0 to 2.",
    "models.top_p": "From 0 to 1.",
    "models.top_k": "At least 1.",
    "models.presence_penalty": "From -2 to 2.",
    "models.frequency_penalty": "From -2 to 2.",
    "models.efforts": "Words that may be chosen as effort. Default: what is known about the model.",
    "models.inputs": "What it takes. Default: what is known about the model, else text.",
    "models.compaction_threshold": "As `compaction.threshold`, for this model.",
    "models.tools": "Whether it can call tools. One that cannot answers with text alone.",
    "models.provider_options": "Further fields of the request, as the provider names them.",
    "models.enabled": "Whether it may be called.",
}
