"""What one page of a run is told as, and the ids that say where in it a client is."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.ids import RunId, UserId
from holdfast.core.runs import Run, RunCall, RunLine, RunPhase
from holdfast.core.usage import Budget
from holdfast.feed.frames import Frame
from holdfast.feed.run_events import START, decode, encode, known_of, state_frames, tell
from holdfast.store.run_feed_reads import BEGAN, ENDED, EVERYTHING, SAID, RunPage, RunPlace

NOW = datetime(2030, 1, 2, tzinfo=UTC)
RUN_ID, OTHER = RunId("01900000-0000-7000-8000-000000000001"), RunId("01900000-0000-7000-8000-000000000002")
RUN = Run(
    id=RUN_ID,
    owner_id=UserId("01900000-0000-7000-8000-000000000003"),
    name="x",
    language="python",
    status="running",
    version=7,
    created_at=NOW,
    phases=(RunPhase(title="Plan", detail="first"), RunPhase(title="Do")),
    args_hash="",
    script="",
)
CALL = RunCall(scope=0, number=1, kind="agent", hash="h", occurrence=0, outcome="succeeded")
LINE = RunLine(number=4, kind="phase", text="Plan", at=NOW)
numbers = st.integers(0, 2**31 - 1)


def data(frame: Frame) -> Any:
    return msgspec.json.decode(frame.data)


@given(st.builds(RunPlace, numbers, st.integers(0, 3), numbers, numbers))
def test_an_id_says_the_place_and_only_in_its_run(place: RunPlace) -> None:
    event_id = encode(RUN_ID, place)
    assert decode(RUN_ID, event_id) == place
    assert decode(OTHER, event_id) is None
    assert decode(RUN_ID, event_id.replace("1.", "2.", 1)) is None


@pytest.mark.parametrize(
    "cursor", ["", "x", "1.1.3.0.0", "1.1.3.0.0.zzzzzzzz", "1.1.9.0.0.00000000", "1" * 500]
)
def test_what_is_no_id(cursor: str) -> None:
    assert decode(RUN_ID, cursor) is None


def test_planned_phases_are_told_first_and_once() -> None:
    page = RunPage(RUN, ((RunPlace(7, SAID, 0, 4), LINE),), more=False)
    told = tell(START, page)
    assert [(frame.event, data(frame)["title"], data(frame)["started_at"]) for frame in told.frames] == [
        ("phase", "Plan", None),
        ("phase", "Do", None),
        ("phase", "Plan", "2030-01-02T00:00:00Z"),
    ]
    assert data(told.frames[2])["detail"] == "first"
    place = decode(RUN_ID, told.frames[0].id)
    assert place is not None
    assert [data(frame)["title"] for frame in tell(place, page).frames] == ["Do", "Plan"]
    assert told.after == RunPlace(7, EVERYTHING)


def test_a_page_that_is_not_all_ends_where_it_ends() -> None:
    missed = ((RunPlace(7, ENDED, 0, 1), CALL), (RunPlace(7, SAID, 0, 4), LINE))
    told = tell(RunPlace(6), RunPage(RUN, missed, more=True))
    assert [frame.event for frame in told.frames] == ["call", "phase"]
    assert told.after == RunPlace(7, SAID, 0, 4) < RunPlace(7, BEGAN, 0, 1) < RunPlace(7)


def test_the_run_is_told_when_it_moves_and_its_budget_alone() -> None:
    place = RunPlace(7)
    assert [frame.event for frame in state_frames(None, RUN, place)] == ["budget", "run"]
    spent = msgspec.structs.replace(RUN, version=8, budget=Budget(spent_tokens=5))
    assert [frame.event for frame in state_frames(known_of(RUN), spent, place)] == ["budget"]
    over = msgspec.structs.replace(spent, version=9, status="succeeded", result=1)
    assert [frame.event for frame in state_frames(known_of(spent), over, place)] == ["run"]
    assert state_frames(known_of(over), msgspec.structs.replace(over, version=10), place) == []
