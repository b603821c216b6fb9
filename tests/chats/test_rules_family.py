"""Chats among themselves: create, edit, fork, archive, delete, notices (rules 4, 7, 10 and 11)."""

import pytest
from msgspec.structs import replace

from holdfast.chats.change import Change
from holdfast.chats.commands import (
    Archive,
    BeginAttempt,
    Command,
    Create,
    Delete,
    Edit,
    FailTurn,
    FinishCall,
    FinishTurn,
    Fork,
    Notify,
    RetryTurn,
    Unarchive,
)
from holdfast.chats.facts import NOTHING, Facts, Needs, Target, may_need_facts, needs
from holdfast.chats.view import View
from holdfast.core.chats import Settings, Status
from holdfast.core.errors import Bug
from holdfast.core.ids import CallId, ChatId, MessageId, RunId
from holdfast.core.messages import Message
from holdfast.core.origins import FromChat, FromRun
from holdfast.core.parts import Notice, ToolResult
from tests.chats.invariants import check_history
from tests.chats.making import (
    CHAT,
    FAILURE,
    LIVE_LEASE,
    OWNER,
    PARENT,
    SETTINGS,
    after,
    call,
    changed,
    item,
    message,
    notice,
    numbered,
    refused,
    results_in,
    text,
    texts_in,
    tool_call,
    tool_result,
    uncertain_call,
    view,
)

CREATE = Create(owner_id=OWNER, settings=SETTINGS, parts=text("hello"))
FORK = Fork(owner_id=OWNER, source_id=PARENT, settings=SETTINGS)
TARGET_ID = MessageId(numbered(0x501))
EDIT = Edit(message_id=TARGET_ID, parts=text("better"), created_by=OWNER, model="large")
EDITABLE = Facts(target=Target(role="user", removed=False))
NOTIFY = Notify(source="agent", key="k", text="It is done.", data={"n": 1}, wake=True)
SEEN = Facts(key_seen=True)


def member(n: int, status: str = "idle", **more: object) -> View:
    """The n-th sub-agent of the chat."""
    chat = {"id": ChatId(numbered(0xA00 + n)), "origin": FromChat(chat_id=CHAT), "root_id": CHAT, **more}
    return view(status, **chat)  # pyright: ignore[reportArgumentType]


# --- create ---


def test_a_chat_is_created_running_its_first_message() -> None:
    change = changed(None, replace(CREATE, model="large", effort="high"))
    assert change.created == SETTINGS
    assert change.before == 0
    assert change.after is not None
    chat = change.after.chat
    assert (chat.version, chat.history_version, chat.turn, chat.status) == (1, 1, 1, "running")
    assert (chat.root_id, chat.parent_id, chat.owner_id) == (CHAT, None, OWNER)
    assert (chat.turn_model, chat.turn_effort, chat.lease) == ("large", "high", None)
    assert texts_in(change) == ["hello"]


def test_a_sub_agent_knows_its_parent_and_root() -> None:
    spawned = replace(CREATE, origin=FromChat(chat_id=PARENT, call_id=CallId("call-0")), root_id=PARENT)
    chat = after(None, spawned).chat
    assert (chat.parent_id, chat.parent_call_id, chat.root_id) == (PARENT, "call-0", PARENT)


def test_an_agent_of_a_run_is_its_own_root_and_delivers_to_the_run() -> None:
    run_id = RunId(numbered(0xF00))
    created = after(None, replace(CREATE, origin=FromRun(run_id=run_id)))
    (delivery,) = changed(created, FinishTurn()).deliveries
    assert (delivery.run_id, delivery.parent_id, created.chat.root_id) == (run_id, None, CHAT)


def test_a_chat_needs_a_message_and_can_exist_only_once() -> None:
    assert refused(None, replace(CREATE, parts=())).code == "invalid_input"
    assert refused(view("idle"), CREATE).code == "wrong_state"


# --- rule 4: notices ---


def test_a_notice_to_an_idle_chat_wakes_it() -> None:
    change = changed(view("idle", inbox=(notice(1, wake=False),)), NOTIFY)
    assert [(turn.kind, turn.number) for turn in change.turns] == [("notice", 3)]
    assert texts_in(change) == ["notice 1", "It is done."]
    assert change.messages[1].parts == (Notice(code="agent", text="It is done.", data={"n": 1}),)
    assert change.after is not None
    assert (change.after.chat.status, change.after.inbox) == ("running", ())
    assert len(change.inbox_taken) == 2


def test_a_notice_that_does_not_wake_waits_for_the_next_turn() -> None:
    change = changed(view("idle"), replace(NOTIFY, wake=False))
    assert change.messages == ()
    assert change.after is not None
    assert [waiting.key for waiting in change.after.inbox] == ["k"]


def test_a_notice_may_enter_a_chat_at_rest_without_a_turn() -> None:
    change = changed(view("idle", inbox=(notice(1, wake=False),)), replace(NOTIFY, wake=False, enter=True))
    assert change.after is not None
    assert (change.after.chat.status, change.turns, change.after.inbox) == ("idle", (), ())
    assert len(change.messages) == 2
    assert [part.text for part in change.messages[-1].parts if isinstance(part, Notice)] == ["It is done."]


@pytest.mark.parametrize("status", ["running", "interrupting", "error"])
def test_a_notice_that_would_enter_waits_while_the_chat_is_not_at_rest(status: Status) -> None:
    state = after(view(status), replace(NOTIFY, wake=False, enter=True))
    assert [one.key for one in state.inbox] == ["k"]


def test_a_notice_that_may_not_wake_a_chat_enters_it_all_the_same() -> None:
    state = after(view("idle"), replace(NOTIFY, enter=True), facts=Facts(over_budget=True))
    assert (state.chat.status, state.inbox) == ("idle", ())


def test_a_spent_budget_keeps_a_notice_from_waking() -> None:
    state = after(view("idle"), NOTIFY, facts=Facts(over_budget=True))
    assert (state.chat.status, len(state.inbox)) == ("idle", 1)


def test_a_sub_agent_that_was_stopped_is_not_woken() -> None:
    """Its own sub-agents end after it; it hears of that when it is told to go on."""
    state = after(view("idle"), NOTIFY, facts=Facts(stopped=True))
    assert (state.chat.status, len(state.inbox)) == ("idle", 1)


def test_a_notice_behind_a_held_head_wakes_and_the_queue_stays() -> None:
    state = after(view("idle", queue=(item(1, held=True),)), NOTIFY)
    assert (state.chat.status, len(state.queue)) == ("running", 1)


@pytest.mark.parametrize(
    "before",
    [
        view(),
        view("interrupting"),
        view("requires_action", calls=(call(0, "waiting"),)),
        view("error"),
        view("error", queue=(item(1),)),
        view("idle", archived=True),
        view("error", archived=True),
    ],
    ids=["running", "interrupting", "action", "error", "error queue", "archived", "archived error"],
)
def test_elsewhere_a_notice_is_kept(before: View) -> None:
    change = changed(before, NOTIFY)
    assert change.messages == ()
    assert change.after is not None
    assert change.after.chat.status == before.chat.status
    assert [waiting.key for waiting in change.after.inbox] == ["k"]


def test_a_kept_notice_enters_with_the_next_turn() -> None:
    kept = after(view("error"), NOTIFY)
    change = changed(after(kept, RetryTurn()), BeginAttempt())
    assert texts_in(change) == ["It is done."]


def test_a_notice_to_a_deleted_chat_is_dropped() -> None:
    assert refused(None, NOTIFY).code == "not_found"


def test_a_notice_is_stored_once_per_key() -> None:
    assert changed(view(), NOTIFY, facts=SEEN).is_empty
    twice = changed(view(), NOTIFY, replace(NOTIFY, text="again"))
    assert [stored.text for stored in twice.inbox_put] == ["It is done."]


def test_a_notice_that_came_after_the_last_model_call_starts_the_next_turn() -> None:
    change = changed(view(inbox=(notice(1, wake=False), notice(2))), FinishTurn())
    assert [(turn.kind, turn.number) for turn in change.turns] == [("notice", 3)]
    assert texts_in(change) == ["notice 1", "notice 2"]
    assert change.after is not None
    assert change.after.chat.status == "running"
    # Waiting messages go first, and take the notices along.
    queued = after(view(inbox=(notice(1),), queue=(item(1),)), FinishTurn())
    assert (queued.chat.turn_kind, len(queued.inbox)) == ("message", 1)
    assert after(view(inbox=(notice(1, wake=False),)), FinishTurn()).chat.status == "idle"
    assert after(view(inbox=(notice(1),)), FailTurn(failure=FAILURE)).chat.status == "error"


def test_notices_are_cleaned_and_looked_up_clean() -> None:
    dirty = Notify(source="a", key="k\0", text="t\ud800", data=["\0"])
    (stored,) = changed(view(), dirty).inbox_put
    assert (stored.key, stored.text, stored.data) == ("k\ufffd", "t\ufffd", ["\ufffd"])
    assert needs((dirty,), view()).notice_key == "k\ufffd"


# --- rule 7: edit ---


@pytest.mark.parametrize(
    "target, parts, code",
    [
        (None, text("x"), "not_found"),
        (Target(role="assistant", removed=False), text("x"), "invalid_input"),
        (Target(role="tool", removed=False), text("x"), "invalid_input"),
        (Target(role="system", removed=False), text("x"), "invalid_input"),
        (Target(role="user", removed=False, hidden=True), text("x"), "invalid_input"),
        (Target(role="user", removed=True), text("x"), "wrong_state"),
        (Target(role="user", removed=False), (), "invalid_input"),
    ],
)
def test_only_a_users_message_that_is_there_can_be_edited(
    target: Target | None, parts: tuple[object, ...], code: str
) -> None:
    command = replace(EDIT, parts=parts)
    assert refused(view("idle"), command, facts=Facts(target=target)).code == code


def test_an_edit_removes_history_clears_the_queue_and_runs_the_replacement() -> None:
    before = view("idle", queue=(item(1, held=True), item(2)))
    change = changed(before, EDIT, facts=EDITABLE)
    assert change.removed_from == TARGET_ID
    assert set(change.queue_dropped) == {item(1).id, item(2).id}
    (replacement,) = change.messages
    assert change.answer == replacement
    assert (replacement.role, replacement.removed, replacement.created_by) == ("user", False, OWNER)
    assert replacement.id > TARGET_ID
    assert change.after is not None
    chat = change.after.chat
    assert (chat.status, chat.turn, chat.turn_model) == ("running", 3, "large")
    assert change.after.queue == ()


def test_an_edit_writes_results_into_the_removed_history() -> None:
    before = view(calls=(call(0, "started"), call(1), call(2, "finished"), uncertain_call(3)))
    change = changed(before, EDIT, facts=EDITABLE)
    results, replacement = change.messages
    assert (results.role, results.removed) == ("tool", True)
    assert (replacement.role, replacement.removed) == ("user", False)
    outcomes = {key: result.outcome for key, result in results_in(change).items()}
    assert outcomes == {
        "call-0": "cancelled",
        "call-1": "cancelled",
        "call-2": "succeeded",
        "call-3": "uncertain",
    }
    assert change.after is not None
    assert [(row.call_id, row.abandoned) for row in change.after.calls] == [("call-0", True)]


@pytest.mark.parametrize(
    "before",
    [
        view(attempt=2, compaction="overflow"),
        view("interrupting"),
        view("requires_action", calls=(call(0, "waiting"),)),
    ],
    ids=["running", "interrupting", "action"],
)
def test_an_edit_abandons_active_work(before: View) -> None:
    child = replace(before, chat=replace(before.chat, origin=FromChat(chat_id=PARENT), root_id=PARENT))
    change = changed(child, EDIT, facts=EDITABLE)
    assert [(end.number, end.outcome) for end in change.turns_ended] == [(2, "interrupted")]
    assert [(each.turn, each.outcome) for each in change.deliveries] == [(2, "interrupted")]
    assert change.after is not None
    chat = change.after.chat
    assert (chat.status, chat.turn, chat.attempt, chat.compaction) == ("running", 3, 0, None)
    # Whoever runs it sees that the history is another.
    assert chat.lease == before.chat.lease
    assert chat.history_version == chat.version


def test_an_edit_of_a_failed_chat_clears_its_error_and_ends_no_turn_twice() -> None:
    change = changed(view("error", queue=(item(1),)), EDIT, facts=EDITABLE)
    assert change.turns_ended == ()
    assert change.after is not None
    assert change.after.chat.last_error is None


def test_an_edit_stops_children_started_there() -> None:
    running = member(1, "running", queue=(item(1),))
    asking = member(2, "requires_action", calls=(call(0, "waiting"),))
    stopping = member(3, "interrupting", queue=(item(1),))
    stopped = member(4, "interrupting")
    facts = replace(EDITABLE, started_there=(running, asking, stopping, stopped))
    others = {change.chat_id: change for change in changed(view(), EDIT, facts=facts).others}
    assert set(others) == {running.chat.id, asking.chat.id, stopping.chat.id}

    def state(child: View) -> tuple[str, int]:
        left = others[child.chat.id].after
        assert left is not None
        assert left.chat.version == child.chat.version + 1
        return left.chat.status, len(left.queue)

    assert state(running) == ("interrupting", 0)
    assert state(asking) == ("idle", 0)
    assert state(stopping) == ("interrupting", 0)
    assert results_in(others[asking.chat.id])["call-0"].outcome == "cancelled"
    assert [each.child_id for each in others[asking.chat.id].deliveries] == [asking.chat.id]


# --- rule 10: fork ---

HISTORY = (
    message(1, text("question"), created_by=OWNER, model="large"),
    message(2, (tool_call("a"), tool_call("b"), tool_call("p", provider_executed=True)), "assistant"),
    message(3, (tool_result("a"), tool_result("b")), "tool"),
    message(4, (*text("more"), tool_call("c")), "assistant", interrupted=True, model="large", effort="high"),
)


def forked(*history: Message) -> Change:
    return changed(None, FORK, facts=Facts(history=history))


def test_a_fork_is_an_idle_chat_with_the_history_under_new_ids() -> None:
    change = forked(*HISTORY[:3])
    assert change.created == SETTINGS
    assert [copy.parts for copy in change.messages] == [original.parts for original in HISTORY[:3]]
    assert {copy.chat_id for copy in change.messages} == {CHAT}
    assert not {copy.id for copy in change.messages} & {original.id for original in HISTORY}
    assert [copy.id for copy in change.messages] == sorted(copy.id for copy in change.messages)
    assert (change.messages[0].model, change.messages[0].created_by) == ("large", OWNER)
    assert change.after is not None
    chat = change.after.chat
    assert (chat.status, chat.version, chat.history_version, chat.message_count) == ("idle", 1, 1, 3)
    assert (chat.turn, chat.parent_id, chat.root_id) == (1, None, CHAT)
    assert chat.usage == view().chat.usage
    assert (change.turns, change.deliveries, change.after.queue, change.after.inbox) == ((), (), (), ())


def test_open_calls_of_a_fork_are_cancelled_at_their_place() -> None:
    change = forked(*HISTORY)
    *_, last, healing = change.messages
    assert (last.interrupted, healing.interrupted) == (True, False)
    assert (last.model, last.effort) == ("large", "high")
    assert (healing.model, healing.effort, healing.usage, healing.created_by) == (None, None, None, None)
    (result,) = healing.parts
    assert isinstance(result, ToolResult)
    assert (result.call_id, result.outcome) == ("c", "cancelled")
    assert "forked" in str(result.output)
    assert change.after is not None
    check_history(change.messages, change.after)


def test_a_fork_between_a_call_and_its_result_heals() -> None:
    change = forked(*HISTORY[:2])
    assert [copy.role for copy in change.messages] == ["user", "assistant", "tool"]
    assert results_in(change).keys() == {"a", "b"}
    assert change.after is not None
    check_history(change.messages, change.after)


def test_a_fork_keeps_the_boundary_of_a_compaction() -> None:
    boundary = message(2, text("summary"), "system", visibility="model", compaction=True)
    copied = forked(HISTORY[0], boundary).messages[1]
    assert (copied.visibility, copied.compaction) == ("model", True)


def test_a_fork_of_nothing_is_refused() -> None:
    assert refused(None, FORK, facts=Facts(history=None)).code == "not_found"
    assert refused(view("idle"), FORK, facts=Facts(history=HISTORY)).code == "wrong_state"


# --- archive ---


def test_the_whole_family_is_archived_and_unarchived_at_once() -> None:
    family = (member(1), member(2, "error", queue=(item(1),)))
    change = changed(view("idle"), Archive(), facts=Facts(family=family))
    assert {other.chat_id for other in change.others} == {each.chat.id for each in family}
    everybody = [change, *change.others]
    assert all(each.after is not None and each.after.chat.archived for each in everybody)
    archived = tuple(each.after for each in change.others if each.after)
    back = changed(change.after, Unarchive(), facts=Facts(family=archived))
    assert not any(each.after is None or each.after.chat.archived for each in [back, *back.others])


def test_only_the_root_can_archive() -> None:
    for command in (Archive(), Unarchive()):
        child = member(1, archived=isinstance(command, Unarchive))
        refusal = refused(child, command)
        assert (refusal.code, refusal.data) == ("wrong_state", {"root_id": CHAT})


@pytest.mark.parametrize(
    "busy",
    [
        member(2, "running"),
        member(2, "interrupting"),
        member(2, "requires_action", calls=(call(0, "waiting"),)),
        member(2, "idle", queue=(item(1, held=True),)),
        member(2, "idle", lease=LIVE_LEASE),
    ],
    ids=["running", "interrupting", "action", "held", "invalid"],
)
def test_nobody_is_archived_while_one_is_busy_and_the_answer_names_it(busy: View) -> None:
    refusal = refused(view("idle"), Archive(), facts=Facts(family=(member(1), busy)))
    assert (refusal.code, refusal.data) == ("wrong_state", {"busy": [busy.chat.id]})


def test_those_archived_already_are_left_alone() -> None:
    family = (member(1, archived=True), member(2))
    change = changed(view("idle"), Archive(), facts=Facts(family=family))
    assert [other.chat_id for other in change.others] == [family[1].chat.id]


# --- rule 11: delete ---


def test_delete_removes_the_chat_and_its_subtree() -> None:
    below = (ChatId(numbered(0xA01)), ChatId(numbered(0xA02)))
    change = changed(view("idle"), Delete(), facts=Facts(subtree=below))
    assert change.after is None
    assert change.deleted == (CHAT, *below)
    assert not change.is_empty


@pytest.mark.parametrize("status", ["running", "interrupting", "requires_action"])
def test_deleting_a_busy_child_tells_its_parent(status: str) -> None:
    calls = (call(0, "waiting"),) if status == "requires_action" else ()
    change = changed(member(1, status, calls=calls), Delete())
    (delivery,) = change.deliveries
    assert (delivery.parent_id, delivery.turn, delivery.outcome) == (CHAT, 2, "interrupted")
    assert delivery.failure is not None
    assert delivery.failure.kind == "deleted"


@pytest.mark.parametrize(
    "child",
    [member(1), member(1, "error"), member(1, "running", turn_kind="compaction"), view()],
    ids=["idle", "error", "compaction", "no parent"],
)
def test_deleting_a_chat_whose_end_was_told_tells_nobody(child: View) -> None:
    assert changed(child, Delete()).deliveries == ()


# --- what is looked up ---


@pytest.mark.parametrize(
    "command, wanted",
    [
        (Archive(), Needs(family=True)),
        (Unarchive(), Needs(family=True)),
        (Delete(), Needs(subtree=True)),
        (EDIT, Needs(edited=TARGET_ID)),
        (NOTIFY, Needs(notice_key="k")),
    ],
    ids=lambda value: type(value).__name__.lower(),
)
def test_what_a_command_needs(command: Command, wanted: Needs) -> None:
    assert needs((command,), view()) == wanted
    assert may_need_facts((command,))


def test_a_workers_plain_commands_need_nothing() -> None:
    finish = FinishCall(call_id=CallId("call-0"), run=1, outcome="succeeded", output=None)
    for command in (BeginAttempt(), FinishTurn(), FailTurn(failure=FAILURE), finish):
        assert needs((command,), view()) is NOTHING
        assert not may_need_facts((command,))


def test_two_notices_cannot_be_decided_together() -> None:
    with pytest.raises(Bug):
        needs((NOTIFY, replace(NOTIFY, key="other")), view())


def test_settings_are_not_execution_state() -> None:
    """Nothing a person chooses is in the view, so no choice can move a version."""
    assert not set(Settings.__struct_fields__) & set(view().chat.__struct_fields__)
