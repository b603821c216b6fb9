"""Segments: together they are the request, and the differences rebuild each of a sequence of requests."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.ids import CallId, FileId, MessageId
from holdfast.core.messages import HistoryEntry
from holdfast.core.parts import File, Notice, Part, Text, ToolCall, ToolResult
from holdfast.core.segments import difference, rebuilt, scaled
from holdfast.prompt.history import PromptHistory
from holdfast.prompt.notices import INSTRUCTIONS
from holdfast.prompt.segments import estimate, message_pieces, pieces, request_of, segments_of
from holdfast.prompt.summaries import BOUNDARY
from holdfast.providers.anthropic import AnthropicFormat
from holdfast.providers.configs import ModelConfig
from holdfast.providers.families import FAMILIES
from holdfast.providers.interface import ModelRequest, PromptMessage, ToolSpec
from holdfast.providers.openai import OpenAIFormat
from holdfast.providers.wire import WireFormat

FORMATS: tuple[WireFormat, ...] = (AnthropicFormat(), OpenAIFormat(FAMILIES["openai"]))

texts = st.text(alphabet=st.characters(exclude_categories=("Cs",)), min_size=1, max_size=40)
files = st.builds(
    File,
    file_id=st.just(FileId("01a")),
    media_type=st.sampled_from(["image/png", "text/plain", "application/pdf"]),
    name=texts,
    size=st.integers(1, 10**6),
)
calls = st.builds(ToolCall, call_id=st.just(CallId("c1")), name=texts, input=st.dictionaries(texts, texts))


def told(sources: list[str]) -> Notice:
    text = "\n\n".join(sources)
    lengths = [len(source) + 2 for source in sources[:-1]] + [len(sources[-1])]
    data = {
        "workspace_id": "w",
        "sources": [
            {"place": place, "label": f"{place} {n}", "length": length}
            for n, (place, length) in enumerate(
                zip(("instructions", "skills", "memory"), lengths, strict=False)
            )
        ],
    }
    return Notice(code=INSTRUCTIONS, text=text, data=data)


users: st.SearchStrategy[tuple[Part, ...]] = st.one_of(
    st.lists(st.one_of(st.builds(Text, text=texts), files), min_size=1, max_size=4).map(tuple),
    st.lists(texts, min_size=1, max_size=3).map(lambda sources: (told(sources),)),
    st.builds(Text, text=texts.map(lambda text: BOUNDARY + text)).map(lambda part: (part,)),
)
exchanges = st.one_of(
    users.map(lambda parts: (PromptMessage(role="user", parts=parts),)),
    st.tuples(texts, calls).map(
        lambda said: (
            PromptMessage(role="assistant", parts=(Text(text=said[0]), said[1])),
            PromptMessage(
                role="tool",
                parts=(ToolResult(call_id=CallId("c1"), name="t", output=said[0], outcome="succeeded"),),
            ),
        )
    ),
)
histories = st.lists(exchanges, min_size=1, max_size=6).map(
    lambda found: tuple(message for messages in found for message in messages)
)
tools = st.lists(
    st.builds(
        ToolSpec,
        name=st.sampled_from(["read_file", "mcp__docs__search", "mcp__web__get"]),
        description=texts,
        input_schema=st.just({"type": "object", "properties": {}}),
    ),
    max_size=4,
).map(tuple)
requests = st.builds(
    ModelRequest,
    model=st.just(ModelConfig(name="m", provider="p", model="model", max_output=100)),
    system=st.lists(texts, max_size=3).map(tuple),
    tools=tools,
    messages=histories,
)


@given(request=requests)
def test_the_segments_rebuild_the_bytes_that_were_sent(request: ModelRequest) -> None:
    found = request_of(pieces(request))
    again = ModelRequest(model=request.model, system=found.system, tools=found.tools, messages=found.messages)
    assert again == request
    for wire in FORMATS:
        assert _body(wire, again) == _body(wire, request)


def _body(wire: WireFormat, request: ModelRequest) -> bytes | str:
    try:
        return wire.body(request)
    except Exception as error:  # noqa: BLE001 - whatever a format refuses, it refuses both
        return repr(error)


@given(sequence=st.lists(requests, min_size=1, max_size=5))
def test_differences_rebuild_every_request(sequence: list[ModelRequest]) -> None:
    shapes = [segments_of(pieces(request)) for request in sequence]
    changes = [difference(before, after) for before, after in zip([(), *shapes[:-1]], shapes, strict=True)]
    for count, shape in enumerate(shapes, 1):
        again = rebuilt(changes[:count])
        assert [(one.kind, one.hash) for one in again] == [(one.kind, one.hash) for one in shape]


@given(request=requests, counted=st.integers(1, 10**6))
def test_tokens_add_up_to_what_the_provider_counted(request: ModelRequest, counted: int) -> None:
    assert sum(segment.tokens for segment in scaled(segments_of(pieces(request)), counted)) == counted


def test_what_a_segment_is_called() -> None:
    request = ModelRequest(
        model=ModelConfig(name="m", provider="p", model="model"),
        system=("You are",),
        tools=tuple(
            ToolSpec(name=name, description="", input_schema={})
            for name in ("read_file", "grep", "mcp__docs__search")
        ),
        messages=(
            PromptMessage(role="user", parts=(told(["Be kind.", "- a skill"]),)),
            PromptMessage(
                role="user",
                parts=(
                    Text(text="Look  at\nthis"),
                    File(file_id=FileId("f"), media_type="image/png", name="a.png", size=9),
                ),
            ),
        ),
    )
    assert [(segment.kind, segment.label) for segment in segments_of(pieces(request, ("base",)))] == [
        ("system", "base"),
        ("tools", "tools (2)"),
        ("tools", "MCP server docs (1)"),
        ("instructions", "instructions 0"),
        ("skills", "skills 1"),
        ("message", "user: Look at this"),
        ("files", "a.png"),
        ("message", "user: Look at this"),
    ]
    assert estimate(request) > 1200


def test_a_history_knows_its_segments_without_measuring_twice() -> None:
    def entry(number: int, *, boundary: bool = False) -> HistoryEntry:
        return HistoryEntry(
            turn=1,
            role="user",
            boundary=boundary,
            interrupted=False,
            model=None,
            usage=None,
            parts=(Text(text=f"word {number}"),),
            id=MessageId(f"m{number}"),
        )

    history = PromptHistory([entry(1)])
    first = history.segments()
    history.extend([entry(2)])
    assert history.segments()[0] is first[0]
    assert [segment.message_id for segment in history.segments()] == ["m1", "m2"]
    expected = [piece.segment.hash for message in history.shown() for piece in message_pieces(message)]
    assert [segment.hash for segment in history.segments()] == expected
    history.extend([entry(3, boundary=True)])
    assert [segment.message_id for segment in history.segments()] == ["m3"]
