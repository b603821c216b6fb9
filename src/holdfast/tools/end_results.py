"""Ends of sub-agents as the result of a call. What is reported is taken in the commit that stores the result,
so that each end is reported once; calls of one step that report ends take turns."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import to_builtins
from msgspec.structs import replace

from holdfast.chats.commands import DeliveryKey
from holdfast.core.ids import ChatId
from holdfast.core.shapes import Json, Record, encode_text
from holdfast.store import children, deliveries
from holdfast.store.children import Child
from holdfast.store.query import Query
from holdfast.store.queue import inbox
from holdfast.tools.contract import ToolContext
from holdfast.tools.ends import AgentTurnEnd, ends_of, said
from holdfast.tools.family import AgentFamily
from holdfast.tools.output import OUTPUT_LIMIT, bound
from holdfast.tools.waits import heard

TOLD_BEFORE = "You were told about its end before; read_agent shows what it said."
# A result is never cut to less.
FEWEST_CHARACTERS = 200


class Shown(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A sub-agent as its parent sees it."""

    agent_id: ChatId
    label: str
    # running, needs_person, done, failed or stopped.
    status: str
    # Over all turns that have not been reported.
    result: str | None = None
    error: str | None = None
    # Where its changes are, if it has its own worktree.
    changes: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class News:
    """What there is to report about sub-agents, and the ends that are reported with it."""

    shown: tuple[Shown, ...]
    ends: tuple[AgentTurnEnd, ...]
    # Whether an earlier call of the step may still report ends: then this one reports none.
    too_early: bool

    @property
    def keys(self) -> tuple[DeliveryKey, ...]:
        return tuple(end.key for end in self.ends)


class EndResults:
    def __init__(self, family: AgentFamily) -> None:
        self._family = family
        self._store = family.store

    async def wait(self, context: ToolContext, meant: Sequence[ChatId] | None, seconds: float) -> News:
        """Returns when all of them have ended (None: all there are), or when the time is over."""

        async def ended() -> bool:
            found, others_first = await self._store.read(
                _meant(context, meant), children.handed_over_before(context.chat_id, context.call_id)
            )
            return not others_first and not any(child.busy for child in found)

        async with self._family.bus.listen(chat_id=context.chat_id, live=False) as events:
            await heard(events, ended, seconds)
        return await self.news(context, meant)

    async def news(self, context: ToolContext, meant: Sequence[ChatId] | None) -> News:
        """The current state."""
        found, untaken, waiting, others_first = await self._store.read(
            _meant(context, meant),
            deliveries.deliveries_for_parent(context.chat_id),
            inbox(context.chat_id),
            children.handed_over_before(context.chat_id, context.call_id),
        )
        told: list[Shown] = []
        ends: list[AgentTurnEnd] = []
        for child in found:
            if child.busy or others_first:
                told.append(shown(child))
                continue
            own = await ends_of(self._store, child.id, untaken, waiting)
            told.append(await self._ended(context, child, own))
            ends += own
        return News(tuple(told), tuple(ends), too_early=others_first)

    async def _ended(self, context: ToolContext, child: Child, ends: Sequence[AgentTurnEnd]) -> Shown:
        if ends:
            isolation = self._family.isolation
            return replace(
                shown(child),
                result=words_of(ends),
                changes=None if isolation is None else await isolation.end(child),
            )
        if child.parent_id == context.chat_id:
            return replace(shown(child), note=TOLD_BEFORE)
        # The end of somebody else's child is reported to its parent; here it is only looked at.
        return replace(shown(child), result=await said(self._store, child.id, child.answer_id))


def _meant(context: ToolContext, meant: Sequence[ChatId] | None) -> Query[tuple[Child, ...]]:
    return children.children(context.chat_id) if meant is None else children.some(meant)


def words_of(ends: Sequence[AgentTurnEnd]) -> str:
    return "\n\n".join(end.said for end in ends if end.said)


def shown(child: Child) -> Shown:
    failure = None if child.busy else child.failure
    return Shown(
        agent_id=child.id,
        label=child.label,
        status=status_of(child),
        error=None if failure is None else f"{failure.message} message_agent lets it try again.",
    )


def status_of(child: Child) -> str:
    match child.status:
        case "running" | "interrupting":
            return "running"
        case "requires_action":
            return "needs_person"
        case "error":
            return "failed"
        case "idle":
            return "stopped" if child.outcome == "interrupted" else "done"


def fitted(news: Sequence[Shown], limit: int = OUTPUT_LIMIT) -> Json:
    """All of them, each result cut to the same length if necessary: cutting the middle of the whole would
    drop complete results."""
    output = to_builtins(list(news))
    most = limit
    while len(encode_text(output)) > limit and most > FEWEST_CHARACTERS:
        most = most * 2 // 3
        output = to_builtins([_cut(one, most) for one in news])
    return output


def _cut(one: Shown, most: int) -> Shown:
    result, cut = bound(one.result or "", most)
    if not cut:
        return one
    return replace(one, result=result, note="read_agent shows the whole of its result.")
