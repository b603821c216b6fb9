"""Titles and one-line summaries, made beside the work: they never delay a turn and never replace what a
person wrote."""

import asyncio
from contextlib import aclosing

import structlog

from holdfast.core.errors import HoldfastError
from holdfast.core.parts import Text
from holdfast.core.text import one_line
from holdfast.providers.assemble import Assembler
from holdfast.providers.interface import PromptMessage, Request
from holdfast.store.interface import Choices
from holdfast.worker.owned import Texts
from holdfast.worker.run import Run

log = structlog.get_logger(__name__)

LONGEST = 80
SECONDS = 30.0
SYSTEM = "You name things. Answer with one short line of plain text and nothing else."
ASK_TITLE = "Give this conversation a title of at most eight words:\n\n"
ASK_SUMMARY = "Say in one line what the agent just did or answered:\n\n"
SHOWN = 4000


async def describe(run: Run, texts: Texts) -> None:
    """A title after the first exchange, a summary after each turn."""
    chat_id, store = run.chat.chat_id, run.chat.store
    choices: Choices = {}
    try:
        if texts.first and run.chosen.title_source == "none" and not run.chosen.title:
            title = await _line(run, ASK_TITLE, texts.first)
            choices = {"title": title, "title_source": "generated"}
            if run.settings.title_model is not None:
                # The summary may take long: the title does not wait for it.
                await store.update_settings(chat_id, **choices)
                choices = {}
        if texts.last:
            choices["summary"] = await _line(run, ASK_SUMMARY, texts.last)
        if choices:
            await store.update_settings(chat_id, **choices)
    except HoldfastError as error:
        log.info("no title", chat_id=chat_id, reason=error.text)
    except Exception:
        # Nobody waits for it: it is said here or nowhere.
        log.exception("no title", chat_id=chat_id)


async def _line(run: Run, ask: str, text: str) -> str:
    """The model's line, or without a model (or when it fails) the first line of the text."""
    first = one_line(next((line for line in text.splitlines() if line.strip()), ""), LONGEST)
    if run.settings.title_model is None:
        return first
    try:
        async with asyncio.timeout(SECONDS):
            return one_line(await _ask(run, ask + text[:SHOWN]), LONGEST) or first
    except (HoldfastError, TimeoutError) as error:
        log.info("title model failed", chat_id=run.chat.chat_id, reason=str(error))
        return first


async def _ask(run: Run, text: str) -> str:
    model = run.models.resolve(run.settings.title_model)
    assembler = Assembler(run.new_call_id)
    request = Request(
        model=model.config,
        system=(SYSTEM,),
        messages=(PromptMessage(role="user", parts=(Text(text=text),)),),
        max_output=200,
        purpose="title",
    )
    async with aclosing(model.adapter.stream(request)) as events:
        async for event in events:
            assembler.add(event)
            if assembler.full:
                break
    return " ".join(part.text for part in assembler.answer().parts if isinstance(part, Text))
