"""What a provider did not report, estimated and marked as such. A report always wins over an estimate."""

from msgspec.structs import replace

from holdfast.core.usage import Usage


def with_estimates(reported: Usage, *, input_tokens: int, output_tokens: int, whole: bool) -> Usage:
    """The usage of an answer. If the answer is whole, only what the provider did not report is estimated. If
    it was cut off, the report may be from before its end, so at least the text that arrived is counted."""
    known_input = reported.input or input_tokens
    known_output = reported.output
    if not whole or not reported.total:
        known_output = max(known_output, output_tokens)
    if (known_input, known_output) == (reported.input, reported.output):
        return reported
    return replace(
        reported,
        input=known_input,
        output=known_output,
        total=known_input + known_output,
        context_used=known_input or None,
        estimated=True,
    )
