"""The providers that speak the OpenAI chat format, and where they differ, as data. A family is found by the
configured kind or by the address; an unknown address gets the plainest form of the format."""

from typing import Literal
from urllib.parse import urlsplit

from msgspec import field

from holdfast.core.shapes import Json, Record
from holdfast.providers.call_ids import IdRule

# How reasoning goes back with the history, where it came from the same family:
#   never        not at all
#   content      as `reasoning_content`, on the messages of every exchange in which tools were called and only
#                there: DeepSeek refuses those without it and has no use for the others
#   details      as the `reasoning_details` that came with it
#   chunks       as chunks of the content
ReasoningBack = Literal["never", "content", "details", "chunks"]
# How an effort is asked for: `reasoning_effort`, `reasoning: {effort}`, or DeepSeek's switch beside the
# effort.
EffortStyle = Literal["reasoning_effort", "reasoning", "thinking"]


class ProviderFamily(Record, frozen=True, kw_only=True):
    kind: str
    output_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    # Whether usage in a stream has to be asked for, and may be.
    stream_options: bool = True
    reasoning_back: ReasoningBack = "never"
    effort_style: EffortStyle = "reasoning_effort"
    # What an effort is called there; one that is not named keeps its name.
    effort_names: dict[str, str] = field(default_factory=dict[str, str])
    required_choice: str = "required"
    ids: IdRule = IdRule()
    name_characters: int = 64
    top_k: bool = False
    cache_key: bool = False
    # Whether a user message may follow tool results directly.
    user_after_tool: bool = True
    # Whether files other than images are taken.
    documents: bool = False
    # The header that the key travels in.
    key_header: Literal["authorization", "api-key"] = "authorization"
    # Whether models here are people's own, which may write their calls into the text.
    writes_calls: bool = False
    # The tools that the provider runs itself, as fields of the request.
    provider_tools: dict[str, dict[str, Json]] = field(default_factory=dict[str, dict[str, Json]])
    extra: dict[str, Json] = field(default_factory=dict[str, Json])


_FAMILIES = (
    ProviderFamily(kind="openai", output_field="max_completion_tokens", cache_key=True, documents=True),
    ProviderFamily(
        kind="deepseek",
        reasoning_back="content",
        effort_style="thinking",
        effort_names={"minimal": "low", "medium": "high", "xhigh": "high"},
    ),
    ProviderFamily(
        kind="openrouter",
        reasoning_back="details",
        effort_style="reasoning",
        top_k=True,
        documents=True,
        provider_tools={"web_search": {"plugins": [{"id": "web"}]}},
        extra={"usage": {"include": True}},
    ),
    ProviderFamily(
        kind="azure",
        output_field="max_completion_tokens",
        cache_key=True,
        documents=True,
        key_header="api-key",
    ),
    ProviderFamily(kind="groq", output_field="max_completion_tokens"),
    ProviderFamily(
        kind="mistral",
        stream_options=False,
        reasoning_back="chunks",
        # It knows only whether to think.
        effort_names=dict.fromkeys(("minimal", "low", "medium", "xhigh", "max"), "high"),
        required_choice="any",
        ids=IdRule(least=9, most=9, plain=True),
        user_after_tool=False,
    ),
    ProviderFamily(kind="ollama", writes_calls=True),
    ProviderFamily(kind="vllm", top_k=True, writes_calls=True),
    ProviderFamily(kind="llamacpp", top_k=True, writes_calls=True),
    ProviderFamily(kind="compatible"),
)
FAMILIES = {family.kind: family for family in _FAMILIES}

_HOSTS = {
    "api.openai.com": "openai",
    "api.deepseek.com": "deepseek",
    "openrouter.ai": "openrouter",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral",
}
_PORTS = {11434: "ollama"}
_AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")


def family_of(kind: str, base_url: str) -> ProviderFamily:
    """`openai` means the format more often than the company: there the address decides."""
    if kind != "openai":
        return FAMILIES[kind]
    parsed = urlsplit(base_url)
    host = parsed.hostname or ""
    if host.endswith(_AZURE):
        return FAMILIES["azure"]
    return FAMILIES[_HOSTS.get(host) or _PORTS.get(parsed.port or 0) or "compatible"]


def key_headers(family: ProviderFamily, key: str | None) -> dict[str, str]:
    if not key:
        return {}
    return {"api-key": key} if family.key_header == "api-key" else {"Authorization": f"Bearer {key}"}
