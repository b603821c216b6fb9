"""Search: what was said is found, by its owner, whatever is typed."""

import asyncio

import pytest

from holdfast.chats.commands import Archive, Delete, Edit, Fork, Interrupt, Notify, Send
from holdfast.chats.view import View
from holdfast.core.chats import Settings
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import ChatId, UserId
from holdfast.store.chats import Only
from holdfast.store.interface import Hit
from tests.store.world import World, call, finished, fresh_id, text, user, view_of


async def index_all(world: World, limit: int = 200) -> int:
    total = 0
    while count := await world.store.index_pending(limit):
        total += count
    return total


async def found(world: World, words: str, owner: UserId | None = None, **more: object) -> list[ChatId]:
    await index_all(world)
    page = await world.store.search(owner or world.owner, words, **more)  # pyright: ignore[reportArgumentType]
    assert page.next_cursor is None
    return [hit.chat_id for hit in page.hits]


async def test_messages_notices_calls_and_results_are_found(world: World) -> None:
    view = await world.step(await world.own(await world.create("pineapple juice")), call("a"))
    view = await world.work(view, finished("a", {"stdout": "first\nbanana", "n": [{"deep": "cherry"}]}))
    view = await world.finish(view, "The answer is elderberry.")
    await world.do(view.chat.id, Notify(source="agent", key="k", text="figs arrived", wake=True))
    other = await world.idle("nothing of the sort")
    for words in (
        "pineapple",
        "juice pineapple",
        "banana",
        "cherry",
        "ELDERBERRY",
        "fig",
        "elder",
        "execute",
    ):
        assert await found(world, words) == [view.chat.id], words
    assert await found(world, "pineapple nothing") == []
    assert await found(world, "sort") == [other.chat.id]


async def test_only_the_last_word_may_be_a_beginning(world: World) -> None:
    view = await world.idle("searching carefully")
    assert await found(world, "searching care") == [view.chat.id]
    assert await found(world, "search carefully") == []
    assert await found(world, "care ") == []


async def test_accents_case_and_signs(world: World) -> None:
    view = await world.idle("Grüße aus Ærøskøbing, naïve façade; 東京で会う; user_id=foo-bar; STRASSE")
    for words in ("grusse", "GRÜSSE", "naive", "facade", "東京", "会", "user id", "foo-bar", "straße", "ærø"):
        assert await found(world, words) == [view.chat.id], words


async def test_titles_are_found_at_once_and_first(world: World) -> None:
    by_message = await world.idle("about kangaroos")
    by_title = await world.idle("something", settings=Settings(title="Kangaroos"))
    await index_all(world)
    page = await world.store.search(world.owner, "kangaroos")
    assert [(hit.chat_id, hit.message_id is None) for hit in page.hits] == [
        (by_title.chat.id, True),
        (by_message.chat.id, False),
    ]
    await world.store.update_settings(by_title.chat.id, title="Wombats")
    page = await world.store.search(world.owner, "wombats")
    assert [hit.chat_id for hit in page.hits] == [by_title.chat.id]
    assert [hit.chat_id for hit in (await world.store.search(world.owner, "kangaroos")).hits] == [
        by_message.chat.id
    ]


async def test_a_chat_is_found_once_by_its_newest_message(world: World) -> None:
    view = await world.idle("zebra one")
    view = view_of(await world.send(view.chat.id, "zebra two"))
    await index_all(world)
    page = await world.store.search(world.owner, "zebra")
    assert page.hits == (Hit(view.chat.id, (await world.history(view.chat.id))[-1].id),)
    inside = await world.store.search_chat(view.chat.id, "zebra")
    assert [hit.message_id for hit in inside.hits] == [
        message.id for message in reversed(await world.history(view.chat.id)) if message.role == "user"
    ]


async def test_nobody_elses_chats(world: World) -> None:
    other = user()
    theirs = await world.create("secret word xylophone", owner=other)
    # Somebody who writes another's id in a message does not get into their results.
    await world.create(f"xylophone o{other.replace('-', '')} {other}")
    assert await found(world, "xylophone", other) == [theirs.chat.id]
    assert theirs.chat.id not in await found(world, "xylophone")


async def test_removed_history_is_not_found(world: World) -> None:
    view = await world.idle("outdated words")
    assert await found(world, "outdated") == [view.chat.id]
    first = (await world.history(view.chat.id))[0]
    await world.do(view.chat.id, Edit(message_id=first.id, parts=text("fresh words"), created_by=world.owner))
    assert await found(world, "outdated") == []
    assert await found(world, "fresh") == [view.chat.id]


async def test_deleted_chats_are_not_found(world: World) -> None:
    view = await world.idle("soon gone", settings=Settings(title="gone title"))
    await index_all(world)
    await world.do(view.chat.id, Delete())
    assert await found(world, "gone") == []
    # What comes after does not inherit the words.
    new = await world.idle("newcomer")
    assert await found(world, "gone") == []
    assert await found(world, "newcomer") == [new.chat.id]


async def test_filters_apply(world: World) -> None:
    view = await world.idle("lemur", settings=Settings(labels=("l",), title="lemur"))
    archived = await world.idle("lemur")
    await world.do(archived.chat.id, Archive())
    child = await world.child(view, content="lemur")
    assert await found(world, "lemur") == [view.chat.id]
    assert await found(world, "lemur", only=Only(archived=True)) == [archived.chat.id]
    assert await found(world, "lemur", only=Only(parent_id=view.chat.id)) == [child.chat.id]
    assert await found(world, "lemur", only=Only(label="l")) == [view.chat.id]
    assert await found(world, "lemur", only=Only(label="m")) == []


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_pages_add_up(world: World, limit: int) -> None:
    titled = [await world.idle("x", settings=Settings(title=f"otter {n}")) for n in range(2)]
    chats: list[View] = []
    for n in range(4):
        world.clock.advance(1)
        chats.append(await world.idle(f"otter {n}"))
    world.clock.advance(1)
    # Several matches in the oldest: it moves to the front, and is not given again at its old place.
    await world.send(chats[0].chat.id, "otter again")
    await world.send(titled[0].chat.id, "otter in a titled one")
    await index_all(world)
    listed: list[ChatId] = []
    cursor = None
    for _ in range(20):
        page = await world.store.search(world.owner, "otter", limit=limit, cursor=cursor)
        assert len(page.hits) <= limit
        listed += [hit.chat_id for hit in page.hits]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert cursor is None
    assert set(listed[:2]) == {view.chat.id for view in titled}
    assert listed[2:] == [chats[n].chat.id for n in (0, 3, 2, 1)]


async def test_pages_within_a_chat_add_up(world: World) -> None:
    view = await world.idle("otter 0")
    for n in range(1, 5):
        view = await world.finish(await world.own(view_of(await world.send(view.chat.id, f"otter {n}"))))
    await index_all(world)
    listed: list[object] = []
    cursor = None
    while True:
        page = await world.store.search_chat(view.chat.id, "otter", limit=2, cursor=cursor)
        listed += [hit.message_id for hit in page.hits]
        cursor = page.next_cursor
        if cursor is None:
            break
    users = [message.id for message in await world.history(view.chat.id) if message.role == "user"]
    assert listed == users[::-1]


OPERATORS = ("a NEAR/2 b", "scope:x", "body : x", "{scope} : x", "^a", "a*", "a:*", "' OR 1=1--", "a\0b")
SIGNS = (
    "",
    " ",
    "'",
    '"',
    "%",
    "_",
    "\\",
    "*",
    "-",
    "(",
    ")",
    "+",
    "\0",
    "\ud800",
    "<->",
    "&",
    "|",
    "!",
    ":*",
)
WORDS = ("NEAR", "AND", "OR", "NOT")
ODD = ("\U0001f600", "''''", '""""', "\u202e", "\N{COMBINING ACUTE ACCENT}" * 50)
LONG = ("x" * 5000, "a " * 3000, "%" * 1000)


async def test_whatever_is_typed_is_harmless(world: World) -> None:
    view = await world.idle("plain text here")
    await index_all(world)
    for words in (*OPERATORS, *SIGNS, *WORDS, *ODD, *LONG):
        page = await world.store.search(world.owner, words)
        assert page.hits == (), words
        assert (await world.store.search_chat(view.chat.id, words)).hits == (), words
        both = await world.store.search(world.owner, f"{words[:10]} plain")
        assert len(both.hits) <= 1, words


async def test_a_made_up_cursor_is_refused(world: World) -> None:
    for cursor in ("", "x", "m", "t", "mx", "m-1", "m1 ", "m" + "9" * 40, "t٣", "z5"):
        with pytest.raises(InvalidInput):
            await world.store.search(world.owner, "word", cursor=cursor)
        with pytest.raises(InvalidInput):
            await world.store.search_chat(ChatId(fresh_id()), "word", cursor=cursor)


async def test_the_index_catches_up_after_a_restart(world: World) -> None:
    owner = world.owner
    views = [await world.idle(f"platypus {n}") for n in range(3)]
    assert await world.store.index_pending(1) == 1
    world = await world.reopen()
    world.owner = owner
    assert set(await found(world, "platypus")) == {view.chat.id for view in views}
    assert await world.store.index_pending() == 0


@pytest.mark.parametrize("limit", [1, 2, 5])
async def test_small_batches_lose_nothing(world: World, limit: int) -> None:
    """A fork has all its messages in one revision, more than a batch."""
    view = await world.idle("armadillo 0")
    for n in range(1, 4):
        view = await world.finish(await world.own(view_of(await world.send(view.chat.id, f"armadillo {n}"))))
    fork = ChatId(fresh_id())
    await world.do(fork, Fork(owner_id=world.owner, source_id=view.chat.id, settings=Settings()))
    await index_all(world, limit)
    for n in range(4):
        page = await world.store.search(world.owner, f"armadillo {n} ")
        assert {hit.chat_id for hit in page.hits} == {view.chat.id, fork}
    assert len((await world.store.search_chat(fork, "armadillo")).hits) == 4
    assert await world.store.check() == []


async def test_long_text_is_found_by_its_beginning(world: World) -> None:
    many = " ".join(f"word{n}" for n in range(60_000))
    view = await world.idle(f"{'y' * 5000} {many}")
    assert await found(world, "word77 ") == [view.chat.id]
    assert await found(world, "y" * 3000 + " ") == [view.chat.id]
    assert await found(world, "word59999 ") == []


async def test_what_entered_together_with_what_did_not_is_found(world: World) -> None:
    """A commit whose last command moved no history."""
    view = await world.idle()
    await index_all(world)
    await asyncio.gather(
        world.store.transition(view.chat.id, Send(parts=text("chrysalis"), created_by=world.owner)),
        world.store.transition(view.chat.id, Interrupt()),
    )
    assert (await world.view(view.chat.id)).chat.status == "interrupting"
    assert await found(world, "chrysalis") == [view.chat.id]
