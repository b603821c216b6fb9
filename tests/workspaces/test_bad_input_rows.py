"""Bad input to file tools, commands and searches (the design's rows) and the tests of each: as whoever runs
them and, where it matters, as a user who may do nothing special. A test that is renamed or removed is missed
here."""

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.workspaces.rows import APART, ROWS

TESTS = Path(__file__).parents[1]

# Row -> its tests, as file::name below tests/. Those in rows.py are run as both users.
BAD_INPUT: dict[str, tuple[str, ...]] = {
    # paths that lead out, by any spelling
    "B-020": (
        "workspaces/rows.py::leading_out",
        "workspaces/rows.py::absolute_inside",
        "workspaces/test_paths.py::test_what_is_refused_is_told_how_to_write_it",
        "workspaces/test_paths.py::test_whatever_is_written_stays_inside_or_is_refused",
        "api/test_grants.py::test_what_cannot_be_granted",
    ),
    # links that lead out, for every verb
    "B-021": (
        "workspaces/rows.py::links_out",
        "workspaces/rows.py::link_made_later",
        "workspaces/rows.py::circles",
        "workspaces/test_races.py::test_reading_and_listing",
        "workspaces/test_races.py::test_writing_and_deleting",
        "workspaces/test_races.py::test_editing",
        "workspaces/test_races.py::test_searching",
        "api/test_files.py::test_an_agent_attaches_a_file",
        "api/test_grants.py::test_a_file_alone_is_granted_alone",
    ),
    # prefixes and twins
    "B-023": ("workspaces/rows.py::prefixes", "workspaces/rows.py::twins"),
    # what is no file
    "B-025": ("workspaces/rows.py::special_files",),
    # sizes
    "B-026": (
        "workspaces/rows.py::large_sparse",
        "workspaces/rows.py::odd_ranges",
        "workspaces/test_memory.py::test_memory_is_bounded",
    ),
    # names
    "B-027": (
        "workspaces/rows.py::swallowed_names",
        "workspaces/rows.py::refused_names",
        "workspaces/rows.py::long_paths",
    ),
    # bytes and modes that an edit must keep
    "B-028": (
        "workspaces/rows.py::kept_bytes",
        "workspaces/rows.py::kept_modes",
        "workspaces/rows.py::binary",
    ),
    # edits that cannot be made
    "B-029": (
        "workspaces/rows.py::bad_edits",
        "workspaces/test_edits.py::test_the_right_edit_or_a_refusal",
        "workspaces/test_edits.py::test_one_bad_edit_refuses_all",
        "workspaces/test_edits.py::test_ten_thousand_edits_are_refused",
    ),
    # two at once
    "B-030": (
        "workspaces/rows.py::two_chats",
        "workspaces/rows.py::touched_only",
        "api/test_collisions.py::test_both_are_told_how_near_they_came",
        "api/test_collisions.py::test_an_agent_at_work_hears_that_what_it_read_is_not_so_any_more",
    ),
    # names that look like orders
    "B-032": (
        "workspaces/rows.py::arguments",
        "tools/test_commands.py::test_names_are_never_interpreted",
    ),
    # patterns that take others for ever
    "B-033": (
        "workspaces/rows.py::evil_patterns",
        "workspaces/test_search.py::test_evil_patterns_on_a_large_file_end_and_the_loop_goes_on",
        "workspaces/test_patterns.py::test_patterns_that_take_others_for_ever",
    ),
    # what commands print and read
    "B-034": (
        "workspaces/test_recorded.py::test_no_more_is_ever_kept_than_said",
        "workspaces/test_recorded.py::test_nothing_a_terminal_would_obey_is_left",
        "workspaces/test_processes.py::test_there_is_nothing_to_read_and_no_terminal",
        "tools/test_commands.py::test_control_sequences_do_not_reach_anybody",
        "tools/test_commands.py::test_a_long_output_is_cut_and_can_be_read_on",
        "workspaces/test_other_user.py::test_whatever_is_printed_memory_is_bounded",
    ),
    # bombs and hogs
    "B-035": (
        "workspaces/test_limits.py::test_a_fork_bomb_stays_behind_the_wall",
        "workspaces/test_limits.py::test_a_memory_hog_is_killed_and_told_of",
        "workspaces/test_limits.py::test_processor_and_file_limits",
        "workspaces/test_other_user.py::test_processes_are_limited_before_a_fork_bomb",
        "workspaces/test_other_user.py::test_hogs_are_held_and_the_server_lives",
    ),
    # killing, and talking to, what is outside
    "B-037": (
        "workspaces/test_wall.py::test_a_command_that_kills_all_it_can",
        "workspaces/test_wall.py::test_the_servers_port_and_socket",
        "workspaces/test_other_user.py::test_what_is_outside_is_neither_killed_nor_reached",
    ),
    # times and directories that make no sense
    "B-039": ("tools/test_commands.py::test_what_cannot_be_run_is_refused",),
}


@cache
def names_in(file: str) -> frozenset[str]:
    found = ast.walk(ast.parse((TESTS / file).read_text()))
    return frozenset(one.name for one in found if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("row", BAD_INPUT)
def test_every_row_has_its_tests(row: str) -> None:
    run = {one.__name__ for one in (*ROWS, *APART)}
    for test in BAD_INPUT[row]:
        file, name = test.split("::")
        assert name in names_in(file), test
        assert file != "workspaces/rows.py" or name in run, f"{name} is in no list of rows"


def test_every_row_that_is_run_is_one_of_the_designs_or_says_why() -> None:
    """A row names what it is of, or what else it keeps."""
    mapped = {test.split("::")[1] for tests in BAD_INPUT.values() for test in tests}
    for one in (*ROWS, *APART):
        assert one.__doc__, one.__name__
        assert one.__name__ in mapped or not one.__doc__.startswith("B-"), one.__name__
