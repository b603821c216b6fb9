"""Removes secrets: every text from a provider or an exception passes through here before it is stored, shown
or logged. Known keys are removed in all their encodings, and so is anything that looks like a key."""

import base64
import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

MASK = "[redacted]"
# Shorter ones would tear holes into ordinary words.
_LEAST_SECRET = 6

# What looks like a credential, whoever's it is. Providers echo keys with their middle starred out, so stars
# count.
_LOOKS_SECRET = re.compile(
    r"""
      (?<![A-Za-z0-9])(?:sk|pk|rk|gsk|xai|hf|nvapi|key|AIza|ya29)[-_.][A-Za-z0-9_.*-]{6,}
    | (?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{20,}
    | (?<![A-Za-z0-9])(?:gh[opsur]|github_pat|glpat|xox[abeprs]|npm|pypi)[-_][A-Za-z0-9_-]{16,}
    | (?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}
    | (?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*
    | (?<=[Bb]earer\ )[^\s"',;}]+
    | (?<=[Bb]asic\ )[A-Za-z0-9+/=]{8,}
    | (?<=://)[^/\s:@]+:[^/\s@]+(?=@)
    """,
    re.VERBOSE,
)
_NAMED_SECRET = re.compile(
    r"""(?ix)
    ( (?:api[-_]?key|x-api-key|authorization|access[-_]?token|auth[-_]?token|client[-_]?secret|password)
      ["']? \s* [:=] \s* ["']? (?:bearer\s+|basic\s+)? )
    ( [^\s"',;&}]{6,} )
    """
)
_NAMED_IN_QUERY = re.compile(r"([?&#](?:key|token|sig|signature)=)[^&\s\"']+", re.IGNORECASE)


# Longer than words, and not made like them. Paths and addresses have signs between their words.
_LONG = re.compile(r"(?<![\w./-])(?=[A-Za-z_-]*[0-9])(?=[0-9_-]*[A-Za-z])[A-Za-z0-9_-]{40,}(?![\w./-])")


class Redactor:
    def __init__(self, secrets: Iterable[str | None] = ()) -> None:
        ordered = spellings(secrets)
        self._known = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def text(self, text: str) -> str:
        if self._known is not None:
            text = self._known.sub(MASK, text)
        text = _NAMED_SECRET.sub(rf"\1{MASK}", text)
        text = _NAMED_IN_QUERY.sub(rf"\1{MASK}", text)
        return _LOOKS_SECRET.sub(MASK, text)


def without_secrets(text: str) -> str:
    """Also removes long tokens that merely could be a secret. For lines that need not be kept word for
    word."""
    return _LONG.sub(MASK, _NOBODYS.text(text))


def spellings(secrets: Iterable[str | None]) -> list[str]:
    """All encodings in which these may be met: the longest first, so that one that contains another is taken
    whole."""
    found = {
        spelling
        for secret in secrets
        if secret is not None and len(secret) >= _LEAST_SECRET
        for spelling in _spellings(secret)
    }
    return sorted(found, key=len, reverse=True)


def _spellings(secret: str) -> Iterable[str]:
    yield secret
    yield quote(secret, safe="")
    yield quote_plus(secret)
    yield json.dumps(secret)[1:-1]
    data = secret.encode()
    # Base64 depends on what came before: each of the three alignments has a core that is always the same.
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for before in range(3):
            encoded = encode(b"\0" * before + data).decode().rstrip("=")
            core = encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
            if len(core) >= 8:
                yield core


_NOBODYS = Redactor()
