"""Reads for watchers of a chat: the state of the chat, and pages of what a returning watcher has missed. A
watcher's position in a history is the last message it has (ids increase in commit order) and the version up
to which it knows what was removed. Pages are bounded in bytes, so that a long absence never has to fit in
memory."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.chats.view import Call
from holdfast.core.chats import Status
from holdfast.core.checks import CHECK
from holdfast.core.events import Episode
from holdfast.core.hooks import HookRun
from holdfast.core.ids import ChatId, MessageId
from holdfast.core.messages import Message
from holdfast.core.steps import Step, Turn
from holdfast.store.columns import listed
from holdfast.store.hook_runs import RUN as HOOK_RUN
from holdfast.store.hook_runs import run_of
from holdfast.store.named_agents import EFFORT_USED, MODEL_USED
from holdfast.store.query import Query, Row, Rows, constant, joined, query
from holdfast.store.rows import CALL, MESSAGE, STEP, TURN, call_of, message_of, step_of, turn_of

FIRST = MessageId("00000000-0000-0000-0000-000000000000")
LAST = MessageId("ffffffff-ffff-ffff-ffff-ffffffffffff")
# Ids per statement; the list is padded, so that there are few different statements.
MOST_IDS = 256


@dataclass(frozen=True, slots=True)
class ChatHead:
    """A chat as a poll sees it. `marks` covers everything else shown to a watcher that may change without
    `version`: settings, whether its worker is alive, the progress of its sub-agents."""

    chat_id: ChatId
    version: int
    history_version: int
    queue_version: int
    retry_version: int
    status: Status
    attempt: int
    # The attempt failed, and the next one has not started.
    between_attempts: bool
    last_message_id: MessageId | None
    marks: tuple[object, ...]

    @property
    def live(self) -> Episode | None:
        """What is being streamed, if anything."""
        busy = self.status in ("running", "interrupting")
        if not busy or not self.attempt or self.between_attempts:
            return None
        return Episode(history_version=self.history_version, attempt=self.attempt)


@dataclass(frozen=True, slots=True)
class Missed:
    """A message, and the episode whose live parts it replaces."""

    message: Message
    replaces: Episode | None


@dataclass(frozen=True, slots=True)
class SpanRows:
    """Rows that become spans, and what is needed to build them. `upto`: there are more, in versions after
    this one."""

    turns: tuple[Turn, ...]
    steps: tuple[Step, ...]
    calls: tuple[Call, ...]
    # Steps that asked for the calls, and the messages of all these steps.
    parents: tuple[Step, ...]
    messages: tuple[Message, ...]
    upto: int | None
    # Messages that report a check.
    checks: tuple[Message, ...] = ()
    hooks: tuple[HookRun, ...] = ()


@dataclass(frozen=True, slots=True)
class MissedPage:
    """`found`: the watcher's last message belongs to this chat. `removed`: something it has was removed
    since. `more`: there may be more messages. `spans` is None when they were not requested."""

    found: bool
    removed: bool
    messages: tuple[Missed, ...]
    more: bool
    spans: SpanRows | None


_HEAD = (
    "SELECT c.id, c.version, c.history_version, c.queue_version, c.retry_version, c.status, c.attempt, "
    f"c.retry IS NOT NULL, c.last_message_id, w.expires_at > now_micros(), s.title, s.summary, {MODEL_USED}, "
    f"{EFFORT_USED}, s.workspace_id, s.pinned, s.labels, s.budget_tokens, s.budget_usd_micros, "
    "(SELECT max(d.touched_at) FROM debug_runs d WHERE d.chat_id = c.id), "
    "(SELECT CAST(sum(k.version) AS bigint) FROM chats k WHERE k.root_id = c.id AND k.parent_id IS NOT NULL) "
    "FROM chats c JOIN settings s ON s.chat_id = c.id LEFT JOIN workers w ON w.id = c.lease_worker_id "
)

# A step has the same version as its message. It is looked up twice and joined in this order (with CROSS,
# SQLite keeps it), because otherwise all steps of the chat would be read.
_STEP_OF_MESSAGE = (
    "steps r CROSS JOIN steps s WHERE r.chat_id = m.chat_id AND r.revision = m.revision "
    "AND s.chat_id = r.chat_id AND s.turn = r.turn AND s.number = r.number AND s.message_id = m.id"
)

HOLDS = """
SELECT
    EXISTS (SELECT 1 FROM messages WHERE chat_id = $1 AND id = $2),
    EXISTS (SELECT 1 FROM messages WHERE chat_id = $1 AND removed AND revision > $3 AND id <= $2)
"""
# Up to the first message that brings it to more than $4 bytes. An answer replaces the live parts of the
# attempt named by its step, which began when the newest message (of any visibility) had an earlier version.
MISSED = f"""
SELECT {listed(MESSAGE, "m")}, octet_length(m.parts),
    (SELECT s.attempts FROM {_STEP_OF_MESSAGE}),
    (SELECT p.revision FROM messages p
     WHERE p.chat_id = m.chat_id AND p.id < m.id AND NOT p.removed AND p.revision < m.revision
     ORDER BY p.id DESC LIMIT 1)
FROM messages m
WHERE m.chat_id = $1 AND m.id > $2 AND NOT m.removed AND m.visibility <> 'model' AND m.id <= coalesce((
    SELECT c.id FROM (
        SELECT n.id, sum(n.size) OVER (ORDER BY n.id) AS upto FROM (
            SELECT id, octet_length(parts) AS size FROM messages
            WHERE chat_id = $1 AND id > $2 AND NOT removed AND visibility <> 'model' ORDER BY id LIMIT $3
        ) AS n
    ) AS c WHERE c.upto > $4 ORDER BY c.id LIMIT 1
), '{LAST}')
ORDER BY m.id LIMIT $3
"""
TAIL = """
SELECT c.version, m.id, m.revision FROM chats c LEFT JOIN (
    SELECT id, revision FROM messages WHERE chat_id = $1 AND NOT removed AND visibility <> 'model'
    ORDER BY id DESC LIMIT 1 OFFSET $2
) AS m ON true WHERE c.id = $1
"""

# Revisions of turns increase with their numbers.
_TURNS_SINCE = (
    "chat_id = $1 AND revision >= $2 AND number > coalesce((SELECT b.number FROM turns b "
    "WHERE b.chat_id = $1 AND b.revision < $2 ORDER BY b.number DESC LIMIT 1), -1)"
)
_SINCE = "chat_id = $1 AND revision >= $2"
# This many rows of a table, plus all others of the last row's version; up to the first step whose message
# brings it to more than $4 bytes.
_LAST_OF_PAGE = "ORDER BY revision LIMIT 1 OFFSET $3"
_LAST_BY_BYTES = (
    "SELECT b.revision FROM ("
    "SELECT o.revision, sum(octet_length(m.parts)) OVER (ORDER BY o.revision) AS upto FROM ("
    f"SELECT revision, message_id FROM steps WHERE {_SINCE} ORDER BY revision LIMIT $3"
    ") AS o JOIN messages m ON m.chat_id = $1 AND m.id = o.message_id"
    ") AS b WHERE b.upto > $4 ORDER BY b.revision LIMIT 1"
)
_UPTO = (
    "(SELECT min(u.revision) FROM ("
    f"SELECT * FROM (SELECT revision FROM calls WHERE {_SINCE} {_LAST_OF_PAGE}) AS c UNION ALL "
    f"SELECT * FROM (SELECT revision FROM steps WHERE {_SINCE} {_LAST_OF_PAGE}) AS s UNION ALL "
    f"SELECT * FROM ({_LAST_BY_BYTES}) AS l UNION ALL "
    f"SELECT * FROM (SELECT revision FROM turns WHERE {_TURNS_SINCE} {_LAST_OF_PAGE}) AS t) AS u)"
)
_WITHIN = f"revision <= coalesce({_UPTO}, {2**62})"
_CALLS = f"FROM calls WHERE {_SINCE} AND {_WITHIN}"
_STEPS = f"FROM steps WHERE {_SINCE} AND {_WITHIN}"
_TURNS = f"FROM turns WHERE {_TURNS_SINCE} AND {_WITHIN}"

UPTO = f"SELECT {_UPTO}"
CALLS = f"SELECT {listed(CALL)} {_CALLS}"
STEPS = f"SELECT {listed(STEP)} {_STEPS}"
TURNS = f"SELECT {listed(TURN)} {_TURNS}"
# The original version of a removed message was overwritten.
PARENTS = (
    f"SELECT {listed(STEP, 's')} FROM messages m CROSS JOIN {_STEP_OF_MESSAGE} "
    f"AND m.chat_id = $1 AND m.id IN (SELECT message_id {_CALLS}) UNION ALL "
    f"SELECT {listed(STEP, 's')} FROM messages m CROSS JOIN steps s WHERE m.chat_id = $1 "
    f"AND m.removed AND m.id IN (SELECT message_id {_CALLS}) "
    "AND s.chat_id = $1 AND s.turn = m.turn AND s.message_id = m.id"
)
# The result of a compaction directly follows its call.
SAID = (
    f"SELECT {listed(MESSAGE)} FROM messages WHERE chat_id = $1 AND id IN ("
    f"SELECT message_id {_CALLS} UNION SELECT message_id {_STEPS} UNION SELECT message_id {_TURNS}) "
    f"UNION ALL SELECT {listed(MESSAGE, 'm')} FROM steps s JOIN messages m ON m.chat_id = $1 AND m.id = ("
    "SELECT n.id FROM messages n WHERE n.chat_id = $1 AND n.id > s.message_id ORDER BY n.id LIMIT 1) "
    f"WHERE s.kind = 'compaction' AND s.chat_id = $1 AND s.revision >= $2 AND s.{_WITHIN}"
)


# Uses the index of system messages.
CHECKS = (
    f"SELECT {listed(MESSAGE)} FROM messages WHERE chat_id = $1 AND revision >= $2 AND role = 'system' "
    f"""AND NOT removed AND parts LIKE '%"code":"{CHECK}"%' AND {_WITHIN}"""
)
# Written before the commit that their revision is of.
HOOKS = (
    f"SELECT {listed(HOOK_RUN)} FROM hook_runs WHERE chat_id = $1 AND revision >= $2 AND {_WITHIN} "
    "AND revision <= (SELECT c.version FROM chats c WHERE c.id = $1)"
)


def head(chat_id: ChatId) -> Query[ChatHead | None]:
    return query(f"{_HEAD} WHERE c.id = $1", chat_id, read=lambda rows: _head(rows[0]) if rows else None)


def heads(chat_ids: Sequence[ChatId]) -> Query[dict[ChatId, ChatHead]]:
    """For many chats; deleted ones are left out."""
    pieces = [chat_ids[start : start + MOST_IDS] for start in range(0, len(chat_ids), MOST_IDS)]
    return joined(*map(_some_heads, pieces), read=_merged)


def _some_heads(chat_ids: Sequence[ChatId]) -> Query[dict[ChatId, ChatHead]]:
    count = 1 << (len(chat_ids) - 1).bit_length()
    filled = [*chat_ids, *[chat_ids[-1]] * (count - len(chat_ids))]
    ids = ", ".join(f"${n}" for n in range(1, count + 1))
    return query(
        f"{_HEAD} WHERE c.id IN ({ids})", *filled, read=lambda rows: {row[0]: _head(row) for row in rows}
    )


def _merged(*found: dict[ChatId, ChatHead]) -> dict[ChatId, ChatHead]:
    return {chat_id: head for some in found for chat_id, head in some.items()}


def page(
    chat_id: ChatId,
    *,
    version: int,
    message_id: MessageId | None,
    spans_from: int | None,
    limit: int,
    limit_bytes: int,
    limit_spans: int,
) -> Query[MissedPage]:
    """What a watcher misses that has all messages up to `message_id`, knows of removals up to `version` and
    has all spans of versions before `spans_from` (None: spans are read later)."""
    last = message_id or FIRST

    def read(
        holds: tuple[bool, bool], missed: tuple[tuple[Missed, ...], bool], spans: SpanRows | None
    ) -> MissedPage:
        found = message_id is None or holds[0]
        return MissedPage(found=found, removed=holds[1], messages=missed[0], more=missed[1], spans=spans)

    return joined(
        query(HOLDS, chat_id, last, version, read=lambda rows: (bool(rows[0][0]), bool(rows[0][1]))),
        query(MISSED, chat_id, last, limit, limit_bytes, read=lambda rows: _missed(rows, limit, limit_bytes)),
        constant(None) if spans_from is None else _span_rows(chat_id, spans_from, limit_spans, limit_bytes),
        read=read,
    )


def tail(chat_id: ChatId, count: int) -> Query[tuple[int, MessageId | None, int] | None]:
    """The chat's version, and the id and revision of the message before its newest `count` ones: None and 0
    if there are no more."""

    def read(rows: Rows) -> tuple[int, MessageId | None, int] | None:
        return (rows[0][0], rows[0][1], rows[0][2] or 0) if rows else None

    return query(TAIL, chat_id, count, read=read)


def _head(row: Row) -> ChatHead:
    return ChatHead(
        chat_id=row[0],
        version=row[1],
        history_version=row[2],
        queue_version=row[3],
        retry_version=row[4],
        status=row[5],
        attempt=row[6],
        between_attempts=bool(row[7]),
        last_message_id=row[8],
        marks=tuple(row[9:]),
    )


def _missed(rows: Rows, limit: int, limit_bytes: int) -> tuple[tuple[Missed, ...], bool]:
    """Also returns whether there may be more."""
    width = len(MESSAGE)
    full = len(rows) == limit or sum([row[width] for row in rows]) > limit_bytes
    return tuple([_missed_of(row, row[width + 1], row[width + 2]) for row in rows]), full


def _missed_of(row: Row, attempt: int | None, before: int | None) -> Missed:
    if attempt is None or before is None:
        return Missed(message_of(row), None)
    return Missed(message_of(row), Episode(history_version=before, attempt=attempt))


def _span_rows(chat_id: ChatId, since: int, limit: int, limit_bytes: int) -> Query[SpanRows]:
    args = (chat_id, since, limit - 1, limit_bytes)
    return Query(
        tuple((sql, args) for sql in (TURNS, STEPS, CALLS, PARENTS, SAID, CHECKS, HOOKS, UPTO)),
        lambda results: _assemble(*results),
    )


def _assemble(
    turns: Rows, steps: Rows, calls: Rows, parents: Rows, said: Rows, checks: Rows, hooks: Rows, upto: Rows
) -> SpanRows:
    return SpanRows(
        turns=tuple([turn_of(row) for row in turns]),
        steps=tuple([step_of(row) for row in steps]),
        calls=tuple([call_of(row) for row in calls]),
        parents=tuple([step_of(row) for row in parents]),
        messages=tuple([message_of(row) for row in said]),
        checks=tuple([message_of(row) for row in checks]),
        hooks=tuple([run_of(row) for row in hooks]),
        upto=upto[0][0],
    )
