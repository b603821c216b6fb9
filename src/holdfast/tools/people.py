"""Tools that ask a person: questions and plans. Nobody runs them here; the answer comes through the API."""

from holdfast.tools.contract import Input, Tool


class Question(Input, frozen=True, kw_only=True):
    id: str
    text: str
    options: list[str] | None = None
    multiple: bool = False


class AskUser(Input, frozen=True, kw_only=True):
    questions: list[Question]


class ProposePlan(Input, frozen=True, kw_only=True):
    plan: str


ASK_USER = Tool(
    name="ask_user",
    description=(
        "Ask the user one or more questions and wait for the answers. Use it when a decision is the user's "
        "to make and guessing wrong would cost work. Give options where the answers can be foreseen."
    ),
    input=AskUser,
    effect="read",
    asks="question",
)

PROPOSE_PLAN = Tool(
    name="propose_plan",
    description=(
        "Show the user a plan in markdown and wait until it is accepted or sent back with remarks. Use it "
        "before larger changes, once you know enough to say what you will do."
    ),
    input=ProposePlan,
    effect="read",
    asks="plan",
    exclusive=True,
)
