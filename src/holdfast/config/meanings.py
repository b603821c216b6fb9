"""What the keys of providers and models mean: their records belong to `providers`."""

MEANINGS: dict[str, str] = {
    "providers.kind": "Which API it speaks; not needed if the table has the name of a kind.",
    "providers.base_url": "Its address. `openai` and similar kinds with `/v1`, `anthropic` without. "
    "Default: the kind's own address.",
    "providers.api": "The wire format of kinds that speak OpenAI's: `chat`, which all of them know, or "
    "`responses`.",
    "providers.api_version": "Sent as `api-version` with every request, as Azure's older addresses demand.",
    "providers.api_key": 'The key: `"env:NAME"`, `"file:PATH"`, the key itself, or `"none"` for a server '
    "that needs none. Default: the kind's usual variable.",
    "providers.enabled": "Whether its models may be called.",
    "models.provider": "The name of its provider.",
    "models.model": "The model's id at the provider.",
    "models.context_limit": "The size of its context in tokens. Default: what the provider says, else the "
    "price list. If the provider says less than this, the provider's number counts.",
    "models.max_output": "The most tokens of one answer. Fewer are requested if the model or its "
    "context has less room.",
    "models.temperature": "From 0 to 2.",
    "models.top_p": "From 0 to 1.",
    "models.top_k": "At least 1.",
    "models.presence_penalty": "From -2 to 2.",
    "models.frequency_penalty": "From -2 to 2.",
    "models.efforts": "The efforts that may be chosen. Default: what is known about the model.",
    "models.inputs": "The input it accepts. Default: what is known about the model, else text.",
    "models.compaction_threshold": "As `compaction.threshold`, for this model.",
    "models.tools": "Whether it can call tools. A model that cannot answers with text only.",
    "models.chain": 'With `api = "responses"`: the provider keeps the conversation and only what is new is '
    "sent. An edit, a summary, a fork or another model begin anew.",
    "models.text_tool_calls": "Whether calls that the model writes into its text are recognised and run. "
    "`auto`: for ollama, vllm and llamacpp.",
    "models.provider_tools": "Tools that the provider runs itself. A chat may be switched to others.",
    "models.provider_options": "Further fields of the request, under the provider's names.",
    "models.enabled": "Whether it may be called.",
}
