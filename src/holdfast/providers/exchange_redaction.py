"""Removes secrets and file contents from what is recorded of requests and answers, and bounds it. Every known
key of ours is removed by its value, wherever it is; everything else by the name that it has."""

import re
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import Any, cast

import msgspec
import re2  # pyright: ignore[reportMissingTypeStubs]

from holdfast.core.shapes import Json, encode
from holdfast.core.text import clean
from holdfast.providers.exchanges import COLLECTED_BYTES
from holdfast.providers.redact import MASK, Redactor, spellings

# What is stored of a body, and of one text in it.
BODY_BYTES = 50_000
TEXT_CHARACTERS = 10_000
# Of a longer body the beginning and the end are kept.
_HEAD_BYTES = 20_000
# What a cut may leave of a secret at the end of what was collected.
_CUT_CHARACTERS = 4096
_DEPTH = 64

# What is remembered of what was redacted.
_MOST_BYTES = 8 * 1024 * 1024
_ENTRY_BYTES = 150
# In which there may be a file's content.
_FILE_NAMES = frozenset({"data", "bytes", "file_data"})

_EXACT = frozenset(
    {
        "apikey",
        "xapikey",
        "accesskey",
        "accesskeyid",
        "accesstoken",
        "authtoken",
        "authorization",
        "proxyauthorization",
        "bearer",
        "bearertoken",
        "clientassertion",
        "cookie",
        "encryptionkey",
        "idtoken",
        "jwt",
        "passphrase",
        "passwd",
        "privatekey",
        "pwd",
        "refreshtoken",
        "secretkey",
        "sessiontoken",
        "setcookie",
        "sharedkey",
        "signingkey",
        "sshkey",
        "subscriptionkey",
        "token",
    }
)
_FRAGMENTS = ("secret", "password", "credential")
_IN_QUERY = ("key", "token", "sig", "auth", "pass", "pwd", "code", *_FRAGMENTS)
_IN_HEADER = ("key", "token", "auth", "cookie", "session", "signature", *_FRAGMENTS)
_SIGNS = re.compile(r"[^a-z0-9]")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s\"'<>\\`]+")
_QUERY = re.compile(r"([?&#;])([^=&#;\s]{1,100})=([^&#;\s\"'<>\\]*)")
_USER = re.compile(r"(?<=://)[^/?#\s@]+@")
# JSON inside of a text, and settings as programs print them.
_NAMED = re.compile(
    r"""(?isx)
    ( (?: api[_-]?key | access[_-]?key | access[_-]?token | auth[_-]?token | refresh[_-]?token | id[_-]?token
        | private[_-]?key | secret | passw(?:or)?d | passphrase | credential | authorization )
      [\w-]{0,40} \\*["']? \s{0,8} [:=] \s{0,8} )
    ( "(?:[^"\\]|\\.)*(?:"|\Z) | \\+"[^"]*(?:"|\Z) | '[^']*(?:'|\Z)
      | (?:bearer\s+|basic\s+)?[^\s"',;&}{\[\]]+ )
    """
)
_WORDS = (
    *("apikey", "api_key", "api-key", "access", "token", "private", "passw", "passphrase", "authorization"),
    *_FRAGMENTS,
)
# How things begin that look like a key: only texts with one of them are searched for it.
_BEGINNINGS = (
    *("sk-", "sk_", "pk-", "pk_", "rk_", "gsk_", "xai-", "hf_", "nvapi-", "key-", "AIza", "ya29."),
    *("ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "xox", "npm_", "pypi-"),
    *("AKIA", "ASIA", "eyJ", "earer ", "asic "),
)
_PRIVATE = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)
_DATA_URL = re.compile(r"data:[\w.+/-]*;base64,[A-Za-z0-9+/=_-]*")


# Whatever any of the rules could find. Where there is none of it, which is nearly always, nothing is looked
# for. One pass, whatever the text. What begins like a key does so only where a word begins: in JSON also
# after an escape.
_re2 = cast(Any, re2)
_SUSPICIOUS = (
    r"(?i)secret|passw|passphrase|credential|pwd|cookie|authorization|bearer|basic |jwt|://|base64|private|"
    r"(?:api|access|encryption|shared|signing|ssh|subscription)[^a-z0-9]{0,3}key|"
    r"(?:access|auth|bearer|id|refresh|session)[^a-z0-9]{0,3}token|\btoken\b|assertion|file_data|"
    r"media[^a-z0-9]{0,3}type|mime[^a-z0-9]{0,3}type|"
    r"(?:^|[^a-z0-9]|\\[bfnrt]|\\u[0-9a-f]{4})(?:(?:sk|pk|rk|gsk|xai|hf|nvapi|key)[-_.][a-z0-9_.*-]{6}|"
    r"aiza|ya29|gh[opsur][-_]|github_pat|glpat|xox|npm[-_]|pypi[-_]|akia|asia|eyj)"
)
# Nothing shorter is removed: a name, a sign and a value are longer.
_LEAST = 6


def is_secret_name(name: str) -> bool:
    """Of a key in JSON. How many tokens there may be is none."""
    plain = _SIGNS.sub("", name.lower())
    return plain in _EXACT or any(fragment in plain for fragment in _FRAGMENTS)


def _is_secret_header(name: str) -> bool:
    plain = name.lower()
    return any(fragment in plain for fragment in _IN_HEADER)


def _is_secret_in_query(name: str) -> bool:
    plain = _SIGNS.sub("", name.lower())
    return any(fragment in plain for fragment in _IN_QUERY)


class ExchangeRedactor:
    """`known` returns all secrets of ours as they are now."""

    def __init__(self, known: Callable[[], Iterable[str]]) -> None:
        self._ask = known
        self._asked: frozenset[str] = frozenset()
        self._spellings: tuple[str, ...] = ()
        self._suspicious: Any = _re2.compile(_SUSPICIOUS)
        self._looks = Redactor()
        self._once = _Redacted()

    def refresh(self) -> None:
        """Before a batch: keys come and go with the configuration."""
        asked = frozenset(self._ask())
        if asked != self._asked:
            self._asked = asked
            self._spellings = tuple(spellings(asked))
            self._suspicious = _re2.compile("|".join((_SUSPICIOUS, *map(_re2.escape, self._spellings))))
            self._once = _Redacted()

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        shown = {name: value for name, value in headers.items() if not _is_secret_header(name)}
        text = self.text
        if not self._is_suspicious("\n".join((*headers, *shown.values())).encode("utf-8", "replace")):
            text = clean
        return {
            text(name): text(shown[name])[:TEXT_CHARACTERS] if name in shown else MASK for name in headers
        }

    def text(self, text: str) -> str:
        """Without what could be a secret: of an error, a header, a text in a body."""
        text = clean(text)
        if len(text) < _LEAST or not self._is_suspicious(text.encode("utf-8", "replace")):
            return text
        for spelling in self._spellings:
            if spelling in text:
                text = text.replace(spelling, MASK)
        if "://" in text:
            text = _URL.sub(lambda found: self._url(found[0]), text)
        lower = text.lower()
        if any(word in lower for word in _WORDS):
            text = _NAMED.sub(rf"\1{MASK}", text)
        if "PRIVATE KEY-----" in text:
            text = _PRIVATE.sub(MASK, text)
        if any(beginning in text for beginning in _BEGINNINGS):
            text = self._looks.text(text)
        return text

    def _is_suspicious(self, data: bytes) -> bool:
        return self._suspicious.search(data) is not None

    def encoded(self, value: Json) -> bytes:
        """`json` of something that may have nothing to remove, encoded."""
        return self._redacted(encode(value))

    def once(self, what: bytes, make: Callable[[], Json]) -> bytes:
        """`encoded` of something that is asked for again and again, such as a message of a history. `make`
        gives the same value for the same bytes."""
        return self._once.of(b"made", what, lambda: self.encoded(make()))

    def _redacted(self, data: bytes) -> bytes:
        """A JSON value without secrets."""
        if len(data) <= TEXT_CHARACTERS and not self._is_suspicious(data):
            return data
        return encode(self.json(msgspec.json.decode(data)))

    def _redacted_once(self, data: bytes) -> bytes:
        return self._once.of(b"sent", data, lambda: self._redacted(data))

    def _url(self, url: str) -> str:
        url = _USER.sub(f"{MASK}@", url)
        return _QUERY.sub(
            lambda found: f"{found[1]}{found[2]}={MASK}" if _is_secret_in_query(found[2]) else found[0], url
        )

    def json(self, value: Json, depth: int = 0) -> Json:
        """The same without secrets and file contents. Long texts are cut; their length is beside them."""
        match value:
            case str():
                return self._shortened(value)
            case list():
                if depth > _DEPTH:
                    return MASK
                return [self.json(item, depth + 1) for item in cast(list[Json], value)]
            case dict():
                return self._object(cast(dict[str, Json], value), depth)
            case _:
                return value

    def _object(self, value: dict[str, Json], depth: int) -> Json:
        if depth > _DEPTH:
            return MASK
        found: dict[str, Json] = {}
        for name, item in value.items():
            if (
                is_secret_name(name)
                and item not in (None, "", True, False)
                and not isinstance(item, int | float)
            ):
                found[self.text(name)] = MASK
            elif isinstance(item, str) and _is_file_content(name, item, value):
                found[name] = f"[{len(item)} characters of a file]"
            else:
                found[self.text(name)] = self.json(item, depth + 1)
                if isinstance(item, str) and len(item) > TEXT_CHARACTERS:
                    found[f"{self.text(name)}_length"] = len(item)
        return found

    def _shortened(self, text: str) -> str:
        if "base64," in text:
            text = _DATA_URL.sub(lambda found: f"[{len(found[0])} characters of a file]", text)
        return self.text(text)[:TEXT_CHARACTERS]

    def request_body(self, body: bytes) -> str | None:
        """The requests of a turn have nearly everything in common, so each thing in their lists is redacted
        once."""
        if not body:
            return None
        try:
            found = self._fields(body)
        except msgspec.ValidationError:
            found = self._redacted(body)
        except msgspec.DecodeError:
            return bounded(self.text(body.decode("utf-8", "replace")))
        return bounded(clean(found.decode("utf-8", "replace")))

    def _fields(self, body: bytes) -> bytes:
        fields = _fields_of(body)
        if fields.keys() & _FILE_NAMES:
            return self._redacted(body)
        found: list[bytes] = []
        for name, raw in fields.items():
            key, value = encode(name), bytes(raw)
            if value.startswith(b"[") and not is_secret_name(name):
                items = b",".join([self._redacted_once(bytes(item)) for item in _items_of(value)])
                key = self._redacted_once(b"{%b:0}" % key)[1:-3]
                found.append(b"%b:[%b]" % (key, items))
            else:
                found.append(self._redacted_once(b"{%b:%b}" % (key, value))[1:-1])
        return b"{%b}" % b",".join(found)

    def answer(self, body: bytes, whole_bytes: int) -> str | None:
        """Of an answer as a whole, or of a stream of events."""
        if not body:
            return None
        text = body.decode("utf-8", "replace")
        if len(body) < whole_bytes or len(body) >= COLLECTED_BYTES:
            # What is cut off may be the end of a secret, which would then not be known for one.
            found = self._lines(text)[:-_CUT_CHARACTERS]
            return f"{found.encode()[:BODY_BYTES].decode('utf-8', 'ignore')}\n[of {whole_bytes} bytes]"
        return bounded(self._lines(text))

    def _lines(self, text: str) -> str:
        """Events are lines with JSON in them. A line in which nothing has the name of a secret stays as it
        is."""
        data = clean(text).encode("utf-8", "replace")
        found: list[bytes] = []
        at = 0
        while (match := self._suspicious.search(data, at)) is not None:
            first = max(data.rfind(b"\n", at, match.start()) + 1, at)
            last = data.find(b"\n", max(match.end() - 1, first))
            last = len(data) if last < 0 else last
            found += (data[at:first], self._line(data[first:last].decode()).encode())
            at = last
        return b"".join((*found, data[at:])).decode()

    def _line(self, lines: str) -> str:
        if "\n" in lines:
            return "\n".join(map(self._line, lines.split("\n")))
        head, data = ("data:", lines[5:]) if lines.startswith("data:") else ("", lines)
        try:
            value = msgspec.json.decode(data.strip())
        except msgspec.DecodeError:
            return self.text(lines)
        space = " " if data.startswith(" ") else ""
        return f"{head}{space}{msgspec.json.encode(self.json(value)).decode()}"


class _Redacted:
    """What things became when they were redacted, by the hash of how they were. Those that are not asked for
    any more are forgotten when there are too many."""

    def __init__(self) -> None:
        self._now: dict[bytes, bytes | None] = {}
        self._before: dict[bytes, bytes | None] = {}
        self._size = 0

    def of(self, kind: bytes, what: bytes, redact: Callable[[], bytes]) -> bytes:
        key = blake2b(what, digest_size=16, person=kind).digest()
        for known in (self._now, self._before):
            if key in known:
                found = known[key]
                break
        else:
            redacted = redact()
            # None: it stayed as it was, which is not worth keeping.
            found = None if redacted is what else redacted
        if key not in self._now:
            self._keep(key, found)
        return what if found is None else found

    def _keep(self, key: bytes, found: bytes | None) -> None:
        self._now[key] = found
        self._size += _ENTRY_BYTES + len(found or b"")
        if self._size > _MOST_BYTES:
            self._before, self._now, self._size = self._now, {}, 0


def bounded(text: str) -> str:
    data = text.encode()
    if len(data) <= BODY_BYTES:
        return text
    marker = f"\n[… {len(data)} bytes in all …]\n"
    tail = BODY_BYTES - _HEAD_BYTES - len(marker.encode())
    return data[:_HEAD_BYTES].decode("utf-8", "ignore") + marker + data[-tail:].decode("utf-8", "ignore")


_fields_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items_of = msgspec.json.Decoder(list[msgspec.Raw]).decode


def _is_file_content(name: str, item: str, beside: Mapping[str, Json]) -> bool:
    if len(item) < 100:
        return False
    return name == "file_data" or (
        name in _FILE_NAMES and bool(beside.keys() & {"media_type", "mime_type", "mimeType", "mediaType"})
    )
