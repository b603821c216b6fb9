"""The title that a chat has at once."""

import pytest

from holdfast.core.ids import FileId
from holdfast.core.parts import File, Text
from holdfast.core.titles import LONGEST, first_title, title_of


@pytest.mark.parametrize(
    "said, title",
    [
        ("Fix the build\nplease", "Fix the build"),
        ("\n\n  # Fix   the **build**\n", "Fix the build"),
        ("> - 1. quoted `code`", "quoted code"),
        ("```python\nprint(1)\n```", "print(1)"),
        ("see [the docs](https://example.org/x) and ![a](b)", "see the docs and a"),
        ("evil \u202etxt\u200b \x1b[31mred", "evil txt [31mred"),
        ("http://127.0.0.1:8420/login#token=abcDEF123", "http://127.0.0.1:8420/login#token=…"),
        ("use sk-ant-REDACTED please", "use … please"),
        ("password: hunter2 is mine", "password: … is mine"),
        ("x" * 39 + " " + "y" * 60, "x" * 39 + " …"),
        ("   \n\t", ""),
    ],
)
def test_the_first_line_as_plain_text(said: str, title: str) -> None:
    assert title_of(said) == title


def test_it_is_never_long_and_never_slow() -> None:
    assert len(title_of("word " * 100)) <= LONGEST
    for hostile in ("[" * 100_000, "sk-" * 40_000, "# " * 50_000, "*" * 100_000):
        assert len(title_of(hostile)) <= LONGEST


def test_a_message_of_files_alone_is_named_by_the_first() -> None:
    file = File(file_id=FileId("f"), media_type="image/png", name="plan.png", size=1)
    assert first_title((file,)) == "plan.png"
    assert first_title((file, Text(text="What is this?"))) == "What is this?"
