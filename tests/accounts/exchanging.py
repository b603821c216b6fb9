"""Run as a program: opens the store at a URL, reads a token from its input, and prints whether it was
accepted."""

import asyncio
import sys

from holdfast.accounts.access import Access
from holdfast.accounts.sign_in import SignIn
from holdfast.core.clock import SystemClock
from holdfast.core.ids import RandomIds
from holdfast.store.postgres import open_postgres


async def main(url: str) -> None:
    store = await open_postgres(url, publish=lambda _: None)
    clock = SystemClock()
    sign_in = SignIn(store, Access(store, clock), clock, RandomIds())
    # The connection is there before the race begins.
    await sign_in.exchange(f"hf_{'0' * 43}")
    print("ready", flush=True)
    secret = (await asyncio.to_thread(sys.stdin.readline)).strip()
    session = await sign_in.exchange(secret)
    print("out" if session is None else "in", flush=True)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
