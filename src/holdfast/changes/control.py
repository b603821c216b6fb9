"""What people do with changes: look at them, take them back by file, hunk or turn, and rewind a chat. Every
act that writes is noted before its first file and brought to its end by whoever finds it half done."""

from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from typing import Literal

import structlog
from msgspec.structs import replace

from holdfast.changes.advice import advice
from holdfast.changes.checkpoints import DRAFT, Checkpoints, is_draft, place_of
from holdfast.changes.drafts import Drafts
from holdfast.changes.entries import Contents, WantedState
from holdfast.changes.listing import (
    Chain,
    chains,
    shown_chain,
    text_in,
    with_renames,
)
from holdfast.changes.objects import Objects
from holdfast.changes.placing import put_all, state_at
from holdfast.changes.reversing import Reversal, reverse
from holdfast.changes.review import WAITING, DecidedReview, ReviewDecision, picked
from holdfast.changes.selection import ChangeSelection, chosen_rows
from holdfast.changes.shadow import PathDifference, Shadow
from holdfast.chats.change import Refusal
from holdfast.chats.commands import Notify, Restore, Rewind
from holdfast.core.changes import (
    ChangeOperation,
    ChangeShown,
    Checkpoint,
    CheckpointKind,
    FileAction,
    FileChange,
    PathConflict,
    RewindWhat,
)
from holdfast.core.chats import Chat
from holdfast.core.clock import Clock
from holdfast.core.errors import HoldfastError, InvalidInput, NotFound, WrongState
from holdfast.core.ids import ChatId, Ids, MessageId, UserId, WorkspaceId
from holdfast.core.shapes import Record
from holdfast.store import changes, collisions, messages
from holdfast.store.interface import Applied, Store
from holdfast.workspaces.blocking import finishing
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.git_guard import Guard
from holdfast.workspaces.places.chat_directory import NO_CHAT, Workspaces

log = structlog.get_logger(__name__)

# An act that was begun and not ended for so long was left by a server that died.
LEFT_OVER_MICROS = 30 * 1_000_000


class ChangePlace(Record, frozen=True, kw_only=True):
    """Where a chat works."""

    chat_id: ChatId
    owner_id: UserId
    workspace_id: WorkspaceId | None


class DecidedChanges(Record, frozen=True, kw_only=True):
    items: tuple[ChangeShown, ...] = ()
    conflicts: tuple[PathConflict, ...] = ()


class Rewound(Record, frozen=True, kw_only=True):
    files: tuple[FileAction, ...]
    removed_messages: int
    checkpoint_id: str | None


class ChangeControl:
    def __init__(
        self,
        store: Store,
        workspaces: Workspaces,
        checkpoints: Checkpoints,
        drafts: Drafts,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._drafts = drafts
        self._store = store
        self._workspaces = workspaces
        self._checkpoints = checkpoints
        self._clock = clock
        self._ids = ids

    # --- looking ---

    async def listed(self, chat: Chat, since: str) -> tuple[tuple[ChangeShown, ...], tuple[Checkpoint, ...]]:
        rows, kept = await self._store.read(changes.of_family(chat.id), changes.checkpoints(chat.id))
        turn = max((row.turn for row in rows if row.step), default=0)
        if since == "turn":
            wanted = [row for row in rows if row.turn == turn]
        elif since == "base":
            wanted = list(rows)
        elif any(one.id == since for one in kept):
            wanted = [row for row in rows if row.checkpoint_id > since]
        else:
            raise InvalidInput(
                "There is no such checkpoint. Use turn, base, or the id of one.", field="since"
            )
        return await self._shown(chat, wanted), kept

    async def _shown(self, chat: Chat, rows: Iterable[FileChange]) -> tuple[ChangeShown, ...]:
        """What people's own acts wrote is no change to review."""
        found = [
            chain
            for chain in chains(row for row in rows if row.step)
            if not chain.is_nothing and not _is_directory(chain)
        ]
        if not found:
            return ()
        collided = {one.path: one.chats for one in await self._store.read(collisions.of_chat(chat.id))}
        async with AsyncExitStack() as stack:
            shadows = [
                await stack.enter_async_context(self._checkpoints.alone(place))
                for place in sorted({chain.last.place for chain in found})
            ]
            contents = _of_all([shadow.objects for shadow in shadows])
            items = await finishing(
                lambda: [self._item(chain, contents, chat, collided.get(chain.path, ())) for chain in found]
            )
        return with_renames(items, found)

    def _item(self, chain: Chain, contents: Contents, chat: Chat, collided: Sequence[ChatId]) -> ChangeShown:
        item = shown_chain(chain, contents, chat.id, collisions=[one for one in collided if one != chat.id])
        if item.state not in ("pending", "applied"):
            return item
        said = advice(chain.path, text_in(chain.before, contents), text_in(chain.after, contents))
        return replace(item, advice=said)

    # --- taking back ---

    async def undo(self, chat: Chat, selection: ChangeSelection, by: UserId) -> DecidedChanges:
        if selection.checkpoint is not None:
            return await self._undo_act(chat, selection.checkpoint, by)
        where = await self._where(chat)
        async with self._checkpoints.alone(place_of(where)) as shadow:
            rows = await self._store.read(changes.of_family(chat.id))
            here = [row for row in rows if row.state == "applied" and row.place == place_of(where)]
            wanted = await finishing(lambda: self._selected(here, selection, shadow))
            reversal = await self._reversal(where, wanted, shadow)
            operation = await self._act(chat, where, "undo", reversal, shadow, by)
        await self._tell(chat.id, operation, "The user took these changes back")
        return await self._done(chat, reversal)

    async def _undo_act(self, chat: Chat, checkpoint_id: str, by: UserId) -> DecidedChanges:
        """A rewind or an undo is taken back itself: files, and what it removed from the conversation."""
        where = await self._where(chat)
        async with self._checkpoints.alone(place_of(where)) as shadow:
            rows, kept = await self._store.read(changes.of_family(chat.id), changes.checkpoints(chat.id))
            act = next((one for one in kept if one.id == checkpoint_id), None)
            if act is None:
                raise NotFound("There is no such checkpoint in this chat.")
            wanted = [row for row in rows if row.checkpoint_id == act.id and row.state == "applied"]
            reversal = await self._reversal(where, wanted, shadow)
            # What the act had taken back counts again.
            again = [row.id for row in rows if row.state == "reverted" and row.decided_at == act.created_at]
            operation = await self._act(chat, where, "undo", reversal, shadow, by, again=again)
        if act.rewound_at is not None:
            match await self._store.transition(chat.id, Restore(rewound_at=act.rewound_at)):
                case Refusal(text=text):
                    conflicts = (PathConflict(path="", reason=text),)
                    done = await self._done(chat, reversal)
                    return replace(done, conflicts=(*done.conflicts, *conflicts))
                case _:
                    pass
        await self._tell(chat.id, operation, "The user took a rewind back; these files changed")
        return await self._done(chat, reversal)

    def _selected(
        self, rows: Sequence[FileChange], selection: ChangeSelection, shadow: Shadow
    ) -> list[FileChange]:
        """The rows that are meant; of a change of which only some hunks are, a row with just those."""
        made = [row for row in rows if row.step]
        if selection.everything:
            return made
        if selection.turn is not None:
            return [row for row in made if row.turn == selection.turn]
        if selection.paths:
            return [row for row in made if row.path in selection.paths]
        found: list[FileChange] = []
        for chosen in selection.changes:
            found += chosen_rows(made, chosen, shadow)
        return found

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
        async with self._checkpoints.alone(place_of(where)) as shadow:
            wanted: list[FileChange] = []
            rows: tuple[FileChange, ...] = ()
            if what != "conversation":
                rows = await self._store.read(changes.of_family(chat.id))
                from_turn = [
                    row for row in rows if row.state == "applied" and row.step and not is_draft(row.place)
                ]
                wanted = [row for row in from_turn if row.chat_id != chat.id or row.turn >= message.turn]
                # Of sub-agents: those that were started since.
                wanted = [
                    row for row in wanted if row.chat_id == chat.id or row.created_at >= message.created_at
                ]
            reversal = await self._reversal(where, wanted, shadow)
            if what != "conversation":
                reversal = replace(reversal, actions=(*reversal.actions, *_in_draft(rows, message.turn)))
            if preview:
                return Rewound(files=reversal.actions, removed_messages=removed, checkpoint_id=None)
            command = None if what == "files" else Rewind(message_id=message_id)
            operation = await self._act(chat, where, "rewind", reversal, shadow, by, command=command)
        if what == "files":
            await self._tell(chat.id, operation, "The user rewound the files to before an earlier message")
        return Rewound(
            files=reversal.actions, removed_messages=removed, checkpoint_id=operation.checkpoint.id
        )

    # --- review ---

    async def apply(self, chat: Chat, selection: ChangeSelection, by: UserId | None) -> DecidedChanges:
        """What waits in drafts goes into the workspace, merged with what is there now."""
        return await self._review(chat, selection, by, "apply")

    async def reject(self, chat: Chat, selection: ChangeSelection, by: UserId | None) -> DecidedChanges:
        """What waits in drafts is taken back there."""
        return await self._review(chat, selection, by, "reject")

    async def _review(
        self, chat: Chat, selection: ChangeSelection, by: UserId | None, verb: Literal["apply", "reject"]
    ) -> DecidedChanges:
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
                        now = state_at(tree, each.row.path, ours.objects)
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
            )
            await self._store.write(changes.begin(operation))
            await self._write(root, await self._guard(direct, root, verb), operation, ours)
        told = (
            "The user applied these of your changes"
            if verb == "apply"
            else ("The user rejected these of your changes, and they are taken back in your draft")
        )
        await self._tell(drafting, operation, told)
        settled = [row for row in decided.rows if row.state not in WAITING]
        return DecidedChanges(items=await self._shown(chat, settled), conflicts=decided.conflicts)

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

    async def _act(
        self,
        chat: Chat,
        where: ChangePlace,
        kind: CheckpointKind,
        reversal: Reversal,
        shadow: Shadow,
        by: UserId,
        *,
        again: Sequence[str] = (),
        command: Rewind | None = None,
    ) -> ChangeOperation:
        """Noted, written, noted as done. The act is a checkpoint itself, so it can be taken back."""
        checkpoint = self._checkpoints.checkpoint(chat.id, place_of(where), kind, 0)
        rows = await finishing(
            lambda: tuple(
                self._checkpoints.row(
                    checkpoint, PathDifference(path=each.path, before=each.before, after=each.after), shadow
                )
                for each in reversal.files
            )
        )
        operation = ChangeOperation(
            id=self._ids.uuid7(self._clock.now()),
            chat_id=chat.id,
            owner_id=where.owner_id,
            place=checkpoint.place,
            kind=kind,
            files=reversal.files,
            checkpoint=checkpoint,
            rows=rows,
            settled=(
                *((row_id, "reverted") for row_id in reversal.reverted),
                *((row_id, "applied") for row_id in again),
            ),
            decided_by=by,
            decided_at=checkpoint.created_at,
        )
        await self._store.write(changes.begin(operation))
        if command is not None:
            match await self._store.transition(chat.id, command):
                case Refusal(text=text):
                    await self._store.write(changes.drop(operation.id))
                    raise WrongState(text)
                case Applied(change=change):
                    version = None if change.after is None else change.after.chat.history_version
                    operation = replace(operation, checkpoint=replace(checkpoint, rewound_at=version))
                case _:
                    pass
        root, guard = await self._workspaces.root_of(where), await self._workspaces.guard_of(where)
        await self._write(root, guard, operation, shadow)
        return operation

    async def _write(self, root: Root, guard: Guard, operation: ChangeOperation, shadow: Shadow) -> None:
        """Each file that still is what it was becomes what it is to be; one that somebody changed in this
        very moment is left alone."""
        objects = shadow.objects

        def write() -> None:
            with root.open() as tree, tree.locked():
                wanted: dict[str, WantedState] = {}
                for each in operation.files:
                    now = state_at(tree, each.path, objects)
                    if now == each.before and now != each.after:
                        wanted[each.path] = WantedState(state=each.after)
                failed = put_all(tree, wanted, objects.get, guard)
            for path, reason in failed.items():
                log.warning("change not written", path=path, reason=reason)
            shadow.look(root)

        await finishing(write)
        await self._store.write(self._checkpoints.told(changes.end(operation), operation.chat_id))
        # What was written here is nobody's change when the next call looks.
        await finishing(shadow.keep)

    async def finish_left_over(self, after_micros: int = LEFT_OVER_MICROS) -> int:
        """Acts that a server began and did not end; how many were brought to their end."""
        count = 0
        for operation in await self._store.read(changes.left_over(after_micros)):
            try:
                root, guard = await self._place_again(operation)
                async with self._checkpoints.alone(operation.place) as shadow:
                    await self._write(root, guard, operation, shadow)
                count += 1
            except HoldfastError as error:
                log.warning("act on changes not ended", chat_id=operation.chat_id, reason=error.text)
        return count

    async def _place_again(self, operation: ChangeOperation) -> tuple[Root, Guard]:
        place = operation.place
        if is_draft(place):
            root = self._drafts.place(ChatId(place.removeprefix(DRAFT)))
            return root, Guard(root.path)
        scratch = place.startswith("scratch-")
        where = ChangePlace(
            chat_id=operation.chat_id if scratch else NO_CHAT,
            owner_id=operation.owner_id,
            workspace_id=None if scratch else WorkspaceId(place),
        )
        return await self._workspaces.root_of(where), await self._workspaces.guard_of(where)

    # --- telling ---

    async def _done(self, chat: Chat, reversal: Reversal) -> DecidedChanges:
        rows = await self._store.read(changes.of_family(chat.id))
        taken = [row for row in rows if row.id in set(reversal.reverted)]
        return DecidedChanges(
            items=await self._shown(chat, taken),
            conflicts=tuple(
                PathConflict(path=action.path, reason=action.conflict)
                for action in reversal.actions
                if action.conflict is not None
            ),
        )

    async def _tell(self, chat_id: ChatId, operation: ChangeOperation, what: str) -> None:
        """The agent hears of it with its next turn."""
        paths = [each.path for each in operation.files]
        if not paths:
            return
        named = ", ".join(paths[:20]) + (f" and {len(paths) - 20} more" if len(paths) > 20 else "")
        text = f"{what}: {named}. Read them again before you rely on what they held."
        notice = Notify(source="changes", key=f"changes:{operation.id}", text=text, wake=False)
        await self._store.transition(chat_id, notice)

    async def _where(self, chat: Chat) -> ChangePlace:
        """The workspace itself, also of a chat that works in a draft."""
        return ChangePlace(
            chat_id=chat.id if chat.workspace_id is None else NO_CHAT,
            owner_id=chat.owner_id,
            workspace_id=chat.workspace_id,
        )


def _in_draft(rows: Sequence[FileChange], turn: int) -> tuple[FileAction, ...]:
    """What waits in a draft is not in the workspace: it is rejected, not rewound."""
    reason = "it waits in the draft; reject it there"
    return tuple(
        FileAction(path=row.path, action="leave", conflict=reason)
        for row in rows
        if row.state in WAITING and row.turn >= turn
    )


def _of_all(kept: Sequence[Objects]) -> Contents:
    def contents(name: str) -> bytes | None:
        return next((data for objects in kept if (data := objects.get(name)) is not None), None)

    return contents


def _is_directory(chain: Chain) -> bool:
    return all(state is None or state.kind == "directory" for state in (chain.before, chain.after))
