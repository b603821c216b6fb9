"""A feed given to another program: one event a line, exactly as it came."""

from collections.abc import Sequence

from holdfast.cli.events import Received


class JsonLines:
    def received(self, received: Received) -> None:
        print(received.line(), flush=True)

    def show(self, entries: Sequence[object]) -> None:
        """What is made of the events is for people."""

    def end(self) -> None:
        pass
