"""A value that must not be seen: it shows as stars wherever it is printed, logged or put into a text, and no
encoder takes it. Whoever needs it says so by `reveal`."""


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
        raise TypeError("a secret is not pickled")
