"""Titles and one-line summaries, made in the background: they never delay a turn and never replace what a
person wrote."""

import asyncio

import structlog
from msgspec.structs import replace

from holdfast.core.errors import HoldfastError
from holdfast.core.parts import Text
from holdfast.core.steps import StepKind
from holdfast.core.text import one_line
from holdfast.core.titles import LONGEST, title_of
from holdfast.prompt.summaries import ASK_LINE, ASK_TITLE, LINE_SYSTEM
from holdfast.providers.interface import ModelRequest, PromptMessage
from holdfast.providers.redact import without_secrets
from holdfast.store.interface import Choices
from holdfast.worker.active_turn import ActiveTurn
from holdfast.worker.debug_steps import recorded_line
from holdfast.worker.owned_chat import Texts
from holdfast.worker.side_calls import SideCall, SideCalls

log = structlog.get_logger(__name__)

SECONDS = 30.0
SHOWN = 4000


async def describe(turn: ActiveTurn, number: int, texts: Texts) -> None:
    """A better title after the first exchange, a summary after each turn; `number` is the turn's."""
    chat_id, store = turn.chat.chat_id, turn.chat.store
    choices: Choices = {}
    try:
        if texts.first and turn.setup.chosen.title_source == "none" and _wants_title(turn):
            title = await _line(turn, number, "title", ASK_TITLE, texts.first, by_model=True)
            choices = {"title": title, "title_source": "generated"}
            if turn.settings.title_model is not None:
                # The summary may take long: the title does not wait for it.
                await store.update_settings(chat_id, **choices)
                choices = {}
        if texts.last:
            by_model = turn.settings.summaries_by_model
            choices["summary"] = await _line(turn, number, "summary", ASK_LINE, texts.last, by_model=by_model)
        if choices:
            await store.update_settings(chat_id, **choices)
    except HoldfastError as error:
        log.info("no title", chat_id=chat_id, reason=error.text)
    except Exception:
        # Nobody awaits it, so it is logged here.
        log.exception("no title", chat_id=chat_id)


def _wants_title(turn: ActiveTurn) -> bool:
    """A chat started by a person already has its first line as title; a model's title is better. A chat
    started by an agent keeps the name it was given."""
    if not turn.setup.chosen.title:
        return True
    return turn.settings.title_model is not None and turn.chat.view.chat.parent_id is None


async def _line(turn: ActiveTurn, number: int, kind: StepKind, ask: str, text: str, *, by_model: bool) -> str:
    """The model's line, or without a model (or when it fails) the first line of the text."""
    first = without_secrets(title_of(text)) or _shown(text[:SHOWN])
    if turn.settings.title_model is None or not by_model:
        return first
    try:
        async with asyncio.timeout(SECONDS):
            return _shown(await _ask(turn, number, kind, ask + text[:SHOWN])) or first
    except (HoldfastError, TimeoutError) as error:
        log.info("title model failed", chat_id=turn.chat.chat_id, reason=str(error))
        return first


def _shown(line: str) -> str:
    """Titles appear in lists, tabs, notifications and exports, so a secret pasted into a chat must not get
    into them. It is looked for before the line is cut, while it is still complete."""
    return one_line(without_secrets(line[:SHOWN]), LONGEST)


async def _ask(turn: ActiveTurn, number: int, kind: StepKind, text: str) -> str:
    model = turn.models.resolve(turn.settings.title_model)
    request = ModelRequest(
        model=model.config,
        system=(LINE_SYSTEM,),
        messages=(PromptMessage(role="user", parts=(Text(text=text),)),),
        max_output=200,
        purpose="title",
        trace_parent=await turn.beside(number, kind),
    )
    await turn.models.prepare(model)
    recorded = await recorded_line(turn, number, model, request, "title" if kind == "title" else "summary")
    if recorded is not None:
        request = replace(request, exchanges=recorded)
    calls = SideCalls(
        store=turn.chat.store,
        models=turn.models,
        clock=turn.clock,
        ids=turn.resources.ids,
        metrics=turn.chat.metrics,
        tracing=turn.resources.tracing,
    )
    return await calls.ask(
        SideCall(
            id=calls.new_id(),
            chat_id=turn.chat.chat_id,
            turn=number,
            kind=kind,
            model=model,
            request=request,
            recorded=recorded,
        )
    )
