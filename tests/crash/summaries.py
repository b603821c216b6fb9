"""How the scripted provider behaves around compactions: it summarises when it is asked to, slowly enough to
be killed meanwhile, and a message that was carried over a summary does not begin its script anew."""

from collections.abc import Callable

from holdfast.prompt.summaries import ASK_COMPACTION, BOUNDARY
from tests.crash.scripts import TAG
from tests.providers.answering import Asked
from tests.providers.replies import Reply, Say
from tests.providers.server import newest

GOES_ON = "<<on it goes on>>"
# In the script of a message: the context is nearly full when this answer is over.
FULL = "usage: input=90000 output=10"


def first_tag(asked: Asked) -> str:
    """The tag that tells which chat a request is for."""
    found = TAG.search(asked.raw.decode())
    return found[1] if found else ""


def around_summaries(pace_seconds: float = 0.02) -> Callable[[Asked], Reply | None]:
    def answer(asked: Asked) -> Reply | None:
        said, _ = newest(asked)
        if ASK_COMPACTION in said:
            # With the first tag of the chat in it, so that its later requests are known by the same.
            text = f"<<summary of [{first_tag(asked)}] and what was said until here in a few words summary>>"
            return Reply(content=(Say(text),), delay_seconds=pace_seconds)
        if FULL in said and has_summary(asked):
            return Reply(content=(Say(GOES_ON),))
        return None

    return answer


def has_summary(asked: Asked) -> bool:
    """Whether the request begins with a summary."""
    return BOUNDARY.strip() in asked.raw.decode()


def asks_for_summary(asked: Asked) -> bool:
    return ASK_COMPACTION in newest(asked)[0]
