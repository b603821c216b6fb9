"""Messages for commits, proposed to a person who is about to commit what is in a workspace. A model is asked
once, with as much of the diff as a limit allows; without one, it is what the user asked for last."""

import asyncio
from collections.abc import Callable
from typing import Literal

import structlog

from holdfast.core.chats import Chat
from holdfast.core.errors import HoldfastError, NotFound
from holdfast.core.messages import Message
from holdfast.core.parts import Text
from holdfast.core.shapes import Record
from holdfast.core.text import one_line
from holdfast.core.titles import title_of
from holdfast.core.trace_parents import side_span
from holdfast.prompt.summaries import ASK_COMMIT, COMMIT_SYSTEM
from holdfast.providers.interface import ModelRequest, PromptMessage
from holdfast.providers.redact import without_secrets
from holdfast.store import messages
from holdfast.store.budgets import over_budget
from holdfast.worker.side_calls import SideCall, SideCalls

log = structlog.get_logger(__name__)

SECONDS = 30.0
# How much of the changes a model is shown, and of what the user said.
DIFF_CHARACTERS = 20_000
ASKED_CHARACTERS = 2_000
_NAMED_FILES = 200
SUBJECT_CHARACTERS = 72
_MESSAGE_CHARACTERS = 4_000
_RECENT = 50


class ProposedMessage(Record, frozen=True, kw_only=True):
    message: str
    # chat: no model could be asked, so it is the first line of what the user said last.
    source: Literal["model", "chat"]


class CommitMessages:
    def __init__(self, calls: SideCalls, model: Callable[[], str | None]) -> None:
        """`model` is the one for titles; None: the chat's own is asked."""
        self._calls = calls
        self._model = model

    async def propose(self, chat: Chat, diff: str) -> ProposedMessage:
        asked = _asked(await self._calls.store.read(messages.newest(chat.id, limit=_RECENT)))
        if not await self._calls.store.read(over_budget(chat.id)):
            try:
                async with asyncio.timeout(SECONDS):
                    said = _message(await self._ask(chat, asked, diff))
                if said:
                    return ProposedMessage(message=said, source="model")
            except (HoldfastError, TimeoutError) as error:
                log.info("no commit message from a model", chat_id=chat.id, reason=str(error))
        first = one_line(without_secrets(title_of(asked) or chat.title), SUBJECT_CHARACTERS)
        return ProposedMessage(message=first or "Changes", source="chat")

    async def _ask(self, chat: Chat, asked: str, diff: str) -> str:
        calls = self._calls
        view = await calls.store.view(chat.id)
        if view is None:
            raise NotFound("There is no such chat.")
        model = calls.models.resolve(self._model() or chat.model)
        step_id, place = calls.new_id(), None
        if calls.tracing is not None:
            place = await calls.tracing.place_of_turn(chat.id, view.chat.turn)
        said = f"{ASK_COMMIT}{asked[:ASKED_CHARACTERS]}\n\n{shown_diff(diff)}"
        request = ModelRequest(
            model=model.config,
            system=(COMMIT_SYSTEM,),
            messages=(PromptMessage(role="user", parts=(Text(text=without_secrets(said)),)),),
            max_output=400,
            purpose="commit_message",
            trace_parent=(
                None if place is None else place.span.below(*side_span(chat.id, view.chat.turn, step_id)).text
            ),
        )
        await calls.models.prepare(model)
        return await calls.ask(
            SideCall(
                id=step_id,
                chat_id=chat.id,
                turn=view.chat.turn,
                kind="commit_message",
                model=model,
                request=request,
            )
        )


def shown_diff(diff: str, limit: int = DIFF_CHARACTERS) -> str:
    """The beginning of a diff; where that is not all, the names of all changed files come first."""
    if len(diff) <= limit:
        return diff
    named = [line for line in diff.splitlines() if line.startswith(("+++ ", "--- ", "Only in ", "Binary "))]
    named = [line for line in named if not line.endswith("/dev/null")]
    names = "\n".join(dict.fromkeys(line[:200] for line in named[:_NAMED_FILES]))[: limit // 2]
    return f"{names}\n\n{diff[: limit - len(names)]}\n[the diff is longer]"


def _asked(found: tuple[Message, ...]) -> str:
    """What the user said last."""
    for message in reversed(found):
        if message.role == "user" and message.visibility != "model" and not message.removed:
            text = "\n".join(part.text for part in message.parts if isinstance(part, Text)).strip()
            if text:
                return text
    return ""


def _message(said: str) -> str:
    """What a model said, as a message: a short subject, an empty line, a body. No fence, no quotes."""
    text = without_secrets(said[:_MESSAGE_CHARACTERS]).replace("\0", "")
    lines = [line.rstrip() for line in text.strip().splitlines() if not line.startswith("```")]
    while lines and not lines[0].strip():
        lines.pop(0)
    if not lines:
        return ""
    subject = one_line(lines[0].strip().strip("\"'`"), SUBJECT_CHARACTERS)
    body = "\n".join(lines[1:]).strip()
    return f"{subject}\n\n{body}" if body and subject else subject
