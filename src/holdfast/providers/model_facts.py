"""What is known about a model without being configured: from its provider, from its name, from the price
list. Pure: it reads answers and fills in what a configuration leaves open."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast, get_args

from msgspec.structs import replace

from holdfast.core.shapes import Record
from holdfast.providers.claude_models import traits_of
from holdfast.providers.configs import MAX_CONTEXT, MAX_OUTPUT, Input, ModelConfig
from holdfast.providers.gemini_models import gemini_traits
from holdfast.providers.kinds import KINDS

_INPUTS: tuple[Input, ...] = get_args(Input)
_THREE = ("low", "medium", "high")
_MICROS = 1_000_000
_MOST_PRICE = 10**12
# OpenAI's models that do not reason, and those that read text alone.
_PLAIN = re.compile(r"gpt-(?:3|4|image|audio|realtime)|chatgpt|davinci|babbage|o1-(?:mini|preview)")
_TEXT_ONLY = re.compile(r"gpt-3|gpt-4(?:-\d{4})?$|gpt-oss|o1-mini|o3-mini|davinci|babbage")
_AZURE_THINKS = re.compile(r"gpt-[5-9]|(?<![a-z0-9])o\d(?![a-z0-9])")
_GROQ_THINKS = re.compile(r"gpt-oss|qwen3|qwen-3")
_MISTRAL_THINKS = re.compile(r"magistral|mistral-(?:medium|small)-latest")


class ModelPrice(Record, frozen=True, kw_only=True):
    """Of a million tokens."""

    input_usd_micros: int
    output_usd_micros: int


class ModelFacts(Record, frozen=True, kw_only=True):
    """Empty or None: not known."""

    context_limit: int | None = None
    # By the price list, which may be older than the model: what is configured counts more.
    usual_context: int | None = None
    max_output: int | None = None
    inputs: tuple[Input, ...] = ()
    efforts: tuple[str, ...] = ()
    tools: bool | None = None
    price: ModelPrice | None = None

    @property
    def context(self) -> int | None:
        return self.context_limit or self.usual_context


class ListedModel(Record, frozen=True, kw_only=True):
    """One model of a provider's list, by the id that the provider knows it by."""

    id: str
    title: str | None = None
    owner: str | None = None
    facts: ModelFacts = ModelFacts()


def together(nearest: ModelFacts, *others: ModelFacts) -> ModelFacts:
    """Each fact from the first source that knows it."""
    found = nearest
    for other in others:
        found = ModelFacts(
            context_limit=found.context_limit or other.context_limit,
            usual_context=found.usual_context or other.usual_context,
            max_output=found.max_output or other.max_output,
            inputs=found.inputs or other.inputs,
            efforts=found.efforts or other.efforts,
            tools=other.tools if found.tools is None else found.tools,
            price=found.price or other.price,
        )
    return found


def described(config: ModelConfig, facts: ModelFacts) -> ModelConfig:
    """The config with what it leaves open filled in. Of the configured limit and the provider's the lower one
    counts."""
    return replace(
        config,
        context_limit=lower(config.context_limit, facts.context_limit) or facts.usual_context,
        max_output=lower(config.max_output, facts.max_output) or config.max_output,
        inputs=config.inputs or facts.inputs or ("text",),
        efforts=config.efforts or facts.efforts,
        tools=config.tools and facts.tools is not False,
    )


def lower(one: int | None, other: int | None) -> int | None:
    return min(one, other) if one and other else one or other


def facts_by_name(family: str, model: str) -> ModelFacts:
    """What the name of a model says, at providers whose lists say little."""
    name = model.lower()
    match family:
        case "anthropic" if "claude-" in name:
            return ModelFacts(
                inputs=("text", "image", "pdf"), efforts=traits_of(name).efforts or _THREE, tools=True
            )
        case "google":
            traits = gemini_traits(name)
            inputs: tuple[Input, ...] = ("text", "image") if "gemma" in name else ("text", "image", "pdf")
            return ModelFacts(inputs=inputs, efforts=traits.efforts)
        case "azure":
            # People name their deployments as they like.
            efforts = _THREE if _AZURE_THINKS.search(name) else ()
            return ModelFacts(inputs=("text", "image", "pdf"), efforts=efforts)
        case "openai":
            return ModelFacts(
                inputs=("text",) if _TEXT_ONLY.search(name) else ("text", "image", "pdf"),
                efforts=() if _PLAIN.search(name) else _THREE,
            )
        case "deepseek":
            return ModelFacts(inputs=("text",), efforts=KINDS["deepseek"].efforts)
        case "groq":
            return ModelFacts(efforts=_THREE if _GROQ_THINKS.search(name) else ())
        case "mistral":
            return ModelFacts(efforts=KINDS["mistral"].efforts if _MISTRAL_THINKS.search(name) else ())
        case _:
            return ModelFacts()


# --- lists of providers ---

Object = Mapping[str, Any]


def listed_models(answer: object) -> list[ListedModel]:
    """The answer to `GET /models`, in the words of all who speak this format. Raises ValueError when it is no
    list of models."""
    entries = _list(_object(answer).get("data"), "data")
    found = [_listed(_object(entry)) for entry in entries]
    return sorted((model for model in found if model.id), key=lambda model: model.id)


def _listed(entry: Object) -> ListedModel:
    can, architecture, top = (
        _object(entry.get(key)) for key in ("capabilities", "architecture", "top_provider")
    )
    parameters = _words(entry.get("supported_parameters"))
    context = _first(
        entry.get("context_length"),
        entry.get("context_window"),
        entry.get("max_context_length"),
        entry.get("max_model_len"),
        entry.get("max_input_tokens"),
        _object(entry.get("meta")).get("n_ctx"),
        most=MAX_CONTEXT,
    )
    served = _first(top.get("context_length"), most=MAX_CONTEXT)
    return ListedModel(
        id=_text(entry.get("id"), 200) or "",
        title=_text(entry.get("display_name"), 200) or _text(entry.get("name"), 200),
        owner=_text(entry.get("owned_by"), 100),
        facts=ModelFacts(
            context_limit=lower(context, served),
            max_output=_first(
                top.get("max_completion_tokens"),
                entry.get("max_completion_tokens"),
                entry.get("max_tokens"),
                most=MAX_OUTPUT,
            ),
            inputs=_inputs(_words(architecture.get("input_modalities"))) or _inputs_of(can),
            efforts=_efforts(can, parameters),
            tools=_tools(can, parameters),
            price=_price(_object(entry.get("pricing"))),
        ),
    )


def _inputs(words: Iterable[str]) -> tuple[Input, ...]:
    known = {"file" if word == "pdf" else word for word in words}
    return tuple(one for one in _INPUTS if ("file" if one == "pdf" else one) in known)


def _inputs_of(can: Object) -> tuple[Input, ...]:
    """Anthropic and Mistral say it as capabilities."""
    if not {"vision", "image_input", "pdf_input"} & can.keys():
        return ()
    image = _supported(can.get("vision")) or _supported(can.get("image_input"))
    pdf = _supported(can.get("pdf_input"))
    return ("text", *(("image",) if image else ()), *(("pdf",) if pdf else ()))


def _efforts(can: Object, parameters: frozenset[str]) -> tuple[str, ...]:
    effort = _object(can.get("effort"))
    levels = ("minimal", *_THREE, "xhigh", "max")
    if _supported(effort):
        return tuple(level for level in levels if _supported(effort.get(level)))
    return _THREE if parameters & {"reasoning", "reasoning_effort"} else ()


def _tools(can: Object, parameters: frozenset[str]) -> bool | None:
    if "function_calling" in can:
        return _supported(can["function_calling"])
    return "tools" in parameters if parameters else None


def _supported(value: object) -> bool:
    return value is True or _object(value).get("supported") is True


def _price(pricing: Object) -> ModelPrice | None:
    """OpenRouter's: dollars for one token, as text."""
    prompt, completion = (_per_million(pricing.get(key)) for key in ("prompt", "completion"))
    if prompt is None or completion is None:
        return None
    return ModelPrice(input_usd_micros=prompt, output_usd_micros=completion)


def _per_million(value: object) -> int | None:
    try:
        price = float(value) * _MICROS * _MICROS if isinstance(value, str | int | float) else math.nan
    except ValueError:
        return None
    return round(price) if math.isfinite(price) and 0 <= price <= _MOST_PRICE else None


def google_models(answer: object) -> list[ListedModel]:
    """The answer to Google's `GET /models`: those of them that answer in a stream of text."""
    entries = [_object(entry) for entry in _list(_object(answer).get("models"), "models")]
    found = [
        ListedModel(
            id=(_text(entry.get("name"), 200) or "").removeprefix("models/"),
            title=_text(entry.get("displayName"), 200),
            facts=ModelFacts(
                context_limit=_first(entry.get("inputTokenLimit"), most=MAX_CONTEXT),
                max_output=_first(entry.get("outputTokenLimit"), most=MAX_OUTPUT),
            ),
        )
        for entry in entries
        if "generateContent" in _words(entry.get("supportedGenerationMethods"))
    ]
    return sorted((model for model in found if model.id), key=lambda model: model.id)


# --- servers on one's own machine ---


def ollama_models(answer: object) -> list[ListedModel]:
    """The answer to Ollama's `GET /api/tags`."""
    entries = _list(_object(answer).get("models"), "models")
    names = sorted(name for entry in entries if (name := _text(_object(entry).get("name"), 200)))
    return [ListedModel(id=name) for name in names]


def ollama_facts(shown: object, loaded_context: int | None) -> ModelFacts:
    """The answer to Ollama's `POST /api/show`. A model that is loaded has the context that it was loaded
    with, whatever it could have."""
    answer = _object(shown)
    can = _words(answer.get("capabilities"))
    info = _object(answer.get("model_info"))
    longest = _first(
        *(value for key, value in info.items() if key.endswith(".context_length")), most=MAX_CONTEXT
    )
    chosen = re.search(r"^num_ctx\s+(\d{1,9})$", str(answer.get("parameters") or ""), re.MULTILINE)
    return ModelFacts(
        context_limit=loaded_context or (int(chosen[1]) if chosen else None) or longest,
        inputs=("text", "image") if "vision" in can else ("text",) if can else (),
        efforts=_THREE if "thinking" in can else (),
        tools="tools" in can if can else None,
    )


def ollama_loaded(answer: object) -> dict[str, int]:
    """The contexts of the models that Ollama's `GET /api/ps` says are loaded."""
    entries = _object(answer).get("models")
    found: dict[str, int] = {}
    for entry in cast(list[object], entries) if isinstance(entries, list) else []:
        name = _text(_object(entry).get("name"), 200)
        context = _first(_object(entry).get("context_length"), most=MAX_CONTEXT)
        if name and context:
            found[name] = context
    return found


def llamacpp_facts(props: object) -> ModelFacts:
    """The answer to llama.cpp's `GET /props`: what it was started with."""
    answer = _object(props)
    settings, sees = _object(answer.get("default_generation_settings")), _object(answer.get("modalities"))
    return ModelFacts(
        context_limit=_first(settings.get("n_ctx"), answer.get("n_ctx"), most=MAX_CONTEXT),
        inputs=() if "vision" not in sees else ("text", "image") if sees["vision"] is True else ("text",),
    )


# --- reading what somebody else wrote ---


def _object(value: object) -> Object:
    return cast(Object, value) if isinstance(value, dict) else {}


def _list(value: object, name: str) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f"no list in {name}")
    return cast(list[object], value)


def _words(value: object) -> frozenset[str]:
    return (
        frozenset(word for word in cast(list[object], value) if isinstance(word, str))
        if isinstance(value, list)
        else frozenset()
    )


def _text(value: object, most: int) -> str | None:
    """Short and without anything that could move a terminal's cursor."""
    return value if isinstance(value, str) and 0 < len(value) <= most and value.isprintable() else None


def _first(*values: object, most: int) -> int | None:
    for value in values:
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= most:
            return value
    return None
