"""Input and result of a fetch: plain data, without the HTTP client."""

from dataclasses import dataclass

FETCH_SECONDS = 20.0
MOST_BYTES = 10 * 1024 * 1024


class FetchFailed(Exception):
    """Why nothing was fetched, in a sentence for the model."""


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """`url` is where the redirects ended. `cut` means that there was more."""

    url: str
    status: int
    media_type: str
    charset: str | None
    content: bytes
    cut: bool


@dataclass(frozen=True, kw_only=True)
class FetchRules:
    """`allow` and `deny` are host names, each with everything below it; no entry in `allow` means all."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ports: tuple[int, ...] = (80, 443)
