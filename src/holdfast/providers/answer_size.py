"""How long an answer may be: what was asked for, at most what the model can write, and no more than its
context has room for besides the prompt. The size of the prompt is estimated from its bytes, rather too
high."""

from holdfast.providers.interface import ModelRequest

BYTES_A_TOKEN = 3
# A picture or a document, whatever its bytes.
FILE_TOKENS = 1500
# Asked for even where the estimate leaves less: it may be wrong, and the provider says what is right.
LEAST = 1024


def answer_size(request: ModelRequest, prompt_bytes: int) -> int:
    """`prompt_bytes`: of the encoded messages, instructions and tools, with the files in them."""
    model = request.model
    most = min(request.max_output or model.max_output, model.max_output)
    if model.context_limit is None:
        return most
    files = sum(4 * ((len(content) + 2) // 3) for content in request.files.values())
    tokens = max(prompt_bytes - files, 0) // BYTES_A_TOKEN + FILE_TOKENS * len(request.files)
    return min(most, max(model.context_limit - tokens, LEAST))
