"""A value that must not be seen: printed, logged or formatted, it shows as stars, and no encoder accepts it.
Code that needs the value calls `reveal`."""


class Secret:
    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:  # pyright: ignore[reportImplicitOverride] - the decorator is younger than 3.11
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:  # pyright: ignore[reportImplicitOverride]
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:  # pyright: ignore[reportImplicitOverride]
        return hash(self._value)

    def __reduce__(self) -> str:  # pyright: ignore[reportImplicitOverride]
        raise TypeError("a secret cannot be pickled")
