"""Tools that ask a person: questions and plans. They are not executed here; the answer comes through the
API."""

from typing import Annotated

from msgspec import Meta

from holdfast.tools.contract import Input, Tool


class Question(Input, frozen=True, kw_only=True):
    id: Annotated[
        str, Meta(description="A short name; the answer is returned under it.", examples=["license"])
    ]
    text: Annotated[str, Meta(description="The question.", examples=["Which license should it have?"])]
    options: Annotated[
        list[str] | None, Meta(description="Suggested answers; others may be given as well.")
    ] = None
    multiple: Annotated[bool, Meta(description="More than one option may be chosen.")] = False


class AskUser(Input, frozen=True, kw_only=True):
    questions: Annotated[
        list[Question],
        Meta(
            description="Everything you need to know now, asked at once.",
            examples=[[{"id": "license", "text": "Which license?", "options": ["MIT", "Apache-2.0"]}]],
        ),
    ]


class ProposePlan(Input, frozen=True, kw_only=True):
    plan: Annotated[
        str, Meta(description="In markdown.", examples=["1. Move the parser to its own module.\n2. Test it."])
    ]


ASK_USER = Tool(
    name="ask_user",
    description=(
        "Ask the user one or more questions and wait for the answers. Use it when a decision is "
        "the user's to make and guessing wrong would cost work. Give options where you can "
        "foresee the answers."
    ),
    input=AskUser,
    effect="read",
    asks="question",
)

PROPOSE_PLAN = Tool(
    name="propose_plan",
    description=(
        "Show the user a plan in markdown and wait until it is approved or sent back with a note. Use it "
        "before larger changes, once you know enough to say what you will do."
    ),
    input=ProposePlan,
    effect="read",
    asks="plan",
    exclusive=True,
)
