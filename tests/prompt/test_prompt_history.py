"""What a model is shown of a history: legal for every provider whatever is in it, and the same beginning as
long as it only grows."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.core.ids import CallId, FileId
from holdfast.core.messages import Message, Role, entries_of
from holdfast.core.parts import (
    File,
    Notice,
    Outcome,
    Part,
    Parts,
    Reasoning,
    Source,
    Text,
    ToolCall,
    ToolResult,
)
from holdfast.prompt.history import PromptHistory, files_of
from holdfast.prompt.notices import CONTINUED, EMPTY, INTERRUPTED
from holdfast.providers.interface import PromptMessage
from tests.chats.making import message
from tests.providers.calling import user as prompt_user
from tests.providers.histories import thought
from tests.providers.sending import ALL, check, make


def shown(*messages: Message) -> list[tuple[str, Parts]]:
    return [(one.role, one.parts) for one in PromptHistory(entries_of(messages)).shown()]


def user(text: str = "Hello", n: int = 1, **more: Any) -> Message:
    return message(n, (Text(text=text),), "user", **more)


def answer(*parts: Part, n: int = 2, **more: Any) -> Message:
    return message(n, parts, "assistant", **more)


def asked(call_id: str = "c1") -> ToolCall:
    return ToolCall(call_id=CallId(call_id), name="note", input={"n": 1})


def told(call_id: str = "c1", output: str = "done", outcome: Outcome = "succeeded") -> ToolResult:
    return ToolResult(call_id=CallId(call_id), name="note", output=output, outcome=outcome)


def results(*parts: ToolResult, n: int = 3, **more: Any) -> Message:
    return message(n, parts, "tool", **more)


HELLO = ("user", (Text(text="Hello"),))


def test_an_ordinary_exchange_is_shown_as_it_is() -> None:
    assert shown(
        user(), answer(Text(text="Let me see"), asked()), results(told()), answer(Text(text="Yes"))
    ) == [
        HELLO,
        ("assistant", (Text(text="Let me see"), asked())),
        ("tool", (told(),)),
        ("assistant", (Text(text="Yes"),)),
    ]


def test_removed_messages_and_those_for_people_are_left_out() -> None:
    gone = user("Old", removed=True)
    theirs = answer(Text(text="Summarised"), visibility="user")
    assert shown(gone, theirs, user()) == [HELLO]


def test_it_begins_with_the_newest_summary() -> None:
    old = (user("Long ago"), answer(asked("c0")))
    summary = user("In short", compaction=True, visibility="model")
    theirs = answer(asked("s"), compaction=True, visibility="user")
    assert shown(*old, theirs, summary, user()) == [("user", (Text(text="In short"),)), HELLO]


def test_a_removed_summary_is_none() -> None:
    summary = user("In short", compaction=True, visibility="model", removed=True)
    assert shown(user(), summary) == [HELLO]


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    history = shown(user(), answer(asked("c1"), asked("c2")), results(told("c2")), user())
    assert [role for role, _ in history] == ["user", "assistant", "tool", "user"]
    first, second = history[2][1]
    assert isinstance(first, ToolResult)
    assert (first.call_id, first.outcome) == ("c1", "uncertain")
    assert "No result" in str(first.output)
    assert second == told("c2")


def test_a_result_that_stands_too_late_is_put_where_it_belongs() -> None:
    history = shown(user(), answer(asked()), user("Impatient"), results(told()), answer(Text(text="Yes")))
    assert [role for role, _ in history] == ["user", "assistant", "tool", "user", "assistant"]
    assert history[2][1] == (told(),)


def test_results_of_one_step_in_two_messages_become_one() -> None:
    history = shown(user(), answer(asked("c1"), asked("c2")), results(told("c2")), results(told("c1"), n=4))
    assert history[2:] == [("tool", (told("c1"), told("c2")))]


def test_a_result_nobody_asked_for_is_left_out() -> None:
    assert shown(user(), results(told("lost")), answer(Text(text="Yes"))) == [
        HELLO,
        ("assistant", (Text(text="Yes"),)),
    ]


def test_a_call_that_stands_twice_in_one_answer_is_one() -> None:
    history = shown(user(), answer(asked(), asked()), results(told(), told(output="again")))
    assert [len(parts) for _, parts in history] == [1, 1, 1]


def test_results_of_the_providers_own_calls_stay_with_them() -> None:
    search = replace(asked("p"), provider_executed=True)
    history = shown(user(), answer(search, told("p"), told("lost"), Text(text="Found")))
    assert history[1] == ("assistant", (search, told("p"), Text(text="Found")))


def test_an_interrupted_answer_is_followed_by_a_word_about_it() -> None:
    cut = answer(Text(text="I was just"), interrupted=True)
    assert shown(user(), cut)[1:] == [
        ("assistant", (Text(text="I was just"),)),
        ("user", (INTERRUPTED,)),
    ]


def test_what_an_interrupted_answer_asked_for_comes_first() -> None:
    cancelled = told(output="Cancelled, not run.", outcome="cancelled")
    history = shown(user(), answer(asked(), interrupted=True), results(cancelled), user("Stop"))
    assert history[2:] == [("tool", (cancelled,)), ("user", (INTERRUPTED,)), ("user", (Text(text="Stop"),))]


def test_an_answer_of_nothing_but_reasoning_is_left_out() -> None:
    assert shown(user(), answer(Reasoning(text="Hm"), Source(url="http://x")), user()) == [HELLO, HELLO]


def test_a_history_that_begins_with_an_answer_gets_a_first_word() -> None:
    assert shown(answer(Text(text="Welcome")))[0] == ("user", (CONTINUED,))
    assert shown() == [("user", (CONTINUED,))]


def test_a_message_without_text_is_shown_as_one() -> None:
    assert shown(user("  \n")) == [("user", (EMPTY,))]
    assert shown(user(), message(2, (Notice(code="x", text=" "),), "system")) == [HELLO]


# Any mess

_texts = st.sampled_from(["", "  ", "a", "two\nlines", "\u2028"])
_call_ids = st.sampled_from(["c1", "c2", "c3", "c4"]).map(CallId)
_inputs = st.sampled_from([{}, {"n": 1}, [1], "text", None])
_parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, text=_texts),
    st.builds(Reasoning, text=_texts, provider_data=st.sampled_from([{}, {"kind": "anthropic"}])),
    st.builds(thought, st.sampled_from(["anthropic", "deepseek", "openrouter", "mistral"]), st.just("Hm")),
    st.builds(
        ToolCall,
        call_id=_call_ids,
        name=st.sampled_from(["note", "", "no such tool!", "x" * 300]),
        input=_inputs,
        provider_executed=st.booleans(),
        provider_data=st.sampled_from([{}, {"kind": "anthropic", "id": "t"}, {"kind": "openai", "id": "t"}]),
    ),
    st.builds(
        ToolResult,
        call_id=_call_ids,
        name=st.just("note"),
        output=st.sampled_from(["", "out", {"a": 1}, None]),
        outcome=st.sampled_from(["succeeded", "failed", "cancelled"]),
    ),
    st.builds(
        File,
        file_id=st.just(FileId("f")),
        media_type=st.sampled_from(["image/png", "text/plain"]),
        name=st.just("f"),
        size=st.just(1),
    ),
    st.builds(Source, url=st.just("http://x")),
    st.builds(Notice, code=st.just("c"), text=_texts),
)
_roles: st.SearchStrategy[Role] = st.sampled_from(["user", "assistant", "tool", "system"])
_messages = st.builds(
    lambda role, parts, **more: message(1, tuple(parts), role, **more),  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    _roles,
    st.lists(_parts, max_size=4),
    removed=st.sampled_from([False, False, False, True]),
    interrupted=st.booleans(),
    compaction=st.sampled_from([False, False, False, True]),
    visibility=st.sampled_from(["both", "both", "model", "user"]),
)


def assert_legal(messages: tuple[PromptMessage, ...]) -> None:
    """By the rules of the contract, and by those of every provider."""
    assert messages[0].role == "user"
    for before, after in zip((None, *messages), (*messages, None), strict=True):
        calls = [
            part.call_id
            for part in (before.parts if before and before.role == "assistant" else ())
            if isinstance(part, ToolCall) and not part.provider_executed
        ]
        if after is not None and after.role == "tool":
            assert [part.call_id for part in after.parts if isinstance(part, ToolResult)] == calls
            assert calls
        else:
            assert calls == []
        assert after is None or after.parts
    if messages[-1].role == "assistant":
        messages = (*messages, prompt_user("And now?"))
    for family in ALL:
        check(family, make(family, messages))


@settings(max_examples=150)
@given(st.lists(_messages, max_size=9))
def test_any_mess_becomes_legal(messages: list[Message]) -> None:
    assert_legal(PromptHistory(entries_of(messages)).shown())


# As it grows


Step = list[list[Message]]


@st.composite
def _steps(draw: st.DrawFn) -> list[Step]:
    """A history that grows by legal steps of one or more commits; after each a model may be asked."""
    steps: list[Step] = [[[user()]]]
    for n in range(draw(st.integers(1, 8))):
        calls = [asked(f"c{n}_{k}") for k in range(draw(st.integers(1, 3)))]
        given = results(*(told(one.call_id) for one in calls))
        match draw(st.sampled_from(["user", "file", "answer", "calls", "interrupted", "summary", "notice"])):
            case "user":
                steps.append([[user(draw(_texts))]])
            case "file":
                file = File(file_id=FileId(f"f{n}"), media_type="text/plain", name="a.txt", size=1)
                steps.append([[message(n, (Text(text="See"), file), "user")]])
            case "answer":
                steps.append([[answer(*draw(st.lists(st.builds(Text, text=_texts), max_size=2)))]])
            case "calls":
                steps.append([[answer(Text(text="Hm"), *calls)], [given]])
            case "interrupted":
                steps.append([[answer(*calls, interrupted=True), given]])
            case "summary":
                steps.append([[user("In short", compaction=True, visibility="model")]])
            case _:
                steps.append([[message(n, (Notice(code="c", text="News"),), "system"), user()]])
    return steps


@settings(max_examples=100)
@given(_steps())
def test_what_was_shown_once_is_shown_the_same_again(steps: list[Step]) -> None:
    history = PromptHistory()
    before: tuple[PromptMessage, ...] = ()
    for step in steps:
        for commit in step:
            history.extend(entries_of(commit))
        now = history.shown()
        if not step[0][0].compaction:
            assert now[: len(before)] == before
        before = now


@settings(max_examples=100)
@given(_steps())
def test_grown_or_read_anew_it_is_the_same(steps: list[Step]) -> None:
    commits = [commit for step in steps for commit in step]
    grown = PromptHistory()
    for commit in commits:
        grown.extend(entries_of(commit))
    whole = entries_of(one for commit in commits for one in commit)
    assert grown.shown() == PromptHistory(whole).shown()
    assert grown.files == files_of(grown.shown())
