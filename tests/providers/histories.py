"""Conversations for tests of requests: one that has everything, and any that is legal."""

from hypothesis import strategies as st

from holdfast.core.ids import CallId, FileId
from holdfast.core.parts import File, Notice, Outcome, Part, Reasoning, Text, ToolCall, ToolResult
from holdfast.core.shapes import Json
from holdfast.providers.interface import PromptMessage
from tests.providers.anthropic_rules import signature_of
from tests.providers.calling import assistant, results, user
from tests.providers.responses_rules import sealed

PNG = FileId("01890000-0000-7000-8000-000000000001")
PDF = FileId("01890000-0000-7000-8000-000000000002")
TEXT = FileId("01890000-0000-7000-8000-000000000003")
FILES = {PNG: b"\x89PNG", PDF: b"%PDF-1.7", TEXT: b"a,b\n1,2\n"}
KINDS = (
    "anthropic",
    "google",
    "openai-responses",
    "openai",
    "deepseek",
    "openrouter",
    "groq",
    "mistral",
    "ollama",
    "compatible",
    "demo",
)


def thought(kind: str, text: str) -> Reasoning:
    """Reasoning as a provider of this kind left it."""
    data: dict[str, Json] = {"kind": kind}
    if kind == "anthropic":
        data["signature"] = signature_of(text)
    if kind == "openrouter":
        data["details"] = [{"type": "reasoning.text", "index": 0, "text": text, "signature": "s"}]
    if kind == "google":
        data["signature"] = signature_of(text)
    if kind == "openai-responses":
        summary: list[Json] = [{"type": "summary_text", "text": text}]
        data["item"] = {
            "type": "reasoning",
            "id": "rs_1",
            "summary": summary,
            "encrypted_content": sealed(text),
        }
    return Reasoning(text=text, provider_data=data)


def called(call_id: str, name: str, given: Json, kind: str, provider_id: str) -> ToolCall:
    return ToolCall(
        call_id=CallId(call_id), name=name, input=given, provider_data={"kind": kind, "id": provider_id}
    )


def answered(call_id: str, name: str, output: Json, outcome: Outcome = "succeeded") -> ToolResult:
    return ToolResult(call_id=CallId(call_id), name=name, output=output, outcome=outcome)


def rich_history(kind: str) -> tuple[PromptMessage, ...]:
    """Reasoning, two calls at once, a failure, a steer, files, notices: as this kind of provider left it."""
    return (
        user(
            "What is in these?",
            File(file_id=PNG, media_type="image/png", name="shot.png", size=4),
            File(file_id=TEXT, media_type="text/csv", name="t.csv", size=8),
        ),
        assistant(
            thought(kind, "Look first."),
            "I will look.",
            called("our_1", "read_file", {"path": "a.txt", "limit": 5}, kind, "prov1-id-1"),
            called("our_2", "read_file", {"path": "b.txt"}, kind, "prov1-id-2"),
        ),
        results(
            answered("our_1", "read_file", "alpha"),
            answered("our_2", "read_file", {"error": "no such file"}, outcome="failed"),
        ),
        user(Notice(code="child_finished", text="agent 7 is done"), "Hurry up."),
        assistant(thought(kind, "Enough."), "It says alpha."),
        user("Thanks. And now?"),
    )


_texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
_words = st.text("abc xyz\n", min_size=1, max_size=12).filter(str.strip)
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | _texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_texts, inner, max_size=2),
    max_leaves=4,
)
_inputs = st.dictionaries(_texts, _json, max_size=3)
_names = st.sampled_from(["note", "read_file", "web search!", "", "x" * 300, "émile"])
_provider_ids = st.sampled_from(["", "call_0", "toolu_1", "abcdefghi", "has space", "y" * 90, "a.b", "é"])
_kinds = st.sampled_from(KINDS)


_OUTCOMES: tuple[Outcome, ...] = ("succeeded", "failed", "cancelled", "uncertain")


@st.composite
def _assistant_parts(draw: st.DrawFn, first: int) -> tuple[Part, ...]:
    kind = draw(_kinds)
    parts: list[Part] = []
    for _ in range(draw(st.integers(0, 2))):
        match draw(st.integers(0, 3)):
            case 0:
                parts.append(Text(text=draw(_words)))
            case 1:
                parts.append(thought(kind, draw(_words)))
            case 2:
                # Cut off before its signature came.
                parts.append(Reasoning(text=draw(_words)))
            case _:
                parts.append(Notice(code="interrupted", text="stopped by the user"))
    for number in range(draw(st.integers(0, 3))):
        call_id = f"our_{first + number}"
        parts.append(called(call_id, draw(_names), draw(_inputs), kind, draw(_provider_ids)))
    return tuple(parts)


@st.composite
def legal_histories(draw: st.DrawFn, most: int = 6) -> tuple[PromptMessage, ...]:
    """Any history in the neutral form: whoever wrote its turns, whatever was interrupted, steered or
    refused."""
    messages = [user(draw(_words))]
    calls = 0
    for _ in range(draw(st.integers(0, most))):
        parts = draw(_assistant_parts(calls))
        messages.append(PromptMessage(role="assistant", parts=parts))
        made = [part for part in parts if isinstance(part, ToolCall)]
        calls += len(made)
        if made:
            outcome = st.sampled_from(_OUTCOMES)
            answers = [
                answered(call.call_id, call.name, draw(st.one_of(_texts, _json)), outcome=draw(outcome))
                for call in made
            ]
            messages.append(results(*answers))
        if not made or draw(st.booleans()):
            messages.append(user(draw(_words)))
    return tuple(messages)
