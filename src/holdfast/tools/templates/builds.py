"""Making a workspace from a template: its files are copied, its setup and its check run behind the wall, and
only then there is a workspace. Whatever goes wrong, and whoever dies in between, nothing half made stays: the
directory that was made for a build is written down with its identity, so that only this one is ever
removed."""

import asyncio
import os
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import structlog

from holdfast.chats.commands import CallFence
from holdfast.core.clock import Clock
from holdfast.core.errors import HoldfastError, InvalidInput, TryAgain, WrongState
from holdfast.core.ids import CallId, ChatId, Ids, UserId, WorkspaceId
from holdfast.core.shapes import Json
from holdfast.core.templates import BuildId, WorkspaceBuild
from holdfast.core.workspaces import Workspace
from holdfast.store import templates, workspaces
from holdfast.store.interface import Store
from holdfast.store.query import Query, joined
from holdfast.tools.templates.catalogue import TemplateCatalogue
from holdfast.tools.templates.definition import FILE, Template, environment_of, given_parameters
from holdfast.tools.templates.set_up_commands import CommandEnd, SetUpCommands
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.commands.mounts import CommandPlace
from holdfast.workspaces.commands.process_records import ProcessEntry
from holdfast.workspaces.commands.walled_programs import Program, Walled
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.places.allowed_roots import Roots

log = structlog.get_logger(__name__)

COPY_SECONDS = 600.0
SETUP_SECONDS = 1800.0
CHECK_SECONDS = 900.0
SEEN_SECONDS = 5.0
_OUTPUT_BYTES = 4096
STOPPED = "The server was stopped while the workspace was made. Nothing of it is left; try again."
DIED = "The server died while the workspace was made. Nothing of it is left; try again."
# Of one user at once, in this process.
MOST_AT_ONCE = 8
_MOST_NAMES = 100
_REPORTED = 2000
_NAME = re.compile(r"\w[\w .-]{0,99}")
# Arguments: the template, the new directory. A template's definition is not for its workspaces, and a
# repository that it may be is not theirs.
_COPY = f"""
cp -R -P --preserve=mode,timestamps,links --reflink=auto -- "$1/." "$2/" || exit 1
rm -rf -- "$2/.git" "$2/{FILE}"
"""
# Argument: a directory.
_EMPTY = """
chmod -R u+rwX -- "$1"
rm -rf -- "$1"/* "$1"/.[!.]* "$1"/..?*
"""


@dataclass(frozen=True, kw_only=True)
class BuildOrder:
    """`key` is the same whenever the same is asked for again. `fence`: the call that asks, if one does."""

    owner_id: UserId
    key: str
    template: str
    name: str | None = None
    parameters: Mapping[str, Json]
    chat_id: ChatId | None = None
    call_id: CallId | None = None
    fence: CallFence | None = None
    still_ours: Callable[[], bool] = lambda: True


class BuildFailed(WrongState):
    """Why there is no workspace; nothing of it is left."""


class BuildLost(Exception):
    """Another process makes it now, or it was given up."""


class WorkspaceBuilds:
    def __init__(
        self,
        store: Store,
        roots: Roots,
        catalogue: TemplateCatalogue,
        walled: Walled,
        commands: SetUpCommands,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._store = store
        self._roots = roots
        self._catalogue = catalogue
        self._walled = walled
        self._commands = commands
        self._clock = clock
        self._ids = ids
        # Of this process: on restart it is another one.
        self._builder = secrets.token_hex(8)
        self._processes: dict[BuildId, ProcessEntry] = {}
        self._tasks: dict[BuildId, asyncio.Task[None]] = {}
        self._under_way: Counter[UserId] = Counter()

    def planned(self, order: BuildOrder) -> WorkspaceBuild:
        """The row of a new build. InvalidInput: its name cannot be that of a directory."""
        if order.name is not None:
            check_name(order.name)
        now = self._clock.now()
        return WorkspaceBuild(
            id=BuildId(self._ids.uuid7(now)),
            owner_id=order.owner_id,
            key=order.key,
            chat_id=order.chat_id,
            call_id=order.call_id,
            template=order.template,
            name=order.name,
            parameters=dict(order.parameters),
            state="building",
            builder=self._builder,
            created_at=now,
        )

    async def check(self, order: BuildOrder) -> None:
        """Whether it could begin: raises what is wrong with what was asked for."""
        self._walled.require("A workspace from a template")
        if self._under_way[order.owner_id] >= MOST_AT_ONCE:
            raise WrongState(
                f"{MOST_AT_ONCE} workspaces are being made for this user already. Wait until one is there."
            )
        if order.name is not None:
            check_name(order.name)
        async with self._catalogue.opened(order.template) as template:
            await self._check(template, order.owner_id, order.parameters)

    async def make(self, order: BuildOrder) -> WorkspaceBuild:
        """The build when its workspace is there, also if it was made before. Raises a HoldfastError that says
        why there is none; cancelled, it is as if it had not begun."""
        await self.check(order)
        new = self.planned(order)
        row = await self._store.write(templates.begin(new), on_behalf=order.fence)
        if row.state == "building" and row.id != new.id:
            # The worker that ran this call before is dead, or may not write any more.
            row = (
                await self._store.write(templates.take_over(row, self._builder), on_behalf=order.fence) or row
            )
            await self._remove_directory(row)
        match row.state:
            case "ready":
                return row
            case "failed":
                raise BuildFailed(row.error or "It failed.")
            case "building":
                return await self._build(row, order)

    def start(self, row: WorkspaceBuild, order: BuildOrder) -> None:
        """Makes it in the background; its end is in its row."""
        task = asyncio.create_task(self._in_background(row, order), name=f"build {row.id}")
        self._tasks[row.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(row.id, None))

    async def close(self) -> None:
        running = list(self._tasks.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def output(self, build_id: BuildId) -> str | None:
        """What the running command of a build has printed; None: none runs here."""
        entry = self._processes.get(build_id)
        return None if entry is None else await self._commands.shown(entry)

    async def clean_left_over(self) -> int:
        """Builds whose process died: nothing of them stays. One that a call asked for may begin again."""
        alone = self._store.engine == "sqlite"
        gone = await self._store.read(templates.left_over(self._builder, *((0,) if alone else ())))
        for row in gone:
            cleaner = f"{self._builder}-{secrets.token_hex(4)}"
            mine = await self._store.write(templates.take_over(row, cleaner))
            if mine is not None and mine.builder == cleaner:
                await self._remove_directory(mine)
                await self._store.write(self._given_up(mine, DIED))
        await self._store.write(templates.discard_old())
        return len(gone)

    def _given_up(self, row: WorkspaceBuild, said: str) -> Query[None]:
        """One that a call asked for may begin again with it."""
        if row.call_id is not None:
            return templates.forget(row.id, row.builder)
        return templates.failed(row.id, row.builder, said)

    async def _in_background(self, row: WorkspaceBuild, order: BuildOrder) -> None:
        try:
            await self._build(row, order)
        except (HoldfastError, BuildLost) as error:
            log.info("no workspace was made from a template", template=row.template, reason=str(error)[:300])

    async def _build(self, row: WorkspaceBuild, order: BuildOrder) -> WorkspaceBuild:
        lost = asyncio.Event()
        watching = asyncio.create_task(self._say_seen(row.id, lost))
        work = asyncio.create_task(self._made(row, order, lambda: not lost.is_set() and order.still_ours()))
        losing = asyncio.create_task(lost.wait())
        self._under_way[row.owner_id] += 1
        try:
            await asyncio.wait({work, losing}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise BuildLost
            return work.result()
        except (HoldfastError, OSError) as error:
            said = error.text if isinstance(error, HoldfastError) else f"{error.strerror}."
            await self._undo(row)
            await self._store.write(templates.failed(row.id, self._builder, said))
            raise BuildFailed(said) from error
        except BuildLost:
            work.cancel()
            await asyncio.wait({work})
            raise BuildFailed("Another server has taken over what this one was making.") from None
        except asyncio.CancelledError:
            work.cancel()
            await asyncio.wait({work})
            await self._undo(row)
            await self._store.write(self._given_up(row, STOPPED))
            raise
        except Exception:
            await self._undo(row)
            await self._store.write(
                templates.failed(row.id, self._builder, "The server failed; see its log.")
            )
            raise
        finally:
            self._under_way[row.owner_id] -= 1
            self._processes.pop(row.id, None)
            for task in (watching, losing):
                task.cancel()

    async def _say_seen(self, build_id: BuildId, lost: asyncio.Event) -> None:
        while True:
            await asyncio.sleep(SEEN_SECONDS)
            try:
                if not await self._store.write(templates.seen(build_id, self._builder)):
                    lost.set()
                    return
            except TryAgain as error:
                log.warning("a build could not say that it goes on", reason=error.text)

    async def _made(
        self, row: WorkspaceBuild, order: BuildOrder, still_ours: Callable[[], bool]
    ) -> WorkspaceBuild:
        async with self._catalogue.opened(order.template) as template:
            parameters = await self._check(template, order.owner_id, order.parameters)
            root, name = await self._new_directory(row, template)
            await self._copy(template, root)
        for what, command, seconds in (
            ("setup", template.setup, SETUP_SECONDS),
            ("check", template.check, CHECK_SECONDS),
        ):
            if command:
                ended = await self._run(
                    row, root, command, environment_of(parameters, name), seconds, still_ours
                )
                if not ended.succeeded:
                    raise BuildFailed(_why(template, what, ended))
        return await self._finish(row, order, root, name)

    async def _check(
        self, template: Template, owner_id: UserId, parameters: Mapping[str, Json]
    ) -> dict[str, Json]:
        if template.runs_something and await self._catalogue.state_of(template, owner_id) != "trusted":
            raise WrongState(
                f"The template at {template.address} runs commands, and the user has not trusted exactly "
                "this content. They can read and trust it in Settings, Templates, or with `holdfast "
                "workspace new`."
            )
        return given_parameters(template, parameters)

    async def _new_directory(self, row: WorkspaceBuild, template: Template) -> tuple[Root, str]:
        """The directory, made just now, and the name of the workspace."""
        if not self._roots.allowed:
            raise InvalidInput("There is no place for workspaces: set workspaces.roots.")
        base = self._roots.allowed[0]
        wanted = row.name or template.name
        for number in range(1, _MOST_NAMES):
            name = wanted if number == 1 else f"{wanted}-{number}"
            path = base / directory_name(name)
            if self._roots.is_private(path):
                raise InvalidInput(f"{path} belongs to the server itself. Choose another name.")
            if not await self._is_taken(name, path, row.owner_id):
                await self._must(templates.choose_path(row.id, self._builder, str(path)))
                made = await blocking(lambda path=path: _make_directory(base, path))
                if made is not None:
                    await self._must(templates.made_directory(row.id, self._builder, *made))
                    return Root(base, (path.name,), hidden=self._roots.hidden), name
            if row.name is not None:
                raise InvalidInput(
                    f"There already is a workspace or a directory named {wanted}. Choose another name.",
                    field="name",
                )
        raise InvalidInput(f"Too many workspaces are named {wanted}. Choose another name.", field="name")

    async def _is_taken(self, name: str, path: Path, owner_id: UserId) -> bool:
        if await blocking(lambda: os.path.lexists(path)):
            return True
        return await self._store.read(workspaces.is_name_taken(name, owner_id))

    async def _copy(self, template: Template, root: Root) -> None:
        program = Program(
            argv=("/bin/sh", "-c", _COPY, "sh", str(template.directory.path), str(root.path)),
            cwd=Path("/"),
            readable=(template.directory,),
            writable=(root,),
        )
        ran = await self._walled.run(program, limit=_OUTPUT_BYTES, seconds=COPY_SECONDS)
        if ran.code != 0:
            raise BuildFailed(f"The files of the template could not be copied: {ran.reason}.")

    async def _run(
        self,
        row: WorkspaceBuild,
        root: Root,
        command: str,
        environment: tuple[str, ...],
        seconds: float,
        still_ours: Callable[[], bool],
    ) -> CommandEnd:
        def begun(entry: ProcessEntry) -> None:
            self._processes[row.id] = entry

        own = ChatId(row.id)
        return await self._commands.run(
            row.chat_id or own,
            CommandPlace(root=root.path),
            (*environment, "bash", "-e", "-o", "pipefail", "-c", command),
            seconds=seconds,
            remove=row.chat_id is None,
            still_ours=still_ours,
            begun=begun,
        )

    async def _finish(self, row: WorkspaceBuild, order: BuildOrder, root: Root, name: str) -> WorkspaceBuild:
        now = self._clock.now()
        new = Workspace(
            id=WorkspaceId(self._ids.uuid7(now)),
            owner_id=row.owner_id,
            name=name,
            path=str(root.path),
            created_at=now,
        )

        def both(created: Workspace, is_ours: bool) -> Workspace:
            if not is_ours:
                raise BuildFailed("Another server has taken over what this one was making.")
            return created

        write = joined(workspaces.create(new), templates.ready(row.id, self._builder, new.id), read=both)
        await self._store.write(write, on_behalf=order.fence)
        found = await self._store.read(templates.by_key(row.key))
        assert found is not None
        return found

    async def _must(self, write: Query[bool]) -> None:
        if not await self._store.write(write):
            raise BuildLost

    async def _undo(self, row: WorkspaceBuild) -> None:
        now = await self._store.read(templates.by_key(row.key))
        if now is not None and now.builder == self._builder and now.state == "building":
            await self._remove_directory(now)

    async def _remove_directory(self, row: WorkspaceBuild) -> None:
        """May be repeated."""
        if row.path is None or row.state != "building":
            return
        aside = Path(row.path).with_name(f".holdfast-{row.id}")
        await blocking(lambda: _put_aside(row, aside))
        await blocking(lambda: shutil.rmtree(aside, ignore_errors=True))
        if not await blocking(lambda: os.path.lexists(aside)):
            return
        # Its setup made directories that not even their owner may write to.
        root = Root(aside.parent, (aside.name,), hidden=self._roots.hidden)
        program = Program(argv=("/bin/sh", "-c", _EMPTY, "sh", str(aside)), cwd=Path("/"), writable=(root,))
        ran = await self._walled.run(program, limit=_OUTPUT_BYTES, seconds=COPY_SECONDS)
        await blocking(lambda: shutil.rmtree(aside, ignore_errors=True))
        if await blocking(lambda: os.path.lexists(aside)):
            log.warning("a failed build was not removed", path=str(aside), reason=ran.reason)


def check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or name != name.strip() or ".." in name:
        raise InvalidInput(
            "The name of a workspace is at most 100 letters, digits, spaces, dots and dashes, and begins "
            "with a letter or digit.",
            field="name",
        )


def directory_name(name: str) -> str:
    return name.replace(" ", "-")


def _why(template: Template, what: str, ended: CommandEnd) -> str:
    how = "did not end in time" if ended.code is None else f"ended with {ended.code}"
    text = f"The {what} of {template.name} {how}, so there is no workspace and nothing of it is left."
    said = ended.output.strip()[-_REPORTED:]
    return f"{text} The end of its output:\n{said}" if said else text


def _make_directory(base: Path, path: Path) -> tuple[int, int] | None:
    """Its identity; None: something of this name is there by now."""
    base.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(mode=0o755)
    except FileExistsError:
        return None
    return _identity(path)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        info = os.lstat(path)
    except OSError:
        return None
    # As the database's signed numbers.
    return info.st_dev & (2**63 - 1), info.st_ino & (2**63 - 1)


def _put_aside(row: WorkspaceBuild, aside: Path) -> None:
    """The directory that was made for it, and no other: somebody may have put one of their own there. Under
    another name, so that nobody begins to work in it."""
    assert row.path is not None
    path = Path(row.path)
    if row.inode is None:
        # It died before it could write down what it made, which was empty.
        with suppress(OSError):
            os.rmdir(path)
    elif _identity(path) == (row.device, row.inode):
        os.rename(path, aside)
