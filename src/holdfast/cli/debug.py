"""`holdfast debug`: the debug record of a chat."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from holdfast.cli.options import AsJson, ChatWord, Url, print_json, with_server
from holdfast.cli.safe_text import neutral_line
from holdfast.cli.wording import amount, duration
from holdfast.core.chats import Chat
from holdfast.core.debug_runs import DebugAttempt, DebugRun, DebugRunDetail, DebugStep

if TYPE_CHECKING:
    from holdfast.cli.client import Client


def debug(
    chat: ChatWord,
    run: Annotated[
        str | None, typer.Option("--run", help="Only this debug run, with its requests and answers.")
    ] = None,
    switch: Annotated[
        bool | None, typer.Option("--on/--off", help="Switch it on or off for this chat.")
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show the debug record of a chat. What models were asked and answered, where it is switched on."""

    async def read(client: "Client") -> list[DebugRunDetail]:
        from holdfast.cli.lookups import find_chat

        found = await find_chat(client, chat)
        path = f"/chats/{found.id}/debug/runs"
        ids = [run] if run else [one.id async for one in client.every(path, DebugRun)]
        return [await _whole(client, f"{path}/{one}") for one in ids]

    async def choose(client: "Client") -> None:
        from holdfast.cli.lookups import find_chat

        found = await find_chat(client, chat)
        await client.request("PATCH", f"/chats/{found.id}", Chat, body={"debug": switch})

    if switch is not None:
        with_server(url, choose)
        print(f"The debug record of this chat is {'on' if switch else 'off'} from its next turn.")
        return
    found = with_server(url, read)
    if as_json:
        print_json(found[0] if run else found)
        return
    for line in _lines(found, with_bodies=run is not None):
        print(line)
    if not found:
        print("Nothing is recorded. holdfast debug CHAT --on records this chat from its next turn on.")


async def _whole(client: "Client", path: str) -> DebugRunDetail:
    """With all its steps, however many there are."""
    detail = await client.get(path, DebugRunDetail)
    steps = list(detail.steps)
    next_step = detail.next_step
    while next_step is not None:
        more = await client.get(path, DebugRunDetail, {"first_step": next_step})
        steps += more.steps
        next_step = more.next_step
    return replace(detail, steps=tuple(steps), next_step=None)


def _lines(runs: Iterable[DebugRunDetail], *, with_bodies: bool) -> Iterable[str]:
    for run in runs:
        label = neutral_line(run.summary.label, 60)
        yield f"{run.id}  {run.kind:<10}  {run.status:<11}  turn {run.turn}  {run.model or ''}  {label}"
        for step in run.steps:
            yield f"  {_step(step)}"
            for attempt in step.attempts:
                yield f"    {_attempt(attempt)}"
                if with_bodies:
                    yield from _bodies(attempt)


def _step(step: DebugStep) -> str:
    used = "" if step.usage is None else f"  {amount(step.usage.input)} in {amount(step.usage.output)} out"
    error = "" if step.error is None else f"  {step.error.kind}: {neutral_line(step.error.message, 80)}"
    return f"step {step.number}  {step.operation}  {step.status}{used}{error}"


def _attempt(attempt: DebugAttempt) -> str:
    error = "" if attempt.error is None else f"  {neutral_line(attempt.error, 80)}"
    return (
        f"attempt {attempt.number}  {attempt.method} {neutral_line(attempt.url, 100)}  "
        f"{attempt.status_code or attempt.status}  {duration(attempt.duration_ms / 1000)}{error}"
    )


def _bodies(attempt: DebugAttempt) -> Iterable[str]:
    for mark, headers, body in (
        (">", attempt.request_headers, attempt.request_body),
        ("<", attempt.response_headers, attempt.response_body),
    ):
        for name, value in headers.items():
            yield f"      {mark} {neutral_line(name, 100)}: {neutral_line(value, 200)}"
        for line in (body or "").splitlines():
            yield f"      {mark} {neutral_line(line, 2000)}"
