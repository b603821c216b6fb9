"""How runs are started and cancelled. A run keeps the text of its script and its arguments; everything else
about it happens where its lease is."""

import hashlib
from collections.abc import Callable

import msgspec

from holdfast.chats.commands import CallFence, Stop
from holdfast.core.clock import Clock
from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.ids import Ids, RunId, UserId, WorkspaceId
from holdfast.core.runs import OVER, AskedBy, Language, Run, RunPhase
from holdfast.core.shapes import Json, Record, check_json
from holdfast.core.usage import Budget
from holdfast.scripts.meta import Meta
from holdfast.scripts.runs.library import Library
from holdfast.scripts.runs.reuse import Earlier, Lending, decide
from holdfast.scripts.source import Script
from holdfast.store import runs
from holdfast.store.interface import Store
from holdfast.tools.schema import Shape

MAX_ARGS_BYTES = 4 * 1024 * 1024

_encode = msgspec.json.Encoder(order="sorted").encode


class RunRequest(Record, frozen=True, kw_only=True):
    """A request for a run: of a workflow by its name, or of a script."""

    owner_id: UserId
    name: str | None = None
    script: str | None = None
    language: Language | None = None
    args: Json | msgspec.UnsetType = msgspec.UNSET
    # Output tokens; None: what the script says itself.
    budget: int | None = None
    model: str | None = None
    effort: str | None = None
    max_concurrency: int | None = None
    workspace_id: WorkspaceId | None = None
    # The run whose answers are reused; None: the newest of the same workflow with the same arguments, if it
    # failed or was cancelled.
    resume_from: RunId | None = None
    # Nothing is reused.
    fresh: bool = False
    # The newest is reused even if it succeeded.
    reuse: bool = False
    asked_by: AskedBy | None = None
    # What its agents may use, as in the settings of a chat.
    tools: Json = None


class Runs:
    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        ids: Ids,
        library: Library,
        check_model: Callable[[str], None],
    ) -> None:
        """`check_model` raises InvalidInput for a model that does not exist."""
        self.library = library
        self._store = store
        self._clock = clock
        self._ids = ids
        self._check_model = check_model

    async def start(self, wanted: RunRequest, on_behalf: CallFence | None = None) -> Run:
        """Raises InvalidInput (BadScript with its line), NotFound, or WrongState: the call that asks for it
        is no longer running."""
        return await self._store.write(runs.create(await self.draft(wanted)), on_behalf=on_behalf)

    async def draft(self, wanted: RunRequest) -> Run:
        """The run, for callers that write it themselves."""
        script = await self._script(wanted)
        check_args(script.meta, wanted.args)
        if wanted.model is not None:
            self._check_model(wanted.model)
        args_hash = hash_of(wanted.args)
        lending = await self._lending(wanted, script.meta, args_hash)
        state = await self.library.state(wanted.workspace_id, wanted.owner_id)
        now = self._clock.now()
        return Run(
            id=RunId(self._ids.uuid7(now)),
            owner_id=wanted.owner_id,
            name=script.meta.name,
            language=script.language,
            created_at=now,
            workspace_id=wanted.workspace_id,
            model=wanted.model,
            effort=wanted.effort,
            max_concurrency=wanted.max_concurrency,
            budget=Budget(tokens=_least(wanted.budget, script.meta.budget)),
            args_hash=args_hash,
            resumed_from=lending.lender,
            reuse=lending.why,
            workspace_state=state,
            asked_by=wanted.asked_by,
            tools=wanted.tools,
            phases=tuple(
                RunPhase(title=phase.title, detail=phase.detail, model=phase.model)
                for phase in script.meta.phases
            ),
            args=wanted.args,
            script=script.text,
        )

    async def cancel(self, run_id: RunId, owner_id: UserId | None = None) -> Run:
        """Nothing of it is valid from here on; its agents are told to stop. A finished run stays as it is."""
        run = await self._store.write(runs.cancel(run_id, owner_id))
        await self.call_off(run_id)
        return run

    async def call_off(self, run_id: RunId) -> None:
        """It is cancelled, as already written: its agents stop."""
        run = await self._store.read(runs.run(run_id))
        for chat_id in await self._store.read(runs.busy_agents(run_id)):
            await self._store.transition(chat_id, Stop())
        if run is not None and run.status == "cancelled" and run.workspace_id is not None:
            state = await self.library.state(run.workspace_id, run.owner_id)
            await self._store.write(runs.leave(run_id, state))

    async def _script(self, wanted: RunRequest) -> Script:
        if (wanted.name is None) == (wanted.script is None):
            raise InvalidInput("Give either the name of a workflow or a script, not both.", field="name")
        if wanted.script is not None:
            if wanted.language is None:
                raise InvalidInput("A script needs its language: javascript or python.", field="language")
            return await self.library.read(wanted.script, wanted.language)
        found = await self.library.find(wanted.name or "", wanted.workspace_id, wanted.owner_id)
        assert found.script is not None
        return found.script

    async def _lending(self, wanted: RunRequest, meta: Meta, args_hash: str) -> Lending:
        newest: Earlier | None = None
        if wanted.fresh and wanted.reuse:
            raise InvalidInput("Use fresh or reuse, not both.", field="fresh")
        if wanted.resume_from is not None and not wanted.fresh:
            await self._check_over(wanted.resume_from, wanted.owner_id)
        elif not wanted.fresh:
            place = wanted.workspace_id
            found = await self._store.read(runs.lender(wanted.owner_id, meta.name, args_hash, place))
            newest = None if found is None else Earlier(id=found[0], status=found[1])
        return decide(
            named=wanted.resume_from,
            fresh=wanted.fresh,
            reuse=wanted.reuse,
            always=meta.reuse == "always",
            newest=newest,
        )

    async def _check_over(self, run_id: RunId, owner_id: UserId) -> None:
        found = await self._store.read(runs.run(run_id, owner_id))
        if found is None:
            raise NotFound("There is no such run to resume from.")
        if found.status not in OVER:
            raise InvalidInput(
                "The run to resume from is not over yet. Cancel it first, or wait for its end.",
                field="resume_from",
            )


def check_args(meta: Meta, args: Json | msgspec.UnsetType) -> None:
    """Whether a script with this meta may be given these arguments."""
    given = None if args is msgspec.UNSET else args
    try:
        check_json(given)
    except ValueError as error:
        raise InvalidInput(f"The arguments cannot be used: {error}.", field="args") from None
    if len(_encode(given)) > MAX_ARGS_BYTES:
        raise InvalidInput(
            f"The arguments are larger than {MAX_ARGS_BYTES // 1024 // 1024} MiB.", field="args"
        )
    if meta.args is not None:
        complaints = Shape(meta.args).complaints({} if args is msgspec.UNSET else given)
        if complaints:
            raise InvalidInput(
                f"The arguments do not fit the workflow {meta.name}. {' '.join(complaints)}", field="args"
            )


def hash_of(args: Json | msgspec.UnsetType) -> str:
    return "" if args is msgspec.UNSET else hashlib.sha256(_encode(args)).hexdigest()


def _least(*amounts: int | None) -> int | None:
    return min((amount for amount in amounts if amount is not None), default=None)
