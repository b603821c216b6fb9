"""What must never happen on the page, whatever a test does: an error on the console, an exception that nobody
caught, a request to anybody but our own server."""

import re
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request

_UNREACHABLE = re.compile(r"net::ERR_(CONNECTION|EMPTY|INCOMPLETE|NETWORK|SOCKET)")


class Guard:
    """Listens to every page of a context; `check` at the end."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self._own = urlsplit(address).netloc
        self._complaints: list[str] = []
        self._forgiven: list[re.Pattern[str]] = []
        context.on("request", self._on_request)
        context.on("page", self._on_page)

    def allow(self, pattern: str) -> None:
        """For a test that makes something fail on purpose, such as a refused request."""
        self._forgiven.append(re.compile(pattern))

    def allow_unreachable(self) -> None:
        """For a test that takes the server away."""
        self._forgiven.append(_UNREACHABLE)

    def check(self) -> None:
        left = [one for one in self._complaints if not any(known.search(one) for known in self._forgiven)]
        assert not left, "\n".join(left)

    def _on_page(self, page: Page) -> None:
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self._complaints.append(f"uncaught: {error}"))

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._complaints.append(f"console {message.type}: {message.text}")

    def _on_request(self, request: Request) -> None:
        url = urlsplit(request.url)
        if url.scheme not in ("data", "blob") and url.netloc != self._own:
            self._complaints.append(f"a request to {request.url}")
