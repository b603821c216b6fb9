"""The design's rows of bad input to the API, of browser headers and of who may do what, with the tests that
show each. A row stands here once; a test that is renamed or removed is missed here."""

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

# Row -> the tests of it, as file::test below tests/.
ROWS: dict[str, tuple[str, ...]] = {
    # bodies that are none, on every route
    "B-001": (
        "api/test_bad_bodies.py::test_every_route_refuses_bodies_that_are_none",
        "api/test_openapi.py::test_whatever_is_sent_is_no_fault_of_the_server",
    ),
    # JSON that nobody could carry
    "B-002": ("api/test_bad_bodies.py::test_json_that_nobody_could_carry",),
    # bodies too large, without end, or hardly moving
    "B-003": (
        "api/test_limits.py::test_a_large_body_is_refused_by_its_announced_length",
        "api/test_limits.py::test_a_body_without_end_is_not_read",
        "api/test_limits.py::test_a_body_that_hardly_moves",
    ),
    # messages with nothing to read, or with odd characters
    "B-005": (
        "api/test_bad_input.py::test_messages_without_anything_to_read",
        "api/test_bad_input.py::test_messages_of_odd_characters_are_kept",
        "api/test_bad_input.py::test_a_message_of_a_million_marks",
    ),
    # ids that are none
    "B-006": (
        "api/test_bad_input.py::test_ids_that_are_none",
        "api/test_bad_input.py::test_paths_that_climb_lead_nowhere",
    ),
    # pages, cursors, parameters that nobody knows
    "B-007": (
        "api/test_bad_input.py::test_pages_that_are_none",
        "api/test_bad_input.py::test_a_cursor_of_somebody_else_is_harmless",
        "api/test_bad_input.py::test_parameters_that_nobody_knows",
    ),
    # heads too large, and what can be read in two ways
    "B-008": (
        "api/test_limits.py::test_heads_that_are_too_much",
        "api/test_limits.py::test_a_head_that_does_not_end",
        "api/test_limits.py::test_requests_that_can_be_read_in_two_ways",
    ),
    # one key, another body
    "B-010": (
        "api/test_idempotency.py::test_creating_a_chat_twice_makes_one",
        "api/test_repeats.py::test_what_is_made_is_made_once",
    ),
    # a hundred at once of the same thing
    "B-011": (
        "api/test_contention.py::test_a_hundred_edits_of_one_message",
        "api/test_contention.py::test_a_hundred_deletions_of_one_queue_item",
        "api/test_contention.py::test_a_hundred_promotions_of_one_queue_item",
        "api/test_contention.py::test_a_hundred_interrupts_of_one_turn",
    ),
    # ids that clients choose
    "B-012": ("api/test_bad_input.py::test_ids_are_never_the_clients_choice",),
    # what is searched for
    "B-013": ("api/test_bad_input.py::test_whatever_is_searched_for_is_words",),
    # models and tools that make no sense
    "B-015": (
        "api/test_bad_input.py::test_what_is_named_must_be_there_and_sensible",
        "api/test_bad_input.py::test_models_are_configured_sensibly",
        "api/test_calls.py::test_bad_client_tools",
    ),
    # feeds without number
    "B-017": (
        "api/test_feeds.py::test_there_is_a_limit_on_feeds",
        "api/test_feeds.py::test_who_loses_access_is_cut",
    ),
    # names and titles that would order a terminal, a log or a page
    "B-063": (
        "cli/test_neutral.py::test_what_is_shown_of_a_chat_cannot_order_the_terminal",
        "accounts/test_people.py::test_names_that_would_be_taken_for_something_else",
        "api/test_bad_input.py::test_messages_of_odd_characters_are_kept",
    ),
    # uploads
    "B-064": ("api/test_files.py::test_a_picture_with_too_many_pixels_is_refused_before_it_is_opened",),
    "B-067": ("api/test_files.py::test_names_are_made_safe", "api/test_files.py::test_bad_forms"),
    "B-069": ("api/test_files.py::test_what_is_uploaded_comes_back_as_a_download",),
    # a start without configuration, and one that would let others in
    "B-070": (
        "server/test_start_and_stop.py::test_a_first_start",
        "config/test_load.py::test_other_machines_are_let_in_only_by_name",
        "store/test_directory.py::test_it_is_made_for_its_owner_alone",
    ),
    # other hosts
    "B-071": (
        "api/test_gate.py::test_other_host_names_are_refused",
        "api/test_limits.py::test_requests_that_can_be_read_in_two_ways",
    ),
    # WebSockets of other sites
    "B-072": ("api/test_gate.py::test_websockets_follow_the_same_rules",),
    # other origins
    "B-074": ("api/test_gate.py::test_requests_of_other_sites_are_refused",),
    # frames
    "B-075": ("api/test_gate.py::test_every_answer_has_the_security_headers",),
    # secrets that leave
    "B-092": ("server/test_canaries.py::test_no_secret_leaves",),
    "B-093": (
        "server/test_canaries.py::test_no_secret_leaves",
        "providers/test_redact.py::test_a_known_key_in_any_spelling",
    ),
    # a credential in an address
    "B-096": (
        "api/test_gate.py::test_credentials_count_only_where_they_belong",
        "api/test_probes.py::test_a_credential_in_an_address_is_refused_on_every_route",
    ),
    # who may do what: the table, and probes
    "table": ("api/test_access.py::test_every_route_has_a_row", "api/test_access.py::test_the_table"),
    "AC-01": ("api/test_access.py::test_without_a_credential_only_the_public_paths_answer",),
    "AC-02": ("api/test_access.py::test_a_strangers_thing_looks_like_nothing",),
    "AC-03": ("api/test_access.py::test_a_strangers_thing_looks_like_nothing",),
    "AC-05": ("api/test_feeds.py::test_who_loses_access_is_cut",),
    "AC-07": ("api/test_probes.py::test_nothing_tells_of_what_others_have",),
    "AC-10": (
        "tools/test_files.py::test_a_workspace_that_is_not_this_chats",
        "api/test_files.py::test_a_message_names_files_that_are_the_callers",
    ),
    "AC-13": ("api/test_probes.py::test_only_admins_say_where_keys_are_sent",),
    "AC-15": ("api/test_gate.py::test_credentials_count_only_where_they_belong",),
    "AC-16": ("api/test_gate.py::test_credentials_count_only_where_they_belong",),
    "AC-18": ("api/test_probes.py::test_there_is_no_way_in_for_replicas",),
    "AC-19": (
        "api/test_probes.py::test_who_only_reads_approves_nothing",
        "api/test_gate.py::test_a_cookie_alone_changes_nothing",
        "api/test_grants.py::test_only_a_persons_word_on_this_call_grants",
    ),
    "AC-23": (
        "api/test_sign_in.py::test_the_last_admin_stays",
        "api/test_suspension.py::test_running_and_waiting_chats_stop",
    ),
    "AC-24": (
        "accounts/test_people.py::test_every_act_is_in_the_audit_and_no_secret_is",
        "accounts/test_people.py::test_what_was_denied_is_in_the_audit",
        "api/test_settings.py::test_admins_acts_are_in_the_audit",
    ),
}
# What there is nothing of yet that they could be tried on.
LATER = {
    "B-018": "schedules",
    "B-019": "webhooks",
    "B-066": "documents that are opened here: a PDF goes to the model as it is",
    "B-090": "import of chats",
    "AC-08": "shares",
    "AC-12": "public links",
}


@cache
def names_in(file: str) -> frozenset[str]:
    found = ast.walk(ast.parse((TESTS / file).read_text()))
    return frozenset(one.name for one in found if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_its_tests(row: str) -> None:
    assert row not in LATER
    for test in ROWS[row]:
        file, name = test.split("::")
        assert name in names_in(file), test
