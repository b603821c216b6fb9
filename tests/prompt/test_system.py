"""What a model is told about itself."""

from holdfast.prompt.system import BASE, system


def test_everybody_is_told_the_same_first() -> None:
    assert system(None, None) == [BASE]
    assert "uncertain" in BASE


def test_from_the_most_to_the_least_stable() -> None:
    assert system(" You review. \n", "Be brief.\n") == [BASE, "You review.", "Be brief."]


def test_what_says_nothing_is_no_segment() -> None:
    assert system(" ", "  ") == [BASE]
