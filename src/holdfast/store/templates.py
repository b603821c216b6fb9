"""Builds of workspaces from templates, found by their owner; and decisions on templates at git addresses.
What happens to a build is written only by the process that is its builder."""

from collections.abc import Sequence

import msgspec

from holdfast.core.clock import from_micros, to_micros
from holdfast.core.ids import CallId, ChatId, UserId, WorkspaceId
from holdfast.core.templates import BuildId, TemplateDecision, WorkspaceBuild
from holdfast.core.text import clean_deep
from holdfast.store.columns import columns, listed, micros, placeholders, text
from holdfast.store.query import Query, Row, Rows, any_row, at_most_one, each, query

BUILD = columns(
    "id owner_id key chat_id call_id template name parameters state builder path device inode "
    "workspace_id error created_at"
)
DECISION = columns("user_id address hash decision decided_at")
# A build whose process has not said for so long that it is at work has none any more.
DEAD_MICROS = 60 * 1_000_000
KEPT_MICROS = 7 * 24 * 3600 * 1_000_000

_SELECT = f"SELECT {listed(BUILD)} FROM workspace_builds"
BEGIN = (
    f"INSERT INTO workspace_builds ({listed(BUILD)}, seen_at) VALUES ({placeholders(len(BUILD))}, "
    "now_micros()) ON CONFLICT DO NOTHING"
)
BY_KEY = f"{_SELECT} WHERE key = $1"
OWNED = f"{_SELECT} WHERE id = $1 AND owner_id = $2"
NEWEST = f"{_SELECT} WHERE owner_id = $1 ORDER BY id DESC LIMIT $2"
NEWEST_OF_CHAT = f"{_SELECT} WHERE owner_id = $1 AND chat_id = $2 ORDER BY id DESC LIMIT $3"
# Made by another call whose result is not in history yet: a call of the same step.
OF_STEP = (
    f"SELECT {listed(BUILD, 'b')} FROM workspace_builds b JOIN calls c ON c.chat_id = b.chat_id AND "
    "c.call_id = b.call_id WHERE b.chat_id = $1 AND b.call_id <> $2 AND b.state = 'ready' "
    "AND c.state <> 'answered' ORDER BY b.id LIMIT 1"
)
TAKE_OVER = (
    "UPDATE workspace_builds SET builder = $3, seen_at = now_micros() "
    "WHERE id = $1 AND builder = $2 AND state = 'building'"
)
_MINE = "WHERE id = $1 AND builder = $2 AND state = 'building'"
SEEN = f"UPDATE workspace_builds SET seen_at = now_micros() {_MINE} RETURNING id"
CHOOSE_PATH = (
    f"UPDATE workspace_builds SET path = $3, device = NULL, inode = NULL, seen_at = now_micros() {_MINE} "
    "RETURNING id"
)
MADE_DIRECTORY = f"UPDATE workspace_builds SET device = $3, inode = $4 {_MINE} RETURNING id"
READY = f"UPDATE workspace_builds SET state = 'ready', workspace_id = $3 {_MINE} RETURNING id"
FAILED = f"UPDATE workspace_builds SET state = 'failed', error = $3 {_MINE}"
FORGET = f"DELETE FROM workspace_builds {_MINE}"
# Of processes that are dead: those of others that were silent for long, and where there is only one process,
# all that are not its own. A call that is not over takes its build over itself.
LEFT_OVER = (
    f"{_SELECT} WHERE state = 'building' AND builder <> $1 AND seen_at <= now_micros() - $2 "
    "AND NOT EXISTS (SELECT 1 FROM calls c WHERE c.chat_id = workspace_builds.chat_id "
    "AND c.call_id = workspace_builds.call_id AND c.state <> 'answered') ORDER BY id LIMIT 100"
)
BUILDING = "SELECT id FROM workspace_builds WHERE state = 'building' AND id = $1"
DISCARD = (
    "DELETE FROM workspace_builds WHERE state <> 'building' AND created_at <= now_micros() - "
    f"{KEPT_MICROS} AND NOT EXISTS (SELECT 1 FROM calls c WHERE c.chat_id = workspace_builds.chat_id "
    "AND c.call_id = workspace_builds.call_id AND c.state <> 'answered')"
)
DECIDE = (
    f"INSERT INTO template_decisions ({listed(DECISION)}) VALUES ({placeholders(len(DECISION))}) "
    "ON CONFLICT (user_id, address) DO UPDATE SET hash = excluded.hash, decision = excluded.decision, "
    "decided_at = excluded.decided_at"
)
DECIDED = f"SELECT {listed(DECISION)} FROM template_decisions WHERE user_id = $1 AND address = $2"


def begin(new: WorkspaceBuild) -> Query[WorkspaceBuild]:
    """The build with this key: the new one, or the one that was there."""
    new = clean_deep(new)
    row = (
        new.id, new.owner_id, new.key, new.chat_id, new.call_id, new.template, new.name,
        text(new.parameters), new.state, new.builder, new.path, new.device, new.inode, new.workspace_id,
        new.error, micros(new.created_at),
    )  # fmt: skip
    return Query(((BEGIN, row), (BY_KEY, (new.key,))), lambda results: _build_of(results[1][0]))


def build(build_id: BuildId, owner_id: UserId) -> Query[WorkspaceBuild | None]:
    return query(OWNED, build_id, owner_id, read=at_most_one(_build_of))


def by_key(key: str) -> Query[WorkspaceBuild | None]:
    return query(BY_KEY, key, read=at_most_one(_build_of))


def newest(owner_id: UserId, chat_id: ChatId | None, limit: int) -> Query[tuple[WorkspaceBuild, ...]]:
    if chat_id is None:
        return query(NEWEST, owner_id, limit, read=each(_build_of))
    return query(NEWEST_OF_CHAT, owner_id, chat_id, limit, read=each(_build_of))


def of_same_step(chat_id: ChatId, call_id: CallId) -> Query[WorkspaceBuild | None]:
    """What another call of the same step made."""
    return query(OF_STEP, chat_id, call_id, read=at_most_one(_build_of))


def take_over(found: WorkspaceBuild, builder: str) -> Query[WorkspaceBuild | None]:
    """The build as it is then."""

    def read(results: Sequence[Rows]) -> WorkspaceBuild | None:
        return _build_of(results[1][0]) if results[1] else None

    args = (found.id, found.builder, builder)
    return Query(((TAKE_OVER, args), (BY_KEY, (found.key,))), read)


def seen(build_id: BuildId, builder: str) -> Query[bool]:
    """Whether it is still this builder's."""
    return query(SEEN, build_id, builder, read=any_row)


def choose_path(build_id: BuildId, builder: str, path: str) -> Query[bool]:
    return query(CHOOSE_PATH, build_id, builder, path, read=any_row)


def made_directory(build_id: BuildId, builder: str, device: int, inode: int) -> Query[bool]:
    return query(MADE_DIRECTORY, build_id, builder, device, inode, read=any_row)


def ready(build_id: BuildId, builder: str, workspace_id: WorkspaceId) -> Query[bool]:
    return query(READY, build_id, builder, workspace_id, read=any_row)


def failed(build_id: BuildId, builder: str, error: str) -> Query[None]:
    return query(FAILED, build_id, builder, clean_deep(error), read=lambda _: None)


def forget(build_id: BuildId, builder: str) -> Query[None]:
    """As if it had not begun."""
    return query(FORGET, build_id, builder, read=lambda _: None)


def left_over(builder: str, dead_micros: int = DEAD_MICROS) -> Query[tuple[WorkspaceBuild, ...]]:
    return query(LEFT_OVER, builder, dead_micros, read=each(_build_of))


def is_building(build_id: BuildId) -> Query[bool]:
    return query(BUILDING, build_id, read=any_row)


def discard_old() -> Query[None]:
    return query(DISCARD, read=lambda _: None)


def decide(made: TemplateDecision) -> Query[None]:
    args = (made.user_id, made.address, made.hash, made.decision, to_micros(made.decided_at))
    return query(DECIDE, *args, read=lambda _: None)


def decided(user_id: UserId, address: str) -> Query[TemplateDecision | None]:
    return query(DECIDED, user_id, address, read=at_most_one(_decision_of))


def _build_of(row: Row) -> WorkspaceBuild:
    return WorkspaceBuild(
        id=row[0],
        owner_id=row[1],
        key=row[2],
        chat_id=row[3],
        call_id=row[4],
        template=row[5],
        name=row[6],
        parameters=msgspec.json.decode(row[7]),
        state=row[8],
        builder=row[9],
        path=row[10],
        device=row[11],
        inode=row[12],
        workspace_id=row[13],
        error=row[14],
        created_at=from_micros(row[15]),
    )


def _decision_of(row: Row) -> TemplateDecision:
    return TemplateDecision(
        user_id=row[0], address=row[1], hash=row[2], decision=row[3], decided_at=from_micros(row[4])
    )
