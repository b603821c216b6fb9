"""A model that is asked over HTTP, in a thread of its own, for tests of what a request looks like."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from threading import Thread
from uuid import uuid4

from tests.e2e.server import Person
from tests.providers.server import ProviderServer

KEY = "sk-e2e-do-not-show-this-key-0123456789"


@contextmanager
def asked_over_http(person: Person) -> Generator[str]:
    """The name of a model that plays the script of the message, as the demo model does. With a key."""
    provider = ProviderServer(key=KEY)
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(provider.start(), loop).result()
    name = f"wire-{uuid4().hex[:6]}"
    try:
        with person.as_admin() as admin:
            account = {"kind": "openai", "base_url": provider.base_url("openai"), "api_key": KEY}
            admin.put(f"providers/{name}", account)
            admin.put(f"model-configs/{name}", {"provider": name, "model": "gpt-5-mini"})
            try:
                yield name
            finally:
                admin.delete(f"model-configs/{name}")
                admin.delete(f"providers/{name}")
    finally:
        asyncio.run_coroutine_threadsafe(provider.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
