"""What a process says, as far as there is room for it."""

import asyncio


async def read_at_most(stream: asyncio.StreamReader, size: int) -> bytes:
    output = bytearray()
    while len(output) < size and (piece := await stream.read(size - len(output))):
        output += piece
    return bytes(output)
