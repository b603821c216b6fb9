"""Asks several agents the same, takes the first good answer, and lets a deadline end the wait."""

meta = {
    "name": "race",
    "description": "Several agents race; the first that passes a check wins; a deadline bounds it",
    "phases": [{"title": "Race"}, {"title": "Check"}, {"title": "Thank"}],
}

import operator
from collections.abc import Awaitable, Callable
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")


class Judge(Protocol):
    def __call__(self, answer: str) -> Awaitable[bool]: ...


class Race(Generic[T]):
    """The first result that a judge accepts."""

    def __init__(self, judge: Judge, *, most_seconds: float) -> None:
        self._judge = judge
        self._most_seconds = most_seconds
        self.order: list[str] = []

    async def run(self, runners: dict[str, Callable[[], Awaitable[T]]]) -> tuple[str, T] | None:
        tasks = {asyncio.create_task(self._one(name, make)): name for name, make in runners.items()}
        pending = set(tasks)
        try:
            async with asyncio.timeout(self._most_seconds):
                while pending:
                    done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                    for task in sorted(done, key=tasks.__getitem__):
                        if task.exception() is None and (found := task.result()) is not None:
                            return found
        except TimeoutError:
            log("the deadline has passed")
        finally:
            for task in pending:
                task.cancel()
        return None

    async def _one(self, name: str, make: Callable[[], Awaitable[T]]) -> tuple[str, T] | None:
        answer = await make()
        self.order.append(name)
        return (name, answer) if answer and await self._judge(answer) else None


GOOD = {"type": "object", "required": ["good"], "properties": {"good": {"type": "boolean"}}}


async def good(answer: str) -> bool:
    phase("Check")
    verdict: dict[str, Any] | None = await agent(
        f"Is this a good answer?\n{answer}", schema=GOOD, label="check"
    )
    return bool(verdict and operator.itemgetter("good")(verdict))


question: str = (args or {}).get("question", "What is a lease?")
race: Race[str] = Race(good, most_seconds=900)
phase("Race")
won = await race.run(
    {
        model: (lambda model=model: agent(f"{question} ({model})", label=model))
        for model in ("quick", "careful", "odd")
    }
)
if won is None:
    return {"winner": None, "order": race.order}
winner, answer = won
phase("Thank")
thanks = await asyncio.gather(agent(f"Thank {winner} in one line."), return_exceptions=True)
return {"winner": winner, "answer": answer, "thanks": [str(one) for one in thanks]}
