"""How much a worker asks for at once. Pure: no engine."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.worker.chat_duty import capacity

counts = st.integers(0, 300)


@given(counts, counts, st.integers(1, 300))
def test_never_more_than_there_is_room_and_never_nobodys_turn(top_level: int, agents: int, room: int) -> None:
    tries = capacity(top_level=top_level, agents=agents, room=room)
    for limit, agents_limit in tries:
        assert 0 <= limit <= top_level
        assert 0 <= agents_limit <= agents
        assert limit + agents_limit <= room
    assert (sum(limit for limit, _ in tries) > 0) is (top_level > 0)
    assert (sum(limit for _, limit in tries) > 0) is (agents > 0)


def test_what_one_kind_cannot_use_the_other_gets() -> None:
    assert capacity(top_level=100, agents=100, room=50) == [(25, 25)]
    assert capacity(top_level=100, agents=0, room=50) == [(50, 0)]
    assert capacity(top_level=3, agents=100, room=50) == [(3, 47)]
