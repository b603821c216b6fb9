"""A little internet in a network namespace of its own: public addresses that belong to this process, names
that it resolves, and a server that behaves badly. Run by `test_web.py`; prints what became of each case."""

import asyncio
import gzip
import json
import subprocess
import zlib
from typing import Any

from holdfast.tools.web.fetch import fetch
from holdfast.tools.web.fetched import MOST_BYTES, FetchFailed, FetchRules

SITE, OTHER = "93.184.216.34", "93.184.216.35"
# What each name resolves to, the first time and from then on.
NAMES: dict[str, list[list[str]]] = {
    "site.test": [[SITE]],
    "other.test": [[OTHER]],
    "private.test": [["10.0.0.1"]],
    "loopback.test": [["127.0.0.1"]],
    "mapped.test": [["::ffff:127.0.0.1"]],
    "metadata.test": [["169.254.169.254"]],
    "both.test": [[SITE, "127.0.0.1"]],
    "rebinding.test": [[SITE], ["127.0.0.1"]],
    "denied.test": [[SITE]],
}


class Names:
    def __init__(self) -> None:
        self.asked: dict[str, int] = {}

    async def __call__(self, host: str, port: int) -> list[str]:
        answers = NAMES.get(host)
        if answers is None:
            raise OSError(f"no name {host}")
        number = self.asked.get(host, 0)
        self.asked[host] = number + 1
        return answers[min(number, len(answers) - 1)]


PAGE = b"<html><head><title>Title</title></head><body><h1>Head</h1><p>Text</p></body></html>"
ENDLESS = b"x" * 65536


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ", 2)[1].decode()
        SEEN.append(head.decode("latin-1"))
        await answer(path, writer)
        await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


SEEN: list[str] = []


async def answer(path: str, writer: asyncio.StreamWriter) -> None:
    def say(status: str, headers: dict[str, str], body: bytes = b"") -> None:
        lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def page(body: bytes, **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        say("200 OK", {"Content-Type": "text/html", "Content-Length": str(len(body)), **named}, body)

    match path.partition("?")[0]:
        case "/page":
            page(PAGE, Set_Cookie="a=b")
        case "/missing":
            say("404 Not Found", {"Content-Type": "text/plain", "Content-Length": "4"}, b"gone")
        case "/to":
            say("302 Found", {"Location": path.partition("?")[2], "Content-Length": "0"})
        case "/loop":
            say("302 Found", {"Location": "/loop", "Content-Length": "0"})
        case "/gzip":
            page(gzip.compress(PAGE), Content_Encoding="gzip")
        case "/deflate":
            page(zlib.compress(PAGE), Content_Encoding="deflate")
        case "/bomb":
            page(gzip.compress(b"0" * (MOST_BYTES * 20), 9), Content_Encoding="gzip")
        case "/brotli":
            page(b"\x8b\x00\x80hi\x03", Content_Encoding="br")
        case "/not-gzip":
            page(PAGE, Content_Encoding="gzip")
        case "/endless":
            say("200 OK", {"Content-Type": "text/plain"})
            for _ in range(2 * MOST_BYTES // len(ENDLESS)):
                writer.write(ENDLESS)
                await writer.drain()
        case "/short":
            say("200 OK", {"Content-Type": "text/plain", "Content-Length": "1000"}, b"short")
        case "/silent":
            await asyncio.sleep(60)
        case "/headers":
            say("200 OK", {f"X-{n}": "y" * 1000 for n in range(5000)})
        case _:
            say("200 OK", {"Content-Type": "application/octet-stream", "Content-Length": "1"}, b"\0")


PATHS = (
    *("page", "missing", "gzip", "deflate", "bomb", "brotli", "not-gzip"),
    *("endless", "short", "loop", "headers", "silent"),
)
CLOSED = ("private", "loopback", "mapped", "metadata", "both")
# By name: what to fetch, and with what rules.
CASES: dict[str, tuple[str, FetchRules]] = {
    **{
        name: (f"http://site.test/{name}", FetchRules())
        for name in PATHS
    },
    "redirected": ("http://site.test/to?http://other.test/page", FetchRules()),
    "relative": ("http://site.test/to?/page", FetchRules()),
    "redirect-private": ("http://site.test/to?http://private.test/page", FetchRules()),
    "redirect-literal": ("http://site.test/to?http://127.0.0.1/page", FetchRules()),
    "redirect-file": ("http://site.test/to?file:///etc/passwd", FetchRules()),
    "redirect-port": ("http://site.test/to?http://site.test:8420/", FetchRules()),
    "redirect-denied": ("http://site.test/to?http://denied.test/page", FetchRules(deny=("denied.test",))),
    **{name: (f"http://{name}.test/page", FetchRules()) for name in CLOSED},
    "rebinding": ("http://rebinding.test/page", FetchRules()),
    "unknown": ("http://nowhere.test/", FetchRules()),
    "denied": ("http://a.denied.test/page", FetchRules(deny=("denied.test",))),
    "denied-letters": ("http://a.\u24d3enied\u3002test/page", FetchRules(deny=("denied.test",))),
    "not-allowed": ("http://site.test/page", FetchRules(allow=("other.test",))),
    "credentials": ("http://user:pass@site.test/page", FetchRules()),
    "scheme": ("gopher://site.test/", FetchRules()),
    "long": ("http://site.test/" + "a" * 5000, FetchRules()),
}  # fmt: skip


async def tried(name: str) -> dict[str, Any]:
    url, rules = CASES[name]
    try:
        found = await fetch(url, lambda: rules, resolve=Names(), seconds=20 if name != "silent" else 1)
    except FetchFailed as error:
        return {"failed": str(error)}
    return {
        "url": found.url,
        "status": found.status,
        "media_type": found.media_type,
        "size": len(found.content),
        "cut": found.cut,
        "begins": found.content[:20].decode("latin-1"),
    }


async def main() -> None:
    async with await asyncio.start_server(serve, "0.0.0.0", 80):
        results = {name: await tried(name) for name in CASES}
    print(json.dumps({"results": results, "seen": SEEN}))


def own_addresses() -> None:
    for command in ("link set lo up", f"addr add {SITE}/32 dev lo", f"addr add {OTHER}/32 dev lo"):
        subprocess.run(["ip", *command.split()], check=True)


if __name__ == "__main__":
    own_addresses()
    asyncio.run(main())
