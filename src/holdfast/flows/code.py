"""The source of a code step as a script for the workflow sandboxes: a function of `args` and `results` that
starts no agents."""

from holdfast.core.errors import BadFlow, BadScript
from holdfast.flows.definition import CodeStep, Flow
from holdfast.scripts.reader import ScriptReader
from holdfast.scripts.source import Script

# Put before the source, on a line of its own.
LINES_BEFORE = 1

_PYTHON = (
    'meta = {{"name": "code", "description": "A step of a flow."}}; '
    'results = args["results"]; args = args["args"]\n{}'
)
_JAVASCRIPT = (
    "export const meta = {{name: 'code', description: 'A step of a flow.'}}; "
    "return await (async (args, results) => {{\n{}\n}})(args.args, args.results)"
)


def script_text(step: CodeStep) -> str:
    return (_PYTHON if step.language == "python" else _JAVASCRIPT).format(step.source)


def read_code(step: CodeStep, reader: ScriptReader) -> Script:
    """Blocks: call it in a thread. Raises BadFlow with the line in the flow."""
    try:
        return reader.read(script_text(step), step.language)
    except BadScript as error:
        sentence = error.text.partition(": ")[2] if error.line is not None else error.text
        raise BadFlow(f"the code of {step.id!r}: {sentence}", line_in_flow(step, error.line), 1) from None


def line_in_flow(step: CodeStep, line: int | None) -> int:
    """The line of the flow that a line of the script comes from."""
    return step.source_line + max(0, (line or 1) - 1 - LINES_BEFORE)


def check_code(flow: Flow, reader: ScriptReader) -> None:
    for step in flow.steps:
        if isinstance(step, CodeStep):
            read_code(step, reader)
