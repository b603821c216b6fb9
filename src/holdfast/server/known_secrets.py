"""All secrets that this server knows: none of them may be in a debug record, wherever a provider or a tool
put it."""

import re
from collections.abc import Iterator, Mapping
from typing import cast
from urllib.parse import unquote, urlsplit

import msgspec

from holdfast.config.sections import Config
from holdfast.core.secret import Secret
from holdfast.providers.configs import NO_KEY
from holdfast.providers.registry import ModelRegistry

# Variables of the environment that hold one.
_NAMES = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$")
# Shorter ones would be found in ordinary words.
_LEAST = 8


def known_secrets(config: Config, providers: ModelRegistry, environ: Mapping[str, str]) -> frozenset[str]:
    found = {*_secrets_in(config), *providers.known_keys()}
    found.update(value for name, value in environ.items() if _NAMES.search(name) is not None)
    found.update(password for url in tuple(found) if (password := _password(url)))
    return frozenset(value for value in found if len(value) >= _LEAST and value != NO_KEY)


def _secrets_in(value: object) -> Iterator[str]:
    match value:
        case Secret():
            yield value.reveal()
        case msgspec.Struct():
            for name in value.__struct_fields__:
                yield from _secrets_in(getattr(value, name))
        case list() | tuple():
            for item in cast(tuple[object, ...], value):
                yield from _secrets_in(item)
        case dict():
            for item in cast(dict[str, object], value).values():
                yield from _secrets_in(item)
        case _:
            pass


def _password(url: str) -> str | None:
    """Of an address with one: the address itself may be written otherwise elsewhere."""
    try:
        password = urlsplit(url).password if "://" in url else None
    except ValueError:
        return None
    return None if password is None else unquote(password)
