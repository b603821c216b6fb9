"""An agent that is about to be made, with all that its first turn is run with: whoever makes it and runs it
need not read it again."""

from holdfast.chats.commands import Create
from holdfast.core.accounts import NamedAgent
from holdfast.core.ids import ChatId
from holdfast.core.runs import AgentTerms
from holdfast.core.shapes import Record


class NewAgent(Record, frozen=True, kw_only=True):
    chat_id: ChatId
    create: Create
    # The agent it is started as.
    named: NamedAgent | None = None
    # What binds it as an agent of a run.
    terms: AgentTerms | None = None
    # Whether any budget binds it.
    capped: bool
