"""The transition table: state x command -> the states it may lead to. Code, tests and documentation read it;
what is not in it is refused. Commands on a queue item are also refused, in any state, if the item is not in
the queue."""

from collections.abc import Iterable, Mapping

from holdfast.chats.states import VALID, State

S = State
Row = Mapping[State, frozenset[State]]

_RUNNING = (S.RUNNING, S.RUNNING_QUEUE)
_INTERRUPTING = (S.INTERRUPTING, S.INTERRUPTING_QUEUE)
_BUSY_QUEUE = (S.RUNNING_QUEUE, S.INTERRUPTING_QUEUE, S.ACTION_QUEUE)
_UNARCHIVED = (
    S.IDLE,
    S.IDLE_HELD,
    S.ERROR,
    S.ERROR_QUEUE,
    *_RUNNING,
    *_INTERRUPTING,
    S.ACTION,
    S.ACTION_QUEUE,
)


def _to(*states: State) -> frozenset[State]:
    return frozenset(states)


def _same(states: Iterable[State]) -> dict[State, frozenset[State]]:
    return {state: _to(state) for state in states}


TABLE: Mapping[str, Row] = {
    # --- people ---
    "create": {S.NONE: _to(S.RUNNING)},
    "fork": {S.NONE: _to(S.IDLE)},
    "import": {S.NONE: _to(S.IDLE)},
    "send_queue": {
        S.IDLE: _to(S.RUNNING),
        S.IDLE_HELD: _to(S.RUNNING_QUEUE),
        S.ERROR: _to(S.RUNNING),
        S.ERROR_QUEUE: _to(S.RUNNING_QUEUE),
        S.RUNNING: _to(S.RUNNING_QUEUE),
        S.RUNNING_QUEUE: _to(S.RUNNING_QUEUE),
        S.INTERRUPTING: _to(S.INTERRUPTING_QUEUE),
        S.INTERRUPTING_QUEUE: _to(S.INTERRUPTING_QUEUE),
        S.ACTION: _to(S.ACTION_QUEUE),
        S.ACTION_QUEUE: _to(S.ACTION_QUEUE),
    },
    "send_interrupt": {
        S.IDLE: _to(S.RUNNING),
        S.IDLE_HELD: _to(S.RUNNING_QUEUE),
        S.ERROR: _to(S.RUNNING),
        S.ERROR_QUEUE: _to(S.RUNNING_QUEUE),
        S.RUNNING: _to(S.INTERRUPTING_QUEUE),
        S.RUNNING_QUEUE: _to(S.INTERRUPTING_QUEUE),
        S.INTERRUPTING: _to(S.INTERRUPTING_QUEUE),
        S.INTERRUPTING_QUEUE: _to(S.INTERRUPTING_QUEUE),
        S.ACTION: _to(S.RUNNING),
        S.ACTION_QUEUE: _to(S.RUNNING_QUEUE),
    },
    "send_steer": {
        S.IDLE: _to(S.RUNNING),
        S.IDLE_HELD: _to(S.RUNNING_QUEUE),
        S.ERROR: _to(S.RUNNING),
        S.ERROR_QUEUE: _to(S.RUNNING_QUEUE),
        S.RUNNING: _to(S.RUNNING_QUEUE),
        S.RUNNING_QUEUE: _to(S.RUNNING_QUEUE),
        S.INTERRUPTING: _to(S.INTERRUPTING_QUEUE),
        S.INTERRUPTING_QUEUE: _to(S.INTERRUPTING_QUEUE),
        S.ACTION: _to(S.ACTION_QUEUE),
        S.ACTION_QUEUE: _to(S.ACTION_QUEUE),
    },
    "promote": {
        S.IDLE_HELD: _to(S.RUNNING, S.RUNNING_QUEUE),
        S.ERROR_QUEUE: _to(S.RUNNING, S.RUNNING_QUEUE),
        S.RUNNING_QUEUE: _to(S.INTERRUPTING_QUEUE),
        S.INTERRUPTING_QUEUE: _to(S.INTERRUPTING_QUEUE),
        S.ACTION_QUEUE: _to(S.RUNNING, S.RUNNING_QUEUE),
    },
    "move_queued": {
        S.IDLE_HELD: _to(S.IDLE_HELD, S.RUNNING_QUEUE),
        **_same((S.ERROR_QUEUE, *_BUSY_QUEUE)),
    },
    "edit_queued": _same((S.IDLE_HELD, S.ERROR_QUEUE, *_BUSY_QUEUE)),
    "hold_queued": _same((S.IDLE_HELD, S.ERROR_QUEUE, *_BUSY_QUEUE)),
    "release_queued": {
        S.IDLE_HELD: _to(S.IDLE_HELD, S.RUNNING, S.RUNNING_QUEUE),
        **_same((S.ERROR_QUEUE, *_BUSY_QUEUE)),
    },
    "delete_queued": {
        S.IDLE_HELD: _to(S.IDLE, S.IDLE_HELD, S.RUNNING, S.RUNNING_QUEUE),
        S.ERROR_QUEUE: _to(S.ERROR, S.ERROR_QUEUE),
        S.RUNNING_QUEUE: _to(S.RUNNING, S.RUNNING_QUEUE),
        S.INTERRUPTING_QUEUE: _to(S.INTERRUPTING, S.INTERRUPTING_QUEUE),
        S.ACTION_QUEUE: _to(S.ACTION, S.ACTION_QUEUE),
    },
    "interrupt": {
        S.RUNNING: _to(S.INTERRUPTING),
        S.RUNNING_QUEUE: _to(S.INTERRUPTING_QUEUE),
        **_same(_INTERRUPTING),
        S.ACTION: _to(S.IDLE),
        S.ACTION_QUEUE: _to(S.RUNNING, S.RUNNING_QUEUE, S.IDLE_HELD),
    },
    "stop": {
        S.IDLE: _to(S.IDLE),
        S.IDLE_HELD: _to(S.IDLE),
        S.ERROR: _to(S.ERROR),
        S.ERROR_QUEUE: _to(S.ERROR),
        S.RUNNING: _to(S.INTERRUPTING),
        S.RUNNING_QUEUE: _to(S.INTERRUPTING),
        S.INTERRUPTING: _to(S.INTERRUPTING),
        S.INTERRUPTING_QUEUE: _to(S.INTERRUPTING),
        S.ACTION: _to(S.IDLE),
        S.ACTION_QUEUE: _to(S.IDLE),
    },
    "submit_results": {
        S.ACTION: _to(S.ACTION, S.RUNNING),
        S.ACTION_QUEUE: _to(S.ACTION_QUEUE, S.RUNNING_QUEUE),
    },
    "decide": {
        S.ACTION: _to(S.ACTION, S.RUNNING),
        S.ACTION_QUEUE: _to(S.ACTION_QUEUE, S.RUNNING_QUEUE),
    },
    "compact": {
        S.IDLE: _to(S.RUNNING),
        S.IDLE_HELD: _to(S.RUNNING_QUEUE),
        S.ERROR: _to(S.RUNNING),
        S.ERROR_QUEUE: _to(S.RUNNING_QUEUE),
    },
    "retry": {S.ERROR: _to(S.RUNNING), S.ERROR_QUEUE: _to(S.RUNNING_QUEUE)},
    "edit": {state: _to(S.RUNNING) for state in _UNARCHIVED},
    "rewind": {state: _to(S.IDLE) for state in (S.IDLE, S.IDLE_HELD, S.ERROR, S.ERROR_QUEUE)},
    "restore": _same((S.IDLE, S.IDLE_HELD)),
    "set_mode": _same(state for state in VALID if state is not S.NONE),
    "archive": {
        S.IDLE: _to(S.ARCHIVED_IDLE),
        S.ERROR: _to(S.ARCHIVED_ERROR),
        S.ERROR_QUEUE: _to(S.ARCHIVED_ERROR_QUEUE),
    },
    "unarchive": {
        S.ARCHIVED_IDLE: _to(S.IDLE),
        S.ARCHIVED_ERROR: _to(S.ERROR),
        S.ARCHIVED_ERROR_QUEUE: _to(S.ERROR_QUEUE),
    },
    "reconcile": {
        **_same(state for state in VALID if state is not S.NONE),
        S.INVALID: _to(S.ERROR, S.ERROR_QUEUE, S.ARCHIVED_ERROR, S.ARCHIVED_ERROR_QUEUE),
    },
    "delete": {state: _to(S.NONE) for state in State if state is not S.NONE},
    # --- the server itself ---
    "lapse_holds": {
        S.IDLE_HELD: _to(S.IDLE_HELD, S.RUNNING, S.RUNNING_QUEUE),
        **_same(state for state in VALID if state not in (S.NONE, S.IDLE_HELD)),
    },
    "expire_calls": {
        S.ACTION: _to(S.ACTION, S.RUNNING),
        S.ACTION_QUEUE: _to(S.ACTION_QUEUE, S.RUNNING_QUEUE),
    },
    "notify": {
        **_same(state for state in VALID if state is not S.NONE),
        S.IDLE: _to(S.IDLE, S.RUNNING),
        S.IDLE_HELD: _to(S.IDLE_HELD, S.RUNNING_QUEUE),
    },
    # --- the worker that owns the chat ---
    "acquire": _same((*_RUNNING, *_INTERRUPTING)),
    "release": _same((*_RUNNING, *_INTERRUPTING)),
    "begin_attempt": {
        S.RUNNING: _to(S.RUNNING),
        # Steers leave the queue.
        S.RUNNING_QUEUE: _to(S.RUNNING, S.RUNNING_QUEUE),
    },
    "note_retry": _same(_RUNNING),
    "request_compaction": _same(_RUNNING),
    # Possible in every state: the tokens are spent, whatever the chat does.
    "note_step": _same(state for state in VALID if state is not S.NONE),
    "commit_step": _same(_RUNNING),
    "judge_calls": _same(_RUNNING),
    "block_prompt": {
        # If the message started the turn, the turn ends.
        S.RUNNING: _to(S.RUNNING, S.IDLE),
        S.RUNNING_QUEUE: _to(S.RUNNING, S.RUNNING_QUEUE, S.IDLE_HELD),
    },
    "start_calls": _same(_RUNNING),
    "finish_call": _same((*_RUNNING, *_INTERRUPTING)),
    "require_action": {S.RUNNING: _to(S.ACTION), S.RUNNING_QUEUE: _to(S.ACTION_QUEUE)},
    "finish_turn": {
        # A notice that came too late for the turn starts the next one.
        S.RUNNING: _to(S.IDLE, S.RUNNING),
        # If the queue is not empty, reaching a limit is a failure.
        S.RUNNING_QUEUE: _to(S.RUNNING, S.RUNNING_QUEUE, S.IDLE_HELD, S.ERROR_QUEUE),
    },
    "finish_interrupt": {
        S.INTERRUPTING: _to(S.IDLE),
        S.INTERRUPTING_QUEUE: _to(S.RUNNING, S.RUNNING_QUEUE, S.IDLE_HELD),
    },
    "fail_turn": {
        S.RUNNING: _to(S.ERROR),
        S.RUNNING_QUEUE: _to(S.ERROR_QUEUE),
        S.INTERRUPTING: _to(S.ERROR),
        S.INTERRUPTING_QUEUE: _to(S.ERROR_QUEUE),
    },
}
