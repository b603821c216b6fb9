"""No module is so long that nobody reads it."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_LINES = 500
GENERATED = {"schema.ts"}


def test_no_module_has_more_than_500_lines() -> None:
    modules = [*(ROOT / "src").rglob("*.py"), *(ROOT / "web" / "src").rglob("*.ts*")]
    long = {
        str(path.relative_to(ROOT)): lines
        for path in modules
        if path.name not in GENERATED and (lines := path.read_text().count("\n")) > MOST_LINES
    }
    assert long == {}
