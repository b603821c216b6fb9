"""`holdfast run`: one turn. Its text goes to standard output while it is said, what is wrong with it to
standard error; how it ended is the exit code."""

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.chats import SentAnswer
from holdfast.cli.errand import Errand, read_budget, read_prompt
from holdfast.cli.files import text_or_file
from holdfast.cli.options import Effort, ModelName, Url, WorkspaceName, print_json, with_server
from holdfast.core.errors import WrongUsage
from holdfast.core.shapes import Json

if TYPE_CHECKING:
    from holdfast.cli.client import Client
    from holdfast.cli.outputs import TurnOutput
    from holdfast.cli.turn import TurnOutcome
    from holdfast.core.ids import ChatId

INTERRUPTED = 130


def run(
    prompt: Annotated[
        str | None,
        typer.Argument(help="The prompt. Piped input is appended to it, or is the prompt if you give none."),
    ] = None,
    model: ModelName = None,
    effort: Effort = None,
    chat: Annotated[
        str | None,
        typer.Option("--chat", "-c", help="Continue this chat (an id, or `last`) instead of a new one."),
    ] = None,
    workspace: WorkspaceName = None,
    attach: Annotated[
        list[Path] | None,
        typer.Option("--attach", "-a", metavar="FILE", help="Attach a file. Can be repeated."),
    ] = None,
    agent: Annotated[str | None, typer.Option(help="Run as this named agent.")] = None,
    system: Annotated[
        str | None, typer.Option(help="System instructions; `@FILE` reads them from a file.")
    ] = None,
    max_steps: Annotated[int | None, typer.Option(min=1, help="Maximum model calls in the turn.")] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", "-b", help="Budget in tokens (50k) or dollars (1.50usd).")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print every feed event as a line of JSON.")
    ] = False,
    as_result: Annotated[
        bool, typer.Option("--json-result", help="Print one JSON object at the end: answer, problems, usage.")
    ] = False,
    url: Url = None,
) -> None:
    """Run one turn and stream the answer.

    It works in the current directory. If that is not a workspace yet, you are asked once whether to make it
    one. Control characters in the answer are escaped; --json prints everything verbatim.

    Exit codes: 0 done; 1 failed, needs a person, or no usable answer; 130 interrupted. Ctrl-C interrupts the
    turn, a second Ctrl-C exits immediately.
    """
    if as_json and as_result:
        raise WrongUsage("Use --json or --json-result, not both.")
    new = _for_new_chat(agent, system, max_steps, budget)
    if chat is not None and (new or workspace is not None):
        raise WrongUsage("--workspace, --agent, --system, --max-steps and --budget are for a new chat.")
    is_asked = sys.stdin.isatty()
    errand = Errand(
        read_prompt(prompt if prompt is not None or not attach else "", sys.stdin),
        chat, model, effort, tuple(attach or ()), new,
    )  # fmt: skip

    async def work(client: "Client") -> int:
        from holdfast.cli.outputs import TurnOutput

        placed = errand if chat is not None else await in_workspace(client, errand, workspace, ask=is_asked)
        output: TurnOutput = _output(as_json, as_result)
        turned = await one_turn(client, placed, output)
        if as_result:
            print_json(output.record.result(turned.chat_id, turned.end))
        return turned.code

    raise typer.Exit(with_server(url, work))


def _for_new_chat(
    agent: str | None, system: str | None, max_steps: int | None, budget: str | None
) -> dict[str, Json]:
    chosen: dict[str, Json] = {
        "agent": agent,
        "instructions": None if system is None else text_or_file(system),
        "max_steps": max_steps,
        "budget": None if budget is None else read_budget(budget),
    }
    return {name: value for name, value in chosen.items() if value is not None}


def _output(as_json: bool, as_result: bool) -> "TurnOutput":
    from holdfast.cli import outputs

    if as_json:
        return outputs.TurnAsJson()
    if as_result:
        return outputs.Quiet()
    if not sys.stdout.isatty():
        return outputs.PlainText(sys.stdout)
    from holdfast.cli.terminal.follow import Followed

    return Followed(sys.stdout)


async def in_workspace(client: "Client", errand: Errand, word: str | None, *, ask: bool) -> Errand:
    """The errand for a new chat that works in the named workspace, else in the current directory."""
    from holdfast.cli.asking import yes
    from holdfast.cli.workspace_choice import choose

    choice = await choose(client, word, os.environ, yes if ask else None)
    if choice.is_hint:
        print(f"holdfast: {choice.note}", file=sys.stderr)
    if choice.workspace_id is None:
        return errand
    return replace(errand, new={**(errand.new or {}), "workspace_id": choice.workspace_id})


@dataclass(frozen=True, slots=True)
class Turned:
    """How a turn ended, as an exit code too, and in which chat; None: before there was one."""

    code: int
    chat_id: "ChatId | None"
    end: "TurnOutcome | None" = None


async def one_turn(client: "Client", errand: Errand, output: "TurnOutput") -> Turned:
    from holdfast.cli.ctrl_c import CtrlC

    begun: asyncio.Future[ChatId] = asyncio.get_running_loop().create_future()
    following = asyncio.create_task(_follow(client, errand, output, begun.set_result))
    async with CtrlC(client, begun, following, lambda chat_id: f"/chats/{chat_id}/interrupt") as ctrl_c:
        try:
            chat_id, end = await following
        except asyncio.CancelledError:
            if not ctrl_c.pressed:
                raise
            return Turned(INTERRUPTED, None)
        finally:
            output.end()
    return Turned(INTERRUPTED if ctrl_c.pressed else _tell(chat_id, end, output), chat_id, end)


async def _follow(
    client: "Client", errand: Errand, output: "TurnOutput", begun: "Callable[[ChatId], None]"
) -> "tuple[ChatId, TurnOutcome]":
    """Sends the message and watches until its turn is over."""
    from holdfast.cli.feed_client import watch
    from holdfast.cli.lookups import find_chat
    from holdfast.cli.turn import OwnTurn
    from holdfast.core.feed_events import CaughtUp

    turn = OwnTurn()
    there = None if errand.chat is None else await find_chat(client, errand.chat)
    if there is None:
        chat_id = await errand.begin(client)
        turn.sent()
        begun(chat_id)
    else:
        chat_id = there.id
    transcript = output.transcript
    async with aclosing(watch(client, chat_id, tail=None if there is None else 1)) as feed:
        async for seen in feed:
            if seen.received is not None:
                output.received(seen.received)
            if seen.event is None:
                continue
            entries = transcript.apply(seen.event)
            end = turn.apply(seen.event, transcript)
            if turn.begun:
                output.show(entries)
                output.tell(seen.event, turn.number)
            if end is not None:
                return chat_id, end
            if isinstance(seen.event, CaughtUp) and not turn.is_sent:
                # Watched first, then said: nothing of the turn can be missed.
                body = {"content": await errand.content(client), **errand.settings()}
                sent = await client.post(f"/chats/{chat_id}/messages", SentAnswer, body)
                message, item = sent.message, sent.queued
                turn.sent(message.id if message else None, item.id if item else None)
                begun(chat_id)
    raise AssertionError("a feed does not end by itself")


def _tell(chat_id: "ChatId", end: "TurnOutcome", output: "TurnOutput") -> int:
    from holdfast.cli.wording import failure

    match end.how:
        case "finished":
            if output.record.has_something:
                return 0
            if not output.record.problems:
                print("holdfast: The model gave an empty answer.", file=sys.stderr)
            return 1
        case "interrupted":
            print("holdfast: Somebody interrupted the turn.", file=sys.stderr)
            return INTERRUPTED
        case "failed":
            if not output.shows_problems:
                why = "The turn failed." if end.failure is None else failure(end.failure)
                print(f"holdfast: {why}", file=sys.stderr)
            return 1
        case "needs_you":
            print(
                f"holdfast: It needs a person ({end.what}). Answer it with: holdfast attach {chat_id}",
                file=sys.stderr,
            )
            return 1
