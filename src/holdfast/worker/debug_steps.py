"""What a worker leaves for the debug record, where somebody switched it on. Nothing here waits for a write or
fails a turn."""

from collections.abc import Generator
from contextlib import contextmanager

from holdfast.chats.change import TurnEnd
from holdfast.core.debug_runs import DebugKind
from holdfast.core.errors import AttemptFailed
from holdfast.core.failures import Failure
from holdfast.core.steps import StepKind, TurnOutcome
from holdfast.prompt.segments import system_pieces, tool_pieces
from holdfast.providers.interface import ModelRequest
from holdfast.providers.registry import Model
from holdfast.store.debug_runs import wished
from holdfast.telemetry.debug_recording import DebugRecorder, RecordedRun, RecordedStep
from holdfast.worker.active_turn import ActiveTurn
from holdfast.worker.requests import beginning


async def recorded_step(
    turn: ActiveTurn, model: Model, request: ModelRequest, kind: StepKind
) -> RecordedStep | None:
    """The record of the step that is being made, which all its attempts share."""
    recorder = await _recorder(turn)
    if recorder is None:
        return None
    if turn.recorded.step is not None:
        turn.recorded.step.again(request)
        return turn.recorded.step
    chat = turn.chat.view.chat
    if kind == "compaction":
        run = recorder.side("compaction", chat.id, chat.turn, chat.last_message_id)
        turn.recorded.compaction = run
    else:
        run = _turn_run(turn, recorder)
        _note_texts(turn, recorder, run)
    run.used(model.provider.name, model.config.name)
    turn.recorded.step = run.step("stream", request, chat.last_message_id)
    return turn.recorded.step


async def recorded_line(
    turn: ActiveTurn, number: int, model: Model, request: ModelRequest, kind: DebugKind
) -> RecordedStep | None:
    """The record of a title or a summary of the turn with this number."""
    recorder = await _recorder(turn)
    if recorder is None:
        return None
    run = recorder.side(kind, turn.chat.chat_id, number, turn.chat.view.chat.last_message_id)
    run.used(model.provider.name, model.config.name)
    return run.step("generate", request, turn.chat.view.chat.last_message_id)


@contextmanager
def recorded_end(step: RecordedStep | None) -> Generator[None]:
    """However it ends, unless it succeeds."""
    try:
        yield
    except AttemptFailed as failed:
        if step is not None:
            step.failed(failed.failure)
        raise
    except BaseException:
        if step is not None:
            step.interrupted()
        raise


@contextmanager
def recorded_compaction(turn: ActiveTurn) -> Generator[None]:
    """A compaction that is left without a word was interrupted."""
    try:
        yield
    finally:
        run, turn.recorded.compaction = turn.recorded.compaction, None
        if run is not None:
            run.end("interrupted")


def compaction_succeeded(turn: ActiveTurn) -> None:
    if turn.recorded.compaction is not None:
        turn.recorded.compaction.end("completed")


def compaction_failed(turn: ActiveTurn, failure: Failure) -> None:
    """An attempt at it failed; a later one may succeed."""
    if turn.recorded.step is not None:
        turn.recorded.step.failed(failure)
    if turn.recorded.compaction is not None:
        turn.recorded.compaction.end("error")


def record_turn_end(turn: ActiveTurn, end: TurnEnd) -> None:
    if turn.recorded.run is not None and turn.recorded.number == end.number:
        run, turn.recorded.run = turn.recorded.run, None
        record_end(run, end.outcome)


def record_end(run: RecordedRun, outcome: TurnOutcome) -> None:
    match outcome:
        case "finished":
            run.end("completed")
        case "failed":
            run.end("error")
        case "interrupted":
            run.end("interrupted")


async def _recorder(turn: ActiveTurn) -> DebugRecorder | None:
    recorder = turn.resources.debug
    match turn.settings.debug:
        case "off":
            return None
        case "on":
            return recorder
        case "allow":
            if recorder is None or turn.setup.chosen.debug:
                return recorder
            owner = turn.chat.view.chat.owner_id
            wants = recorder.wishes.of(owner)
            if wants is None:
                # The turn began without a look at its chat's settings, as turns of new agents do.
                wants = await turn.chat.read(wished(owner))
                recorder.wishes.know(owner, wants)
            return recorder if wants else None


def _turn_run(turn: ActiveTurn, recorder: DebugRecorder) -> RecordedRun:
    chat, known = turn.chat.view.chat, turn.recorded
    if known.run is not None and known.number != chat.turn:
        # Somebody else ended that turn.
        known.run.end("interrupted")
        known.run = None
    if known.run is None:
        known.number = chat.turn
        known.run = recorder.turn(chat.id, chat.turn, chat.created_at, chat.last_message_id)
    return known.run


def _note_texts(turn: ActiveTurn, recorder: DebugRecorder, run: RecordedRun) -> None:
    if recorder.lacks(turn.chat.chat_id, beginning(turn)):
        setup = turn.setup
        recorder.note_texts(
            run,
            (
                *system_pieces(setup.system, setup.system_labels),
                *tool_pieces(setup.tool_definitions),
            ),
        )
