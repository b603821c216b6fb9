"""JSON with ordered keys. A database may give an object back with its keys in another order; what a provider
has cached must still be met byte for byte."""

import msgspec

_encoder = msgspec.json.Encoder(order="deterministic")


def stable(value: object) -> bytes:
    return _encoder.encode(value)


def stable_text(value: object) -> str:
    return _encoder.encode(value).decode()
