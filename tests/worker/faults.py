"""A database that fails now and then: commands that are not accepted, and answers that get lost."""

from collections.abc import Callable
from typing import Any, Literal

import pytest

from holdfast.chats.change import Refusal
from holdfast.chats.commands import Command
from holdfast.core.errors import TryAgain
from holdfast.core.ids import ChatId
from holdfast.store.interface import Applied, Replayed, Store

Result = Applied | Refusal | Replayed


class Faults:
    """How often it failed so far."""

    def __init__(self) -> None:
        self.count = 0


def fail_transitions(
    monkeypatch: pytest.MonkeyPatch,
    store: Store,
    *,
    when: Literal["before", "after"],
    which: Callable[[tuple[Command, ...], int], bool],
) -> Faults:
    """Transitions for which `which` is true (given the commands, and the number of faults before) fail before
    anything is done, or after they were committed."""
    transition, faults = store.transition, Faults()

    async def failing(chat_id: ChatId, *commands: Command, **more: Any) -> Result:
        fails = which(commands, faults.count)
        if fails:
            faults.count += 1
        if fails and when == "before":
            raise TryAgain("The database is away.", 0.01)
        result = await transition(chat_id, *commands, **more)
        if fails:
            raise TryAgain("The connection broke.", 0.01)
        return result

    monkeypatch.setattr(store, "transition", failing)
    return faults


def just_before(
    monkeypatch: pytest.MonkeyPatch,
    store: Store,
    which: Callable[[tuple[Command, ...], int], bool],
    *meanwhile: Command,
) -> Faults:
    """Somebody else is quicker: `meanwhile` is committed directly before the transitions that are meant."""
    transition, faults = store.transition, Faults()

    async def late(chat_id: ChatId, *commands: Command, **more: Any) -> Result:
        if which(commands, faults.count):
            faults.count += 1
            await transition(chat_id, *meanwhile)
        return await transition(chat_id, *commands, **more)

    monkeypatch.setattr(store, "transition", late)
    return faults


def just_after(
    monkeypatch: pytest.MonkeyPatch,
    store: Store,
    which: Callable[[tuple[Command, ...], int], bool],
    *meanwhile: Command,
) -> Faults:
    """The same directly after them, before whoever asked for them hears of it."""
    transition, faults = store.transition, Faults()

    async def overtaken(chat_id: ChatId, *commands: Command, **more: Any) -> Result:
        result = await transition(chat_id, *commands, **more)
        if which(commands, faults.count):
            faults.count += 1
            await transition(chat_id, *meanwhile)
        return result

    monkeypatch.setattr(store, "transition", overtaken)
    return faults
