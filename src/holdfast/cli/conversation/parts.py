"""A long request in parts that fit on the screen: what scrolled away before anybody could read it was not
shown."""

from rich.cells import cell_len

# Lines that something else has: what is typed, what can be typed, what is under way.
_TAKEN = 6
_FEWEST = 4


def parts_of(text: str, columns: int, rows: int) -> tuple[str, ...]:
    """In order, none of them empty."""
    height = max(rows - _TAKEN, _FEWEST)
    found: list[list[str]] = [[]]
    used = 0
    for line in _short(text, columns * height):
        tall = max(1, -(-cell_len(line) // max(columns, 1)))
        if found[-1] and used + tall > height:
            found.append([])
            used = 0
        found[-1].append(line)
        used += tall
    return tuple("\n".join(lines) for lines in found)


def _short(text: str, cells: int) -> list[str]:
    """The lines; one that no screen holds is cut. No character is wider than two cells."""
    size = max(cells // 2, 1)
    return [
        line[at : at + size] if cell_len(line) > cells else line
        for line in text.split("\n")
        for at in (range(0, len(line), size) if cell_len(line) > cells else (0,))
    ]
