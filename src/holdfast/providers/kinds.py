"""The kinds of providers that can be configured by name: their address, the variable of their key, and the
model to start with if there is nothing but a key."""

from holdfast.core.shapes import Record


class Kind(Record, frozen=True, kw_only=True):
    name: str
    base_url: str
    key_variable: str | None = None
    # Taken when nothing but the key is configured.
    first_model: str | None = None
    inputs: tuple[str, ...] = ("text",)
    efforts: tuple[str, ...] = ()
    # The provider's id in the price list; none for what runs on one's own machine.
    prices: str | None = None


PYDANTIC_AI = "pydantic-ai"
_THREE = ("low", "medium", "high")

_KINDS = (
    Kind(
        name="anthropic",
        base_url="https://api.anthropic.com",
        key_variable="ANTHROPIC_API_KEY",
        first_model="claude-sonnet-5",
        inputs=("text", "image", "pdf"),
        efforts=("low", "medium", "high", "max"),
        prices="anthropic",
    ),
    Kind(
        name="openai",
        base_url="https://api.openai.com/v1",
        key_variable="OPENAI_API_KEY",
        first_model="gpt-5.6-terra",
        inputs=("text", "image", "pdf"),
        efforts=_THREE,
        prices="openai",
    ),
    Kind(
        name="deepseek",
        base_url="https://api.deepseek.com",
        key_variable="DEEPSEEK_API_KEY",
        first_model="deepseek-flash",
        efforts=("none", "low", "high", "max"),
        prices="deepseek",
    ),
    Kind(
        name="openrouter",
        base_url="https://openrouter.ai/api/v1",
        key_variable="OPENROUTER_API_KEY",
        first_model="anthropic/claude-sonnet-5",
        inputs=("text", "image", "pdf"),
        efforts=_THREE,
        prices="openrouter",
    ),
    Kind(
        name="groq",
        base_url="https://api.groq.com/openai/v1",
        key_variable="GROQ_API_KEY",
        first_model="openai/gpt-oss-120b",
        efforts=_THREE,
        prices="groq",
    ),
    Kind(
        name="mistral",
        base_url="https://api.mistral.ai/v1",
        key_variable="MISTRAL_API_KEY",
        first_model="mistral-medium-latest",
        inputs=("text", "image"),
        efforts=("none", "high"),
        prices="mistral",
    ),
    Kind(
        name="google",
        base_url="https://generativelanguage.googleapis.com/v1beta",
        key_variable="GEMINI_API_KEY",
        first_model="gemini-3.8-flash",
        inputs=("text", "image", "pdf"),
        efforts=_THREE,
        prices="google",
    ),
    # The address is that of one's own resource.
    Kind(name="azure", base_url="", key_variable="AZURE_OPENAI_API_KEY", prices="azure"),
    # Every other provider, through the library that the extra of this name installs.
    Kind(name=PYDANTIC_AI, base_url="pydantic-ai:"),
    Kind(name="ollama", base_url="http://127.0.0.1:11434/v1", key_variable=None),
    Kind(name="vllm", base_url="http://127.0.0.1:8000/v1"),
    Kind(name="llamacpp", base_url="http://127.0.0.1:8080/v1"),
    Kind(name="demo", base_url="demo:"),
)
KINDS = {kind.name: kind for kind in _KINDS}
