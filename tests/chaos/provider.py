"""The scripted provider of the load: it follows the script in a message, summarises when it is asked to, and
fails a number of times when a fault says so."""

from random import Random

from tests.chaos.scripts import MESSAGE_TAG
from tests.crash.summaries import FULL, asks_for_summary, has_summary
from tests.providers.answering import Asked
from tests.providers.replies import Drop, ErrorEvent, Fault, Garbage, NoEnd, Page, Reply, Say, Status
from tests.providers.server import ProviderServer, newest

PACE_SECONDS = 0.02
FAULTS: tuple[Fault, ...] = (
    Drop(after=0.4),
    Drop(after=0.7, reset=True),
    NoEnd(),
    ErrorEvent(),
    Garbage(),
    Status(529),
    Status(500),
    Status(429, headers={"retry-after": "1"}),
    Page(status=502),
)
HALF = "This is the beginning of an answer that breaks off before it comes to its end, as it was told to."


def first_tag(asked: Asked) -> str:
    """The tag that tells which chat a request is for."""
    found = MESSAGE_TAG.search(asked.raw.decode())
    return found[1] if found else ""


class ChaosProvider(ProviderServer):
    """While it is `failing`, every other answer goes wrong, in a way that another attempt can mend."""

    def __init__(self) -> None:
        super().__init__()
        self.failing: Random | None = None
        self.answer = self._answer

    def _answer(self, asked: Asked) -> Reply | None:
        if self.failing is not None and self.failing.random() < 0.5:
            return Reply(content=(Say(HALF),), fault=self.failing.choice(FAULTS))
        return _around_summaries(asked)


def _around_summaries(asked: Asked) -> Reply | None:
    """A message that was carried over a summary does not begin its script anew."""
    if asks_for_summary(asked):
        # With the first tag of the chat in it, so that its later requests are known by the same.
        text = f"Summary of [{first_tag(asked)}] and of what was said until here, in a few words."
        return Reply(content=(Say(text),), delay_seconds=PACE_SECONDS)
    if has_summary(asked) and FULL in newest(asked)[0]:
        return Reply(content=(Say("It goes on."),))
    return None
