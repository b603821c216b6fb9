"""After a kill the work continues by itself where it was, and no watcher and no provider can tell that
anything was lost or duplicated."""

import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.core.events import Episode, LiveParts
from holdfast.core.messages import Busy
from holdfast.core.parts import Text
from holdfast.core.shapes import encode_text
from tests.crash.judge import judge
from tests.crash.scripts import call, message, new_tag, slowly, tag_of
from tests.crash.stage import QUICK, Stage, a_stage
from tests.crash.summaries import FULL, around_summaries, asks_for_summary, has_summary
from tests.crash.victim import MODELS

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600)]


@pytest.mark.parametrize("script", [slowly(2), call("stamp", after=2)], ids=["stream", "tool"])
async def test_f01_work_is_resumed_soon_after_a_restart(stage: Stage, database: str, script: str) -> None:
    victim = await stage.start()
    tag = new_tag()
    chat_id = await stage.create(message(script, tag=tag))
    await stage.until(lambda: stage.asked_of(tag) + stage.effects_of(chat_id) > 0)
    await stage.kill(victim)
    before = stage.asked_of(tag) + len(stage.ledger.effects())
    started_at = time.monotonic()
    await stage.start()
    await stage.until(lambda: stage.asked_of(tag) + len(stage.ledger.effects()) > before)
    # Others can only know that the owner is dead when its lease is over. A minute is for busy machines.
    assert time.monotonic() - started_at < 60 + (0 if database == "sqlite" else QUICK.lease_seconds)
    await stage.settle()
    assert await judge(stage) == []
    await stage.leave()


@pytest.mark.parametrize("asks", [False, True], ids=["tell", "ask"])
async def test_f13_after_a_kill_every_other_provider_takes_the_history(
    database: str, tmp_path: Path, asks: bool
) -> None:
    """Killed with open calls; then a message to a model of another format, which is valid at the first
    try."""
    settings = replace(QUICK, ask_when_uncertain=asks)
    async with a_stage(tmp_path, database, settings) as stage:
        victim = await stage.start()
        names = list(MODELS)
        chats = {
            name: await stage.create(message(call("look"), call("pay", after=60)), name) for name in names
        }
        await stage.until(lambda: len(stage.ledger.effects("pay")) == len(names))
        await stage.kill(victim)
        successor = await stage.start(working=False)
        tags = {name: new_tag() for name in names}
        for number, (name, chat_id) in enumerate(chats.items()):
            other = names[(number + 1) % len(names)]
            await stage.send(chat_id, message(call("look"), tag=tags[name]), "interrupt", other)
        await successor.ask("work")
        await stage.settle()
        for number, name in enumerate(names):
            first = next(asked for asked in stage.provider.log if f"[{tags[name]}]" in asked.raw.decode())
            assert first.family == MODELS[names[(number + 1) % len(names)]]
            assert first.outcome == "answered"
        assert await judge(stage) == []
        assert len(stage.ledger.effects("pay")) == len(names)
        await stage.leave()


async def test_f29_a_text_that_was_shown_and_not_stored_belongs_to_an_older_episode(stage: Stage) -> None:
    """A watcher that saw half of it is told by the new episode to forget it."""
    seen: list[LiveParts] = []
    victim = await stage.start(working=False)
    chat_id = await stage.create(message(slowly(2)))
    await victim.watch(chat_id, seen.append)
    await victim.ask("work")
    await stage.until(lambda: len(seen) >= 3)
    await stage.kill(victim)
    withdrawn = seen[-1].episode
    shown_before = text_of(seen, withdrawn)
    assert shown_before

    again: list[LiveParts] = []
    successor = await stage.start(working=False)
    await successor.watch(chat_id, again.append)
    await successor.ask("work")
    await stage.settle()
    episode = again[0].episode
    assert (episode.history_version, episode.attempt) > (withdrawn.history_version, withdrawn.attempt)
    assert again[0].first == 1
    answers = [entry for entry in (await stage.dump(chat_id)).messages if entry.role == "assistant"]
    (text,) = [part.text for part in answers[0].parts if isinstance(part, Text)]
    assert text_of(again, episode) == text
    assert text.startswith(shown_before)
    assert len(answers) == 1
    assert await judge(stage) == []
    await stage.leave()


def text_of(parts: list[LiveParts], episode: Episode) -> str:
    """What a watcher shows of an episode; parts follow each other without a gap."""
    text, expected = "", 1
    for event in parts:
        if event.episode == episode:
            assert event.first == expected
            expected += len(event.parts)
            text += "".join(part.text for part in event.parts if isinstance(part, Text))
    return text


@pytest.mark.parametrize("busy", [None, "queue", "steer", "interrupt"])
async def test_f38_a_kill_during_a_compaction_loses_nothing(stage: Stage, busy: Busy | None) -> None:
    """Alone, and with a message that came while it was summarising."""
    stage.provider.answer = around_summaries(pace_seconds=0.3)
    tags = [new_tag()]
    victim = await stage.start()
    chat_id = await stage.create(message(FULL, call("pay"), tag=tags[0]))
    await stage.until(lambda: any(asks_for_summary(asked) for asked in stage.provider.log))
    if busy is not None:
        tags.append(new_tag())
        await stage.send(chat_id, message(call("look"), tag=tags[1]), busy)
    await stage.kill(victim, f"during a summary, with {busy}")
    await stage.start()
    await stage.settle()
    assert await judge(stage) == []

    dump = await stage.dump(chat_id)
    assert not any(entry.removed for entry in dump.messages)
    people = [entry for entry in dump.messages if entry.role == "user" and entry.visibility != "model"]
    assert [tag_of(entry.parts) for entry in people] == tags
    assert len(stage.ledger.effects("pay")) == 1
    assert sum(entry.compaction and entry.visibility == "model" for entry in dump.messages) == 1
    (after, *_) = [asked for asked in stage.provider.log if has_summary(asked)]
    newest_said = tags[-1] if busy in ("steer", "interrupt") else tags[0]
    texts = [part.text for entry in people for part in entry.parts if isinstance(part, Text)]
    whole = next(text for text in texts if newest_said in text)
    assert encode_text(whole).strip('"') in after.raw.decode(), "the summary swallowed the newest message"
    await stage.leave()
