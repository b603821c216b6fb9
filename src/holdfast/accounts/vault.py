"""Provider keys at rest: sealed with AES-256-GCM under the server's secret key, bound to the provider's name
and address, so that a key cannot be moved to another provider or sent to another host."""

import base64
import binascii
import hashlib
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.accounts.private_files import create_private, read_private
from holdfast.core.errors import BadConfig, BadSecretKey
from holdfast.core.secret import Secret
from holdfast.store import provider_configs
from holdfast.store.interface import Store

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_FILE = "secret.key"
_KEY_BYTES = 32
_NONCE_BYTES = 12
# Says how to read the rest, should the format ever change.
_FORMAT = b"\1"
_HOW = "Make one with: openssl rand -base64 32"
_HEX = re.compile(r"[0-9A-Fa-f]{64}")
# Random bytes nearly always have more; a repeated word, or zeros, never.
_LEAST_DIFFERENT = 16


class Vault:
    def __init__(self, key: bytes, place: str) -> None:
        self._key = key
        # A hash that identifies the secret key: it tells a changed secret key from a sealed key that was
        # moved.
        self._head = _FORMAT + hashlib.sha256(b"holdfast secret key " + key).digest()[:8]
        # Where the key is, in words.
        self._place = place

    @classmethod
    def open(cls, data: Path, written: Secret | None) -> "Vault":
        """With `[server] secret_key`, or with the key in `<data>/secret.key`, which the first start creates.
        Raises BadConfig for an invalid key."""
        if written is not None:
            return cls(_parsed(written.reveal(), "server.secret_key"), "server.secret_key")
        file = data / KEY_FILE
        text = read_private(file)
        if text is None:
            text = create_private(file, base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode())
        return cls(_parsed(text, str(file)), str(file))

    async def check(self, store: Store) -> None:
        """Raises BadSecretKey if keys are stored that this vault cannot open."""
        stored = await store.read(provider_configs.providers())
        locked = [
            one.name for one in stored if one.sealed_key is not None and not self._knows(one.sealed_key)
        ]
        if locked:
            raise BadSecretKey(
                f"The stored keys of {', '.join(locked)} were sealed with another secret key than "
                f"the one in {self._place}. Put the former one there; if it is lost, delete these "
                "providers from the table provider_configs and enter them again."
            )

    def seal(self, key: str, *, name: str, base_url: str) -> bytes:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return self._head + nonce + self._cipher().encrypt(nonce, key.encode(), _bound_to(name, base_url))

    def unseal(self, sealed: bytes, *, name: str, base_url: str) -> Secret | None:
        """None: it was sealed for another provider or address, or with another secret key, or is damaged."""
        from cryptography.exceptions import InvalidTag

        if not self._knows(sealed):
            return None
        nonce, rest = sealed[len(self._head) :][:_NONCE_BYTES], sealed[len(self._head) + _NONCE_BYTES :]
        try:
            return Secret(self._cipher().decrypt(nonce, rest, _bound_to(name, base_url)).decode())
        except (InvalidTag, ValueError):
            return None

    def _cipher(self) -> "AESGCM":
        """Imported only where it is used: without stored keys nothing is ever sealed."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(self._key)

    def _knows(self, sealed: bytes) -> bool:
        return sealed.startswith(self._head)


def _bound_to(name: str, base_url: str) -> bytes:
    return f"{name}\0{base_url.rstrip('/')}".encode()


def _parsed(text: str, place: str) -> bytes:
    try:
        key = bytes.fromhex(text) if _HEX.fullmatch(text) else base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != _KEY_BYTES:
        raise BadConfig(f"{place} is not 32 bytes in base64 or hexadecimal digits. {_HOW}")
    if len(set(key)) < _LEAST_DIFFERENT:
        raise BadConfig(f"{place} is too easy to guess. {_HOW}")
    return key
