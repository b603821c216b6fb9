"""Changes of files: what a chat's agents changed, taking it back, rewinding the chat."""

from typing import Annotated

from litestar import Router, get, post
from litestar.params import JSONBody, QueryParameter
from msgspec import Meta

from holdfast.api.pages import MOST_LISTED, Cursor, Limit
from holdfast.api.problems import invalid
from holdfast.api.services import By, InPath, With, needs, own_chat
from holdfast.api.workspaces import own_workspace
from holdfast.changes.control import DecidedChanges, Rewound
from holdfast.changes.selection import ChangeSelection, ChosenChange
from holdfast.core.changes import ChangeShown, RewindWhat
from holdfast.core.errors import WrongState
from holdfast.core.ids import MessageId, is_uuid7
from holdfast.core.shapes import Border, Record
from holdfast.worker.commit_messages import ProposedMessage
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.git.changes import diff_workspace
from holdfast.workspaces.git.repositories import repository_of

Path = Annotated[str, Meta(min_length=1, max_length=4096)]
Number = Annotated[int, Meta(ge=0, le=100_000)]
Since = Annotated[
    str,
    QueryParameter(
        max_length=64, description="turn: the newest turn; base: all; or the id of a checkpoint: after it."
    ),
]


class CheckpointShown(Record, frozen=True, kw_only=True):
    id: str
    kind: str
    turn: int
    step: int
    at: str
    # Files that were there and are not kept: ignored ones, and those over 5 MiB.
    skipped: tuple[str, ...] = ()


class Changes(Record, frozen=True, kw_only=True):
    """`checkpoints`: the newest, with the first page."""

    items: tuple[ChangeShown, ...]
    checkpoints: tuple[CheckpointShown, ...]
    next_cursor: str | None = None


class ChosenIn(Border, frozen=True, kw_only=True):
    id: Annotated[str, Meta(max_length=64)]
    hunks: Annotated[tuple[Number, ...], Meta(min_length=1, max_length=1000)] | None = None
    diff_hash: Annotated[str, Meta(max_length=128)] | None = None


class ChangeDecision(Border, frozen=True, kw_only=True):
    """Exactly one of these says which changes are meant."""

    all: bool | None = None
    paths: Annotated[tuple[Path, ...], Meta(min_length=1, max_length=5000)] | None = None
    changes: Annotated[tuple[ChosenIn, ...], Meta(min_length=1, max_length=5000)] | None = None
    turn: Number | None = None
    # A rewind or an undo that is to be taken back itself.
    checkpoint: Annotated[str, Meta(max_length=64)] | None = None


class RewindChat(Border, frozen=True, kw_only=True):
    message_id: Annotated[str, Meta(max_length=64)]
    what: RewindWhat = "both"
    preview: bool = False


@get("/chats/{chat_id:str}/changes", guards=[needs("chats:read")])
async def list_changes(
    chat_id: InPath,
    services: With,
    caller: By,
    since: Since = "base",
    limit: Limit = MOST_LISTED,
    cursor: Cursor = None,
) -> Changes:
    """What the chat and its sub-agents changed, one entry for each file, by path. Where the lines of all
    would be too many, they are left out of some (`diff_left_out`), which are then read one by one."""
    chat = await own_chat(services, caller, chat_id)
    found = await services.changes.listed(chat, since, limit, cursor)
    return Changes(
        items=found.items,
        next_cursor=found.next_cursor,
        checkpoints=tuple(
            CheckpointShown(
                id=one.id,
                kind=one.kind,
                turn=one.turn,
                step=one.step,
                at=one.created_at.isoformat().replace("+00:00", "Z"),
                skipped=one.skipped,
            )
            for one in found.checkpoints
        ),
    )


@get("/chats/{chat_id:str}/changes/{change_id:str}", guards=[needs("chats:read")])
async def read_change(
    chat_id: InPath, change_id: InPath, services: With, caller: By, since: Since = "base"
) -> ChangeShown:
    """One change with its lines. The id is that of the list with the same `since`."""
    chat = await own_chat(services, caller, chat_id)
    return await services.changes.one(chat, since, change_id)


@post("/chats/{chat_id:str}/changes/undo", guards=[needs("chats:write")], status_code=200)
async def undo_changes(
    chat_id: InPath, data: JSONBody[ChangeDecision], services: With, caller: By
) -> DecidedChanges:
    """Take changes back, by file, hunk or turn. What others changed since is merged, or named and left."""
    chat = await own_chat(services, caller, chat_id)
    return await services.changes.undo(chat, _selection(data), caller.user.id)


@post("/chats/{chat_id:str}/changes/apply", guards=[needs("chats:write")], status_code=200)
async def apply_changes(
    chat_id: InPath, data: JSONBody[ChangeDecision], services: With, caller: By
) -> DecidedChanges:
    """Changes that wait in a draft go into the workspace, merged with what is there now."""
    chat = await own_chat(services, caller, chat_id)
    return await services.changes.apply(chat, _selection(data), caller.user.id)


@post("/chats/{chat_id:str}/changes/reject", guards=[needs("chats:write")], status_code=200)
async def reject_changes(
    chat_id: InPath, data: JSONBody[ChangeDecision], services: With, caller: By
) -> DecidedChanges:
    """Changes that wait in a draft are taken back there, and the agent is told."""
    chat = await own_chat(services, caller, chat_id)
    return await services.changes.reject(chat, _selection(data), caller.user.id)


@post("/chats/{chat_id:str}/changes/rewind", guards=[needs("chats:write")], status_code=200)
async def rewind_chat(chat_id: InPath, data: JSONBody[RewindChat], services: With, caller: By) -> Rewound:
    """Back to just before a message of the user: files, conversation, or both. `preview` only tells."""
    chat = await own_chat(services, caller, chat_id)
    if not is_uuid7(data.message_id):
        raise invalid("message_id", "not an id")
    return await services.changes.rewind(
        chat, MessageId(data.message_id), data.what, caller.user.id, preview=data.preview
    )


@post("/chats/{chat_id:str}/changes/commit-message", guards=[needs("chats:write")], status_code=200)
async def propose_commit_message(chat_id: InPath, services: With, caller: By) -> ProposedMessage:
    """A message for a commit of what is in the chat's workspace, by a model: the one for titles, else the
    chat's own. What it cost is counted with the chat."""
    chat = await own_chat(services, caller, chat_id)
    if chat.workspace_id is None:
        raise WrongState("The chat has no workspace, so there is nothing to commit.")
    found = await own_workspace(services, caller, chat.workspace_id)
    repository = await blocking(lambda: repository_of(found, services.workspaces.roots))
    diff = await diff_workspace(services.walled, services.workspaces.root(found), repository)
    if diff.is_empty:
        raise WrongState("There is nothing to commit.")
    return await services.commit_messages.propose(chat, diff.text)


def _selection(data: ChangeDecision) -> ChangeSelection:
    given = [name for name in data.__struct_fields__ if getattr(data, name) not in (None, False)]
    if len(given) != 1:
        raise invalid("changes", "give one of all, paths, changes, turn, checkpoint")
    return ChangeSelection(
        everything=data.all is True,
        paths=data.paths or (),
        changes=tuple(
            ChosenChange(id=one.id, hunks=one.hunks, diff_hash=one.diff_hash) for one in data.changes or ()
        ),
        turn=data.turn,
        checkpoint=data.checkpoint,
    )


router = Router(
    "/",
    route_handlers=[
        list_changes,
        read_change,
        apply_changes,
        reject_changes,
        undo_changes,
        rewind_chat,
        propose_commit_message,
    ],
    tags=["changes"],
)
