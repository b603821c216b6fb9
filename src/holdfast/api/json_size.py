"""How many values a JSON body has, counted before it is parsed: a parser holds the event loop until it is
done, and what a few MiB of keys become takes long to check, too."""

import asyncio

from holdfast.api.problems import BODY, invalid

MOST_VALUES = 50_000
# Counted at once. Other work of the process goes on between two of them.
_PIECE = 64 * 1024


async def check_values(body: bytes) -> None:
    """Raises the problem of a body with too many values."""
    # What stands in texts is counted along: if it is few even so, there is nothing to look at.
    if _signs(body) > MOST_VALUES and await asyncio.to_thread(count_values, body) > MOST_VALUES:
        raise invalid(BODY, f"it has more than {MOST_VALUES} values and keys")


def count_values(body: bytes, most: int = MOST_VALUES) -> int:
    """About how many keys, items and containers there are outside of texts; past `most` not to the end. Of
    what is no JSON it is some number: the parser refuses it."""
    found, start, in_text = 0, 0, False
    while start < len(body) and found <= most:
        piece = body[start : start + _PIECE]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            # The last backslash stays together with what it escapes.
            piece = body[start : start + _PIECE + 1]
        parts = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        found += sum(_signs(part) for part in parts[1 if in_text else 0 :: 2])
        in_text ^= len(parts) % 2 == 0
        start += len(piece)
    return found


def _signs(text: bytes) -> int:
    return text.count(b",") + text.count(b":") + text.count(b"[") + text.count(b"{")
