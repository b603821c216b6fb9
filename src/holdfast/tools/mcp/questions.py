"""Questions that servers ask a person in the middle of a call (elicitation). A question is a row, so the
waiting call finds the answer whichever replica the person uses. It ends with the call."""

import asyncio
from datetime import timedelta
from typing import cast

from holdfast.core.clock import Clock
from holdfast.core.ids import Ids
from holdfast.core.shapes import Json
from holdfast.store import mcp_questions
from holdfast.store.interface import Store
from holdfast.tools.mcp.connection import PersonQuestion, QuestionAnswer

ANSWER_SECONDS = 600.0
LOOK_SECONDS = 1.0
_ACTIONS = ("accept", "decline", "cancel")


class Questions:
    def __init__(self, store: Store, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids

    async def ask(self, asked: PersonQuestion) -> QuestionAnswer:
        """The person's answer, or `cancel` if none comes in time."""
        now = self._clock.now()
        question_id = self._ids.uuid7(now)
        row = mcp_questions.ServerQuestion(
            id=question_id,
            chat_id=asked.chat_id,
            call_id=asked.call_id,
            server=asked.server,
            message=asked.message,
            schema=asked.schema,
            url=asked.url,
            expires_at=now + timedelta(seconds=ANSWER_SECONDS),
        )
        await self._store.write(mcp_questions.ask(row))
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                while (answer := await self._store.read(mcp_questions.answer_of(question_id))) is None:  # noqa: ASYNC110
                    # The answer may reach another process, and there are no hints for this.
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            return QuestionAnswer(action="cancel")
        finally:
            await self._store.write(mcp_questions.remove(question_id))
        return _answered(answer)


def _answered(answer: Json) -> QuestionAnswer:
    fields = cast(dict[str, Json], answer) if isinstance(answer, dict) else {}
    action, content = fields.get("action"), fields.get("content")
    return QuestionAnswer(
        action=action if isinstance(action, str) and action in _ACTIONS else "cancel",
        content=cast(dict[str, Json], content) if isinstance(content, dict) and action == "accept" else None,
    )
