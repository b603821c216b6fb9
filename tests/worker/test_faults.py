"""The faults of the design (its table of faults that a process must survive) and the tests that show it for
each. A row stands here once; a test that is renamed or removed is missed here."""

import ast
from functools import cache
from pathlib import Path

import asyncpg
import pytest

from tests.worker.engine import Engine

TESTS = Path(__file__).parents[1]

# Row -> the tests of it, as file::test below tests/.
ROWS: dict[str, tuple[str, ...]] = {
    # kill -9 of the owner, restart
    "F-01": (
        "crash/test_resuming.py::test_f01_work_is_resumed_soon_after_a_restart",
        "crash/test_kills.py::test_eight_kills_at_random_times",
    ),
    # SIGTERM while the provider hangs and tools run
    "F-03": (
        "crash/test_stopping.py::test_f03_sigterm_while_the_provider_hangs_and_tools_run",
        "worker/test_stopping.py::test_chats_without_a_running_call_are_handed_over_at_once",
        "worker/test_stopping.py::test_a_call_that_takes_longer_than_the_grace_is_cancelled_and_recorded",
    ),
    # kill between "accepted" and its answer
    "F-05": ("crash/test_messages.py::test_f05_a_message_asked_for_twice_is_there_once",),
    # kill inside the promotion of a queued message
    "F-06": ("crash/test_messages.py::test_f06_a_kill_inside_a_promotion_leaves_the_message_in_one_place",),
    # the turn ends badly while three are queued
    "F-07": (
        "crash/test_messages.py::test_f07_messages_behind_an_interrupted_turn_are_delivered_in_order",
        "crash/test_messages.py::test_f07_messages_behind_a_failed_turn_are_kept",
        "worker/test_retries.py::test_the_queue_is_kept_when_a_turn_fails",
    ),
    # kill after the effect, before the result is stored
    "F-09": (
        "crash/test_calls.py::test_f09_an_effect_whose_result_was_lost_is_not_repeated",
        "worker/test_people.py::test_what_nobody_knows_is_told",
        "worker/test_hints.py::test_a_false_alarm_asks_what_became_of_a_call_where_that_is_the_policy",
    ),
    # kill after the intent, before the effect
    "F-10": (
        "crash/test_calls.py::test_f10_what_was_only_meant_is_told_or_run_again",
        "worker/test_people.py::test_what_may_be_repeated_is",
    ),
    # kill during a batch, some of it done
    "F-11": ("crash/test_calls.py::test_f11_finished_calls_of_a_batch_are_kept",),
    # kill with open calls, then another provider
    "F-13": ("crash/test_resuming.py::test_f13_after_a_kill_every_other_provider_takes_the_history",),
    # frozen for half a lease
    "F-14": (
        "crash/test_leases.py::test_f14_a_short_freeze_changes_nothing",
        "duties/test_lease.py::test_woken_after_a_short_freeze_it_goes_on",
    ),
    # frozen for five leases
    "F-15": (
        "crash/test_leases.py::test_f15_who_was_frozen_too_long_can_do_nothing_more",
        "worker/test_stopping.py::test_a_lost_lease_stops_the_work_and_a_new_worker_begins",
        "worker/test_stopping.py::test_a_stale_commit_is_counted",
    ),
    # a tool that blocks the thread
    "F-16": (
        "crash/test_leases.py::test_f16_a_tool_that_blocks_does_not_cost_the_lease",
        "worker/test_calls.py::test_a_tool_that_blocks_holds_up_nobody",
    ),
    # the chat's row is locked while the wake arrives
    "F-23": (
        "worker/test_faults.py::test_a_chat_whose_row_was_locked_is_picked_up_when_it_is_free",
        "store/postgres/test_replicas.py::test_a_row_that_somebody_locks_delays_only_its_own_chat",
    ),
    # hints doubled, reordered, delayed
    "F-24": (
        "worker/test_hints.py::test_hints_doubled_late_and_in_the_wrong_order",
        "worker/test_hints.py::test_all_hints_are_lost",
    ),
    # SQLite: fifty writers, a long reader, another's lock
    "F-27": ("store/sqlite/test_trouble.py::test_anothers_lock_only_delays",),
    # interrupt or kill while text streams
    "F-29": (
        "worker/test_interrupts.py::test_what_was_streamed_is_kept_and_marked",
        "crash/test_resuming.py::test_f29_a_text_that_was_shown_and_not_stored_belongs_to_an_older_episode",
    ),
    # an attempt fails midway
    "F-30": ("worker/test_retries.py::test_a_stream_that_breaks_after_40_percent",),
    # 429 with every kind of Retry-After, 529, 500
    "F-33": (
        "worker/test_retries.py::test_retry_after_is_heeded_within_reason",
        "worker/test_retries.py::test_what_may_pass_is_tried_again_once_per_failure",
        "worker/test_retries.py::test_after_25_attempts_it_fails",
        "worker/test_interrupts.py::test_a_retry_wait_is_cut_short",
    ),
    # silence, dribbles, resets, no such name, a page instead of a stream
    "F-34": (
        "worker/test_retries.py::test_silence_is_a_failed_attempt",
        "worker/test_retries.py::test_nobody_answers",
        "worker/test_retries.py::test_what_will_not_pass_fails_at_once_and_says_what_to_change",
        "providers/test_faults.py::test_the_class_of_a_failure",
        "providers/test_faults.py::test_a_name_that_does_not_exist",
        "providers/test_faults.py::test_a_handshake_that_is_reset",
    ),
    # histories of an older version
    "F-36": (
        "worker/test_old_histories.py::test_a_mess_of_old_heals_on_read",
        "prompt/test_prompt_history.py::test_any_mess_becomes_legal",
    ),
    # a context that does not shrink, a summary that fails
    "F-37": (
        "worker/test_compaction.py::test_a_context_that_does_not_shrink",
        "worker/test_compaction.py::test_the_chat_stays_usable",
        "worker/test_compaction.py::test_it_overflows_for_ever",
        "worker/test_compaction.py::test_a_summary_that_fails_ten_times",
    ),
    # kill, message, interrupt or edit during a compaction
    "F-38": (
        "crash/test_resuming.py::test_f38_a_kill_during_a_compaction_loses_nothing",
        "worker/test_compaction.py::test_a_message_sent_meanwhile_follows",
        "worker/test_compaction.py::test_an_interrupt_keeps_nothing_of_it",
        "worker/test_compaction.py::test_an_edit_while_it_is_made",
    ),
    # renamed, deleted or archived while it is named; a title model that hangs or talks junk
    "F-40": (
        "worker/test_titles.py::test_a_person_renames_it_while_it_is_named",
        "worker/test_titles.py::test_a_person_deletes_it_while_it_is_named",
        "worker/test_titles.py::test_a_person_archives_it_while_it_is_named",
        "worker/test_titles.py::test_a_model_that_hangs_delays_nobody",
        "worker/test_titles.py::test_junk_is_bounded",
    ),
    # restart while people are waited for; answers twice, late, for nobody
    "F-44": (
        "crash/test_calls.py::test_f44_who_is_waited_for_is_waited_for_after_a_restart",
        "crash/test_calls.py::test_f44_a_deadline_passes_while_nobody_is_there",
        "worker/test_people.py::test_a_restart_changes_nothing",
    ),
}


@cache
def names_in(file: str) -> frozenset[str]:
    found = ast.walk(ast.parse((TESTS / file).read_text()))
    return frozenset(one.name for one in found if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("row", ROWS)
def test_every_fault_has_its_tests(row: str) -> None:
    assert ROWS[row]
    for test in ROWS[row]:
        file, name = test.split("::")
        assert name in names_in(file), test


@pytest.mark.heavy
async def test_a_chat_whose_row_was_locked_is_picked_up_when_it_is_free(
    engine_on_postgres: Engine, postgres_url: str
) -> None:
    engine = engine_on_postgres
    locked = await engine.create("say: At last.")
    other = await engine.create("say: At once.")
    connection = await asyncpg.connect(postgres_url)
    try:
        async with connection.transaction():
            await connection.execute("SELECT 1 FROM chats WHERE id = $1::text::uuid FOR UPDATE", locked)
            engine.start()
            # Its neighbours do not wait for it.
            await engine.idle(other)
            view = await engine.store.view(locked)
            assert view is not None
            assert view.chat.lease_number == 0
    finally:
        await connection.close()
    await engine.idle(locked)
    assert (await engine.texts(locked))[-1] == ("assistant", "At last.")
