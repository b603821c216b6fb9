"""`holdfast changes`, `rewind`: what a chat changed in files, taken back by file or turn, or with the
conversation."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.chat_changes import last_said
from holdfast.cli.options import AsJson, ChatWord, Url, print_json, with_server
from holdfast.cli.safe_text import neutral, neutral_line
from holdfast.core.changes import ChangeShown, FileAction, PathConflict
from holdfast.core.errors import WrongUsage
from holdfast.core.shapes import Record

if TYPE_CHECKING:
    from holdfast.cli.client import Client

MARKS = {"create": "A", "edit": "M", "delete": "D", "rename": "R"}


class CheckpointRow(Record, frozen=True, kw_only=True):
    id: str
    kind: str
    turn: int
    step: int


class ChangesAnswer(Record, frozen=True, kw_only=True):
    items: tuple[ChangeShown, ...]
    checkpoints: tuple[CheckpointRow, ...]
    next_cursor: str | None = None


class DecidedAnswer(Record, frozen=True, kw_only=True):
    items: tuple[ChangeShown, ...]
    conflicts: tuple[PathConflict, ...]


class RewoundAnswer(Record, frozen=True, kw_only=True):
    files: tuple[FileAction, ...]
    removed_messages: int
    checkpoint_id: str | None


def changes(
    chat: ChatWord,
    since: Annotated[
        str, typer.Option(help="`turn`: the newest turn; `base`: all; or the id of a checkpoint.")
    ] = "base",
    diff: Annotated[bool, typer.Option("--diff", "-d", help="Show the differences too.")] = False,
    undo: Annotated[
        list[str] | None,
        typer.Option("--undo", metavar="PATH", help="Take the changes of this file back. More than once."),
    ] = None,
    undo_turn: Annotated[
        int | None, typer.Option("--undo-turn", min=1, help="Take the changes of this turn back.")
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show what a chat changed in files, or take some of it back."""
    if undo and undo_turn is not None:
        raise WrongUsage("Give --undo or --undo-turn, not both.")
    if undo or undo_turn is not None:
        body = {"paths": undo} if undo else {"turn": undo_turn}

        async def taken_back(client: "Client") -> DecidedAnswer:
            from holdfast.cli.lookups import find_chat

            found = await find_chat(client, chat)
            return await client.post(f"/chats/{found.id}/changes/undo", DecidedAnswer, body)

        done = with_server(url, taken_back)
        print_json(done) if as_json else print("\n".join(decided_lines(done)))
        return

    async def read(client: "Client") -> ChangesAnswer:
        from holdfast.cli.lookups import find_chat

        found = await find_chat(client, chat)
        return await all_changes(client, found.id, since)

    answer = with_server(url, read)
    if as_json:
        print_json(answer)
        return
    print("\n".join(change_lines(answer.items, diff=diff)))


def rewind(
    chat: ChatWord,
    message: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="MESSAGE", help="To before this message, by its id; else your last one."
        ),
    ] = None,
    what: Annotated[str, typer.Option(help="`files`, `conversation` or `both`.")] = "both",
    preview: Annotated[bool, typer.Option("--preview", "-n", help="Only tell what it would do.")] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Go back to before a message: files, conversation or both."""
    if what not in ("files", "conversation", "both"):
        raise WrongUsage("--what is files, conversation or both.")

    async def rewound(client: "Client") -> RewoundAnswer:
        from holdfast.cli.lookups import find_chat

        found = await find_chat(client, chat)
        message_id = message or await last_said(client, found.id)
        body = {"message_id": message_id, "what": what, "preview": preview}
        return await client.post(f"/chats/{found.id}/changes/rewind", RewoundAnswer, body)

    done = with_server(url, rewound)
    print_json(done) if as_json else print("\n".join(rewound_lines(done)))


async def all_changes(client: "Client", chat_id: str, since: str) -> ChangesAnswer:
    path = f"/chats/{chat_id}/changes"
    first = page = await client.get(path, ChangesAnswer, {"since": since})
    items = [*page.items]
    while page.next_cursor is not None:
        page = await client.get(path, ChangesAnswer, {"since": since, "cursor": page.next_cursor})
        items += page.items
    return ChangesAnswer(items=tuple(items), checkpoints=first.checkpoints)


def change_lines(items: Sequence[ChangeShown], *, diff: bool = False) -> list[str]:
    if not items:
        return ["Nothing was changed."]
    lines: list[str] = []
    for item in items:
        name = item.path if item.old_path is None else f"{item.old_path} -> {item.path}"
        state = "" if item.state == "applied" else f"  {item.state}"
        counts = f"+{item.additions} -{item.deletions}"
        lines.append(f"{MARKS[item.operation]}  {neutral_line(name, 200)}  {counts}{state}")
        if diff and item.diff_left_out:
            lines += [
                "",
                "Its lines are left out: there are too many changes. Look at some with --since.",
                "",
            ]
        elif diff:
            lines += ["", neutral(item.diff.rstrip("\n")), ""]
    return lines


def decided_lines(done: DecidedAnswer) -> list[str]:
    lines = [f"{item.state}: {neutral_line(item.path, 200)}" for item in done.items]
    lines += [f"left alone: {neutral_line(one.path, 200)}, {one.reason}" for one in done.conflicts]
    return lines or ["There was nothing to take back."]


def rewound_lines(done: RewoundAnswer) -> list[str]:
    lines = [
        f"{file.action}: {neutral_line(file.path, 200)}" + (f", {file.conflict}" if file.conflict else "")
        for file in done.files
    ]
    if done.removed_messages:
        lines.append(f"{done.removed_messages} messages are removed from the conversation.")
    if done.checkpoint_id is None:
        lines.append("Nothing was done yet: this is what it would do.")
    else:
        lines.append(f"To take it back: /undo in the chat, or undo with checkpoint {done.checkpoint_id}.")
    return lines
