"""What refusals say about a model, in the words of the families, and what is asked for instead."""

import pytest

from holdfast.core.failures import ModelLimits
from holdfast.providers.answer_size import LEAST, answer_size
from holdfast.providers.error_bodies import Complaint, classify
from holdfast.providers.model_limits import USUAL_OUTPUT, output_limit, refuses_tools
from tests.providers.calling import user
from tests.providers.sending import make, model, sent

OPENAI = (
    "max_tokens is too large: 32000. This model supports at most 16384 completion tokens, whereas you "
    "provided 32000."
)
VLLM = (
    "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is "
    "8192 tokens and your request has 20 input tokens (32000 > 8192 - 20)."
)
OLDER = (
    "This model's maximum context length is 8192 tokens. However, you requested 32110 tokens (100 in the "
    "messages, 10 in the functions, 32000 in the completion). Please reduce the length of the messages, "
    "functions, or completion."
)
ANTHROPIC = "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for claude-3-5"
ANTHROPIC_CONTEXT = (
    "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or "
    "`max_tokens` and try again"
)
GROQ = (
    "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the "
    "`context_window` for this model"
)
DEEPSEEK = "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"
MISTRAL = (
    "Prompt contains 700 tokens and 32000 max_tokens, too large for model with 32768 maximum context length"
)
TGI = (
    "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 96 `inputs` tokens and 32000 `max_new_tokens`"
)


@pytest.mark.parametrize(
    "words, limits",
    [
        (OPENAI, ModelLimits(max_output=16384)),
        (VLLM, ModelLimits(context_limit=8192, room=8172)),
        (OLDER, ModelLimits(context_limit=8192, room=8082)),
        (ANTHROPIC, ModelLimits(max_output=8192)),
        (ANTHROPIC_CONTEXT, ModelLimits(context_limit=200_000, room=10_000)),
        (GROQ, ModelLimits(max_output=8192)),
        (DEEPSEEK, ModelLimits(max_output=8192)),
        (MISTRAL, ModelLimits(context_limit=32768, room=32068)),
        (TGI, ModelLimits(context_limit=4096, room=4000)),
        ("max_tokens is too large", ModelLimits(room=USUAL_OUTPUT)),
        ("This model's maximum context length is 8192 tokens.", None),
        ("the request exceeds the available context size", None),
        ("max_tokens: field required", None),
    ],
)
def test_how_long_an_answer_may_be(words: str, limits: ModelLimits | None) -> None:
    assert output_limit(words) == limits
    kind = classify(400, Complaint(type="invalid_request_error", text=words))
    assert (kind == "output_limit") == (limits is not None)


def test_a_prompt_that_leaves_no_room_is_too_long_itself() -> None:
    words = VLLM.replace("has 20", "has 8190")
    assert output_limit(words) is None
    assert classify(400, Complaint(text=words)) == "context_overflow"


@pytest.mark.parametrize(
    "status, words",
    [
        (400, "registry.ollama.ai/library/gemma3:1b does not support tools"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        (404, "No endpoints found that support tool use. To learn more about provider routing, visit: ..."),
        (400, "`tool calling` is not supported with this model"),
        (400, "tools param requires --jinja flag"),
    ],
)
def test_models_without_tools(status: int, words: str) -> None:
    assert refuses_tools(words)
    assert classify(status, Complaint(text=words)) == "no_tools"


def test_a_missing_tool_is_no_model_without_tools() -> None:
    assert not refuses_tools("tool_choice names a tool that is not in tools")


# What is asked for


def test_no_more_is_asked_for_than_the_context_has_room_for() -> None:
    small = model("vllm", max_output=32_000, context_limit=8192)
    request = make("vllm", (user("Hello " * 1000),), model=small, files={})
    assert answer_size(request, 6000) == 8192 - 2000
    assert answer_size(request, 60_000) == LEAST
    assert 1024 <= sent("vllm", request.messages, model=small, files={})["max_tokens"] < 6200


def test_without_a_known_context_the_model_decides() -> None:
    assert answer_size(make("vllm", (user("Hi"),), model=model("vllm", max_output=500)), 10**6) == 500
    assert answer_size(make("vllm", (user("Hi"),), max_output=10), 0) == 10
