"""How runs begin and are called off. A run keeps the text of its script and the arguments it was started
with; everything else about it happens where its lease is."""

import asyncio
import hashlib
from collections.abc import Callable

import msgspec

from holdfast.chats.commands import Stop
from holdfast.core.clock import Clock
from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.events import BusEvent, RunHint
from holdfast.core.ids import Ids, RunId, UserId, WorkspaceId
from holdfast.core.runs import OVER, AskedBy, Language, Run, RunPhase
from holdfast.core.shapes import Json, Record, check_json
from holdfast.core.usage import Budget
from holdfast.scripts.meta import Meta
from holdfast.scripts.runs.library import Library
from holdfast.scripts.source import Script, read_script
from holdfast.store import runs
from holdfast.store.interface import Store
from holdfast.tools.schema import Shape

MAX_ARGS_BYTES = 4 * 1024 * 1024

_encode = msgspec.json.Encoder(order="sorted").encode


class Wanted(Record, frozen=True, kw_only=True):
    """A run that somebody asks for: of a workflow by its name, or of a script."""

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
    # The run that lends its answers; None: the newest of the same workflow with the same arguments.
    resume_from: RunId | None = None
    # Nothing is lent.
    fresh: bool = False
    asked_by: AskedBy | None = None
    # What its agents may use, as in the settings of a chat.
    tools: Json = None


class Runs:
    def __init__(
        self,
        *,
        store: Store,
        publish: Callable[[BusEvent], None],
        clock: Clock,
        ids: Ids,
        library: Library,
        check_model: Callable[[str], None],
    ) -> None:
        """`check_model` raises InvalidInput for a model that cannot be named."""
        self.library = library
        self._store = store
        self._publish = publish
        self._clock = clock
        self._ids = ids
        self._check_model = check_model

    async def start(self, wanted: Wanted) -> Run:
        """Raises InvalidInput (BadScript with its line), or NotFound."""
        run = await self._store.write(runs.create(await self.draft(wanted)))
        self.announce(run)
        return run

    async def draft(self, wanted: Wanted) -> Run:
        """The run, for who writes it along with something else and announces it then."""
        script = await self._script(wanted)
        check_args(script.meta, wanted.args)
        if wanted.model is not None:
            self._check_model(wanted.model)
        args_hash = hash_of(wanted.args)
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
            resumed_from=await self._lender(wanted, script.meta.name, args_hash),
            asked_by=wanted.asked_by,
            tools=wanted.tools,
            phases=tuple(
                RunPhase(title=phase.title, detail=phase.detail, model=phase.model)
                for phase in script.meta.phases
            ),
            args=wanted.args,
            script=script.text,
        )

    def announce(self, run: Run) -> None:
        """It is written: somebody may take it."""
        self._publish(hint_of(run))

    async def cancel(self, run_id: RunId, owner_id: UserId | None = None) -> Run:
        """Nothing of it counts from here on; its agents are told to stop. One that is over stays as it
        is."""
        run = await self._store.write(runs.cancel(run_id, owner_id))
        await self.call_off(run_id)
        return run

    async def call_off(self, run_id: RunId) -> None:
        """It is cancelled, as is written already: its owner hears of it, its agents stop."""
        if (run := await self._store.read(runs.run(run_id))) is not None:
            self._publish(hint_of(run))
        for chat_id in await self._store.read(runs.busy_agents(run_id)):
            await self._store.transition(chat_id, Stop())

    async def _script(self, wanted: Wanted) -> Script:
        if (wanted.name is None) == (wanted.script is None):
            raise InvalidInput("A run needs the name of a workflow, or a script: one of both.", field="name")
        if wanted.script is not None:
            if wanted.language is None:
                raise InvalidInput("A script needs its language: javascript or python.", field="language")
            return await asyncio.to_thread(read_script, wanted.script, wanted.language)
        found = await self.library.find(wanted.name or "", wanted.workspace_id, wanted.owner_id)
        assert found.script is not None
        return found.script

    async def _lender(self, wanted: Wanted, name: str, args_hash: str) -> RunId | None:
        if wanted.fresh:
            return None
        if wanted.resume_from is None:
            return await self._store.read(runs.lender(wanted.owner_id, name, args_hash, wanted.workspace_id))
        found = await self._store.read(runs.run(wanted.resume_from, wanted.owner_id))
        if found is None:
            raise NotFound("There is no such run to resume from.")
        if found.status not in OVER:
            raise InvalidInput(
                "The run to resume from is not over yet. Cancel it first, or wait for its end.",
                field="resume_from",
            )
        return found.id


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


def hint_of(run: Run) -> RunHint:
    return RunHint(
        run_id=run.id,
        owner_id=run.owner_id,
        version=run.version,
        wanted=run.status == "pending",
        over=run.status in OVER,
    )


def _least(*amounts: int | None) -> int | None:
    return min((amount for amount in amounts if amount is not None), default=None)
