"""How bad a collision is."""

import pytest

from holdfast.core.collisions import Lines, Severity, severity, worst


@pytest.mark.parametrize(
    "one, other, expected",
    [
        (((1, 3),), ((3, 5),), "same_lines"),
        (((10, 20),), ((12, 12),), "same_lines"),
        (((1, 3),), ((4, 4),), "near_lines"),
        (((1, 3),), ((8, 9),), "near_lines"),
        (((1, 3),), ((9, 9),), "same_file"),
        (((1, 1), (50, 60)), ((55, 55),), "same_lines"),
        (None, ((1, 1),), "same_lines"),
        (None, None, "same_lines"),
        ((), ((1, 1),), "same_file"),
    ],
)
def test_severity(one: Lines, other: Lines, expected: Severity) -> None:
    assert severity(one, other) == expected
    assert severity(other, one) == expected


def test_the_worst_counts() -> None:
    assert worst(["same_file", "same_lines", "near_lines"]) == "same_lines"
