"""Token secrets: made from 32 random bytes, shown once, stored only as their SHA-256. That much randomness
needs no slow hash, and because they are looked up by hash no constant-time comparison is needed."""

import hashlib
import re
import secrets
import string

from holdfast.core.secret import Secret

PREFIX = "hf_"
_BYTES = 32
_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
# 62^43 is the first power above 2^256.
_LENGTH = 43
_FORM = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{_LENGTH}}}")


def new_secret() -> Secret:
    """Letters and digits only: it can be selected with a double click, and used in a URL as it is."""
    number = int.from_bytes(secrets.token_bytes(_BYTES))
    digits: list[str] = []
    for _ in range(_LENGTH):
        number, digit = divmod(number, 62)
        digits.append(_DIGITS[digit])
    return Secret(PREFIX + "".join(digits))


def is_secret(text: str) -> bool:
    """Whether it has the form of a secret: anything else is invalid without a database query."""
    return _FORM.fullmatch(text) is not None


def hash_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
