"""One catalogue of feed events, and nobody keeps a list of their own."""

import json
import re
from pathlib import Path
from typing import get_args

import pytest

from holdfast.core.feed_events import CATALOGUE, EventName, FeedKind, events_of

ROOT = Path(__file__).parents[2]
# Where events are told or understood. Names stand there one by one, never in lists.
SOURCES = ("src/holdfast/feed", "src/holdfast/api", "src/holdfast/cli", "web/src/feed", "web/src/chats")


def test_every_name_is_in_the_catalogue_once_for_each_feed() -> None:
    assert {event.name for event in CATALOGUE} == set(get_args(EventName))
    named = [(event.name, feed) for event in CATALOGUE for feed in event.feeds]
    assert sorted(named) == sorted(set(named))


def test_every_feed_says_when_it_has_caught_up_and_when_it_ends() -> None:
    for feed in get_args(FeedKind):
        assert {"caught_up", "closing"} <= set(events_of(feed))


def test_nobody_keeps_another_list() -> None:
    """A list of events names several of one feed in a row."""
    for feed in get_args(FeedKind):
        own = [name for name in events_of(feed) if name not in ("caught_up", "closing")]
        listed = re.compile(rf"([\"'])({'|'.join(own)})\1[^\"'a-z]{{0,20}}([\"'])({'|'.join(own)})\3")
        for source in SOURCES:
            for path in sorted((ROOT / source).rglob("*")):
                if path.suffix in (".py", ".ts", ".tsx") and ".test." not in path.name:
                    found = listed.search(path.read_text())
                    assert found is None, f"{path} lists events of its own: {found and found[0]}"


# What the page calls the events of each feed, and where the OpenAPI document has them.
PUBLISHED: dict[FeedKind, tuple[str, str]] = {
    "chat": ("ChatFeedEvent", "x-feed-events"),
    "chats": ("ListFeedEvent", "x-list-feed-events"),
    "run": ("RunFeedEvent", "x-run-feed-events"),
    "flow_run": ("FlowRunFeedEvent", "x-flow-run-feed-events"),
}


@pytest.mark.parametrize("feed", get_args(FeedKind))
def test_the_page_and_the_openapi_document_have_the_catalogue(feed: FeedKind) -> None:
    page, document = PUBLISHED[feed]
    wanted = {name: data.__name__ for name, data in events_of(feed).items()}
    types = (
        (ROOT / "web/src/api/schema.ts")
        .read_text()
        .partition(f"export type {page} =")[2]
        .partition(";\n\n")[0]
    )
    assert dict(re.findall(r'event: "(\w+)"; data: (\w+)', types)) == wanted
    published = json.loads((ROOT / "docs/reference/openapi.json").read_text())[document]
    assert {name: ref.rsplit("/", 1)[1] for name, ref in published.items()} == wanted
