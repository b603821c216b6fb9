"""What people do with changes: look at them, take them back by file, hunk or turn, rewind a chat, review what
waits in a draft. How what is decided here is written: `acts.py`."""

from collections.abc import Sequence
from typing import Literal

from msgspec.structs import replace

from holdfast.changes.acts import LEFT_OVER_MICROS, Acts, ChangePlace, PerformedAct, place_again
from holdfast.changes.checkpoints import DRAFT, Checkpoints, is_draft, place_of
from holdfast.changes.drafts import Drafts
from holdfast.changes.looking import ChangeList
from holdfast.changes.placing import state_at
from holdfast.changes.reversing import Reversal, reverse
from holdfast.changes.review import WAITING, DecidedReview, ReviewDecision, picked
from holdfast.changes.selection import ChangeSelection, SplitChange, selected
from holdfast.changes.shadow import PathDifference, Shadow
from holdfast.chats.change import Refusal
from holdfast.chats.commands import Restore
from holdfast.core.changes import (
    ChangeOperation,
    ChangeShown,
    Checkpoint,
    CheckpointKind,
    FileAction,
    FileChange,
    PathConflict,
    RewindWhat,
    SettledChange,
)
from holdfast.core.chats import Chat
from holdfast.core.clock import Clock
from holdfast.core.errors import HoldfastError, InvalidInput, NotFound, WrongState
from holdfast.core.ids import ChatId, Ids, MessageId, UserId
from holdfast.core.messages import Message
from holdfast.core.shapes import Record
from holdfast.store import changes, messages
from holdfast.store.interface import Store
from holdfast.workspaces.blocking import finishing
from holdfast.workspaces.code.parse_checks import ParseChecks
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.git_guard import Guard
from holdfast.workspaces.places.chat_directory import NO_CHAT, Workspaces

_TOLD = {
    "apply": "The user applied these of your changes",
    "reject": "The user rejected these of your changes, and they are taken back in your draft",
}


class DecidedChanges(Record, frozen=True, kw_only=True):
    items: tuple[ChangeShown, ...] = ()
    conflicts: tuple[PathConflict, ...] = ()


class Rewound(Record, frozen=True, kw_only=True):
    files: tuple[FileAction, ...]
    removed_messages: int
    checkpoint_id: str | None


class ListedChanges(Record, frozen=True, kw_only=True):
    """`checkpoints` come with the first page."""

    items: tuple[ChangeShown, ...]
    next_cursor: str | None
    checkpoints: tuple[Checkpoint, ...]


class ChangeControl:
    def __init__(
        self,
        store: Store,
        workspaces: Workspaces,
        checkpoints: Checkpoints,
        drafts: Drafts,
        parses: ParseChecks,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._drafts = drafts
        self._store = store
        self._workspaces = workspaces
        self._checkpoints = checkpoints
        self._clock = clock
        self._ids = ids
        self._list = ChangeList(store, checkpoints, parses)
        self.acts = Acts(store, workspaces, checkpoints, drafts)

    # --- looking ---

    async def listed(self, chat: Chat, since: str, limit: int, after: str | None) -> ListedChanges:
        """A page. InvalidInput: there is no such checkpoint, or no such place in the list."""
        rows, kept = await self._since(chat, since)
        items, more = await self._list.page(chat, rows, limit, after)
        return ListedChanges(items=items, next_cursor=more, checkpoints=kept if after is None else ())

    async def one(self, chat: Chat, since: str, change_id: str) -> ChangeShown:
        rows, _ = await self._since(chat, since)
        return await self._list.one(chat, rows, change_id)

    async def _since(self, chat: Chat, since: str) -> tuple[Sequence[FileChange], tuple[Checkpoint, ...]]:
        await self._catch_up(chat)
        rows, kept = await self._store.read(changes.of_family(chat.id), changes.checkpoints(chat.id))
        turn = max((row.turn for row in rows if row.step), default=0)
        if since == "turn":
            return [row for row in rows if row.turn == turn], kept
        if since == "base":
            return rows, kept
        if any(one.id == since for one in kept):
            return [row for row in rows if row.checkpoint_id > since], kept
        raise InvalidInput("There is no such checkpoint. Use turn, base, or the id of one.", field="since")

    # --- taking back ---

    async def undo(self, chat: Chat, selection: ChangeSelection, by: UserId) -> DecidedChanges:
        if selection.checkpoint is not None:
            return await self._undo_act(chat, selection.checkpoint, by)
        where = await self._where(chat)
        await self._catch_up(chat)
        async with self._checkpoints.alone(place_of(where)) as shadow:
            rows = await self._store.read(changes.of_family(chat.id))
            here = [row for row in rows if row.state == "applied" and row.place == place_of(where)]
            found = await finishing(lambda: selected(here, selection, shadow.objects))
            reversal = await self._reversal(where, found.rows, shadow)
            operation = await self._planned(chat, where, "undo", reversal, shadow, by, found.splits)
            operation = replace(operation, notice="The user took these changes back", notice_to=chat.id)
            done = await self._perform(where, operation, shadow)
        return await self._done(chat, reversal, done)

    async def _undo_act(self, chat: Chat, checkpoint_id: str, by: UserId) -> DecidedChanges:
        """Undoes a rewind or an undo where it was done: files, and what it removed from the conversation."""
        kept = await self._store.read(changes.checkpoints(chat.id))
        act = next((one for one in kept if one.id == checkpoint_id), None)
        if act is None:
            raise NotFound("There is no such checkpoint in this chat.")
        if is_draft(act.place):
            raise WrongState("What was done in a draft is not taken back.")
        where = place_again(act.place, chat.id, chat.owner_id)
        async with self._checkpoints.alone(act.place) as shadow:
            rows = await self._store.read(changes.of_family(chat.id))
            wanted = [row for row in rows if row.checkpoint_id == act.id and row.state == "applied"]
            reversal = await self._reversal(where, wanted, shadow)
            operation = await self._planned(chat, where, "undo", reversal, shadow, by)
            # What the act had taken back counts again, where it could be taken back.
            left = {action.path for action in reversal.actions if action.conflict is not None}
            again = tuple(
                SettledChange(id=row.id, state="applied", path=row.path)
                for row in rows
                if row.state == "reverted" and row.decided_at == act.created_at and row.path not in left
            )
            operation = replace(
                operation,
                settled=(*operation.settled, *again),
                notice="The user took a rewind back; these files changed",
                notice_to=chat.id,
            )
            done = await self._perform(where, operation, shadow)
        result = await self._done(chat, reversal, done)
        if act.rewound_at is not None:
            restored = await self._store.transition(chat.id, Restore(rewound_at=act.rewound_at))
            if isinstance(restored, Refusal):
                refused = PathConflict(path="", reason=restored.text)
                return replace(result, conflicts=(*result.conflicts, refused))
        return result

    async def rewind(
        self, chat: Chat, message_id: MessageId, what: RewindWhat, by: UserId, *, preview: bool
    ) -> Rewound:
        message = await self._store.read(messages.message(chat.id, message_id))
        if message is None:
            raise NotFound("There is no such message in this chat.")
        if message.role != "user" or message.removed or message.visibility == "model":
            raise InvalidInput(
                "A chat is rewound to a message of a user that was not removed.", field="message_id"
            )
        if chat.status not in ("idle", "error") and not preview:
            raise WrongState("The agent is at work. Interrupt it first, then rewind.")
        removed = 0
        if what != "files":
            removed = await self._store.read(messages.count_from(chat.id, message_id))
        where = await self._where(chat)
        await self._catch_up(chat)
        async with self._checkpoints.alone(place_of(where)) as shadow:
            made: list[FileChange] = []
            if what != "conversation":
                rows = await self._store.read(changes.of_family(chat.id))
                made = [row for row in rows if row.step and _is_since(row, chat.id, message)]
            here = [row for row in made if row.state == "applied" and row.place == place_of(where)]
            reversal = await self._reversal(where, here, shadow)
            reversal = replace(reversal, actions=(*reversal.actions, *_left(made, place_of(where))))
            if preview:
                return Rewound(files=reversal.actions, removed_messages=removed, checkpoint_id=None)
            operation = await self._planned(chat, where, "rewind", reversal, shadow, by)
            if what == "files":
                told = "The user rewound the files to before an earlier message"
                operation = replace(operation, notice=told, notice_to=chat.id)
            else:
                operation = replace(operation, rewinds=message_id)
            done = await self._perform(where, operation, shadow)
        return Rewound(
            files=_with_unwritten(reversal.actions, done.unwritten),
            removed_messages=removed,
            checkpoint_id=operation.checkpoint.id,
        )

    # --- review ---

    async def apply(self, chat: Chat, selection: ChangeSelection, by: UserId | None) -> DecidedChanges:
        """Applies pending changes of drafts to the workspace, merged with its current files."""
        return await self._review(chat, selection, by, "apply")

    async def reject(self, chat: Chat, selection: ChangeSelection, by: UserId | None) -> DecidedChanges:
        """Undoes pending changes in the draft."""
        return await self._review(chat, selection, by, "reject")

    async def _review(
        self, chat: Chat, selection: ChangeSelection, by: UserId | None, verb: Literal["apply", "reject"]
    ) -> DecidedChanges:
        await self._catch_up(chat)
        rows = await self._store.read(changes.of_family(chat.id))
        done = DecidedChanges()
        for place in sorted({row.place for row in rows if is_draft(row.place) and row.state in WAITING}):
            some = await self._review_draft(chat, place, selection, by, verb)
            done = DecidedChanges(
                items=(*done.items, *some.items), conflicts=(*done.conflicts, *some.conflicts)
            )
        if not done.items and not done.conflicts and not selection.everything:
            raise NotFound("There is no such change that waits, or it was decided already.")
        return done

    async def _review_draft(
        self,
        chat: Chat,
        place: str,
        selection: ChangeSelection,
        by: UserId | None,
        verb: Literal["apply", "reject"],
    ) -> DecidedChanges:
        direct = await self._where(chat)
        drafting = ChatId(place.removeprefix(DRAFT))
        target = place_of(direct) if verb == "apply" else place
        async with (
            self._checkpoints.alone(place) as draft,
            self._checkpoints.alone(place_of(direct)) as workspace,
        ):
            waiting = await self._store.read(changes.waiting_at(place))
            ours = draft if verb == "reject" else workspace
            checkpoint = self._checkpoints.checkpoint(chat.id, target, verb, 0)
            decision = ReviewDecision(self._checkpoints, checkpoint, draft.objects, workspace.objects, by)
            root = self._drafts.place(drafting) if verb == "reject" else await self._root(direct)

            def decide() -> DecidedReview:
                chosen = picked(
                    waiting,
                    everything=selection.everything,
                    paths=selection.paths,
                    changes=[(one.id, one.hunks, one.diff_hash) for one in selection.changes],
                    turn=selection.turn,
                    contents=decision.contents,
                )
                with root.open() as tree:
                    for each in chosen:
                        try:
                            now = state_at(tree, each.row.path, ours.objects)
                        except HoldfastError as error:
                            decision.leave(each, error.text)
                            continue
                        decision.apply(each, now) if verb == "apply" else decision.reject(each, now)
                return decision.decided()

            decided = await finishing(decide)
            operation = ChangeOperation(
                id=self._checkpoints.new_id(),
                chat_id=chat.id,
                owner_id=chat.owner_id,
                place=target,
                kind=verb,
                files=decided.files,
                checkpoint=checkpoint,
                rows=decided.rows,
                decided_by=by,
                decided_at=checkpoint.created_at,
                notice=_TOLD[verb],
                notice_to=drafting,
            )
            done = await self.acts.perform(operation, root, await self._guard(direct, root, verb), ours)
        kept = [row for row in done.operation.rows if row.state not in WAITING]
        return DecidedChanges(
            items=await self._list.all(chat, kept), conflicts=(*decided.conflicts, *done.unwritten)
        )

    async def _guard(self, direct: ChangePlace, root: Root, verb: str) -> Guard:
        return Guard(root.path) if verb == "reject" else await self._workspaces.guard_of(direct)

    async def _root(self, direct: ChangePlace) -> Root:
        return await self._workspaces.root_of(direct)

    # --- writing ---

    async def _reversal(self, where: ChangePlace, rows: Sequence[FileChange], shadow: Shadow) -> Reversal:
        root = await self._workspaces.root_of(where)

        def decide() -> Reversal:
            with root.open() as tree:
                return reverse(rows, lambda path: state_at(tree, path, shadow.objects), shadow.objects)

        return await finishing(decide)

    async def _planned(
        self,
        chat: Chat,
        where: ChangePlace,
        kind: CheckpointKind,
        reversal: Reversal,
        shadow: Shadow,
        by: UserId,
        splits: Sequence[SplitChange] = (),
    ) -> ChangeOperation:
        """The act is a checkpoint itself, so it can be taken back."""
        checkpoint = self._checkpoints.checkpoint(chat.id, place_of(where), kind, 0)
        parts = {split.row.id: split for split in splits if split.row.id in reversal.reverted}
        kept = self._checkpoints

        def rows() -> tuple[FileChange, ...]:
            written = [
                kept.row(
                    checkpoint, PathDifference(path=each.path, before=each.before, after=each.after), shadow
                )
                for each in reversal.files
            ]
            for split in parts.values():
                # What stays keeps its id; what is taken back is a change of its own from now on.
                written.append(kept.redrawn(replace(split.row, after=split.between), shadow))
                taken = replace(split.row, id=kept.new_id(), before=split.between, state="reverted")
                taken = replace(taken, decided_by=by, decided_at=checkpoint.created_at)
                written.append(kept.redrawn(taken, shadow))
            return tuple(written)

        return ChangeOperation(
            id=self._ids.uuid7(self._clock.now()),
            chat_id=chat.id,
            owner_id=where.owner_id,
            place=checkpoint.place,
            kind=kind,
            files=reversal.files,
            checkpoint=checkpoint,
            rows=await finishing(rows),
            settled=tuple(
                SettledChange(id=row.id, state="reverted", path=row.path)
                for row in reversal.rows
                if row.id not in parts
            ),
            decided_by=by,
            decided_at=checkpoint.created_at,
        )

    async def _perform(self, where: ChangePlace, operation: ChangeOperation, shadow: Shadow) -> PerformedAct:
        root, guard = await self._workspaces.root_of(where), await self._workspaces.guard_of(where)
        return await self.acts.perform(operation, root, guard, shadow)

    async def finish_left_over(self, after_micros: int = LEFT_OVER_MICROS) -> int:
        """Completes operations that a server left unfinished; returns how many."""
        return await self.acts.finish_left_over(after_micros)

    # --- answers ---

    async def _done(self, chat: Chat, reversal: Reversal, done: PerformedAct) -> DecidedChanges:
        rows = await self._store.read(changes.of_family(chat.id))
        act = done.operation.checkpoint
        taken = [row for row in rows if row.state == "reverted" and row.decided_at == act.created_at]
        return DecidedChanges(
            items=await self._list.all(chat, taken),
            conflicts=tuple(
                PathConflict(path=action.path, reason=action.conflict)
                for action in _with_unwritten(reversal.actions, done.unwritten)
                if action.conflict is not None
            ),
        )

    async def _catch_up(self, chat: Chat) -> None:
        """Records what interrupted calls changed, before anything is decided."""
        at = ChangePlace(chat_id=chat.id, owner_id=chat.owner_id, workspace_id=chat.workspace_id)
        await self._checkpoints.catch_up(at)

    async def _where(self, chat: Chat) -> ChangePlace:
        """The workspace itself, even if the chat works in a draft."""
        return ChangePlace(
            chat_id=chat.id if chat.workspace_id is None else NO_CHAT,
            owner_id=chat.owner_id,
            workspace_id=chat.workspace_id,
        )


def _is_since(row: FileChange, chat_id: ChatId, message: Message) -> bool:
    """Of sub-agents: those that were started since."""
    return row.turn >= message.turn if row.chat_id == chat_id else row.created_at >= message.created_at


def _left(rows: Sequence[FileChange], place: str) -> tuple[FileAction, ...]:
    """Changes that are not in this workspace: they are not rewound, and each is listed with the reason."""
    draft = "it waits in the draft; reject it there"
    elsewhere = "it was changed in another directory: a worktree, or a workspace that the chat has left"
    found = {row.path: draft for row in rows if row.state in WAITING}
    found |= {
        row.path: elsewhere
        for row in rows
        if row.state == "applied" and row.place != place and not _is_directory_row(row)
    }
    return tuple(
        FileAction(path=path, action="leave", conflict=reason) for path, reason in sorted(found.items())
    )


def _with_unwritten(
    actions: Sequence[FileAction], unwritten: Sequence[PathConflict]
) -> tuple[FileAction, ...]:
    """The actions, where files that could not be written count as left alone."""
    reasons = {one.path: one.reason for one in unwritten}
    return tuple(
        action
        if action.path not in reasons
        else FileAction(path=action.path, action="leave", conflict=reasons[action.path])
        for action in actions
    )


def _is_directory_row(row: FileChange) -> bool:
    return all(state is None or state.kind == "directory" for state in (row.before, row.after))
