"""Long chats: opened at their end without drawing or loading the rest, followed unless the reader goes
elsewhere, and never in the way of typing."""

from itertools import count

import pytest
from playwright.sync_api import Page, Request, expect

from tests.e2e.conftest import PHONE, WIDE, Opens
from tests.e2e.conversing import answers, box, log
from tests.e2e.server import Person

END = "The end of many steps."
BELOW = "element => element.scrollHeight - element.scrollTop - element.clientHeight"
# Lower than anybody guesses: rows that are far smaller than they were thought to be move everything.
STEPS = "\n".join(f'say: step {number}\ncall: todo {{"items": []}}' for number in range(120))
# Goes on until it is interrupted, a few lines a second.
STREAM = "pace: 0.02\nsay slowly: " + "\n  \n  ".join(f"paragraph {number}" for number in range(5000))


@pytest.fixture
def steps(person: Person) -> str:
    return person.finished_chat(f"{STEPS}\nsay: {END}")["id"]


def at_the_end(page: Page) -> None:
    expect(page.get_by_role("button", name="Jump to latest")).to_have_count(0)
    page.wait_for_function(
        f"() => {{ const below = {BELOW}; return below(document.querySelector('[role=log]')) <= 2 }}"
    )


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_many_short_steps_open_at_their_end(
    opens: Opens, person: Person, steps: str, size: dict[str, int]
) -> None:
    page = opens(person, size=size)
    page.goto(f"/chats/{steps}")
    expect(log(page).get_by_text(END, exact=True)).to_be_in_viewport()
    at_the_end(page)


def test_opening_draws_and_loads_what_is_seen(page: Page, steps: str) -> None:
    asked: list[str] = []

    def on_request(request: Request) -> None:
        asked.append(request.url)

    page.on("request", on_request)
    page.goto(f"/chats/{steps}")
    expect(log(page).get_by_text(END, exact=True)).to_be_in_viewport()
    at_the_end(page)
    assert not [url for url in asked if "/messages" in url], "what is further up is loaded when it is wanted"
    assert log(page).locator("[data-role]").count() < 40
    # Coming near its beginning loads more of it.
    log(page).hover()
    for _ in count():
        if any("/messages?before=" in url for url in asked):
            break
        page.mouse.wheel(0, -3000)
        page.wait_for_timeout(50)


@pytest.fixture
def streaming(page: Page, person: Person) -> Page:
    """Text comes, and its end is followed."""
    chat = person.start_chat(STREAM)
    page.goto(f"/chats/{chat['id']}")
    page.wait_for_function(
        "() => { const e = document.querySelector('[role=log]'); return e?.scrollTop > 300 }"
    )
    at_the_end(page)
    return page


def grows(page: Page) -> None:
    """More was said since."""
    page.wait_for_function(
        "from => document.querySelector('[role=log]').scrollHeight > from + 100",
        arg=log(page).evaluate("element => element.scrollHeight"),
    )


@pytest.mark.parametrize("means", ["wheel", "key", "elsewhere"])
def test_whoever_goes_up_stays_there_while_more_is_said(streaming: Page, means: str) -> None:
    page = streaming
    match means:
        case "wheel":
            log(page).hover()
            page.mouse.wheel(0, -120)
        case "key":
            log(page).focus()
            page.keyboard.press("PageUp")
        case _:  # as a screen reader or the browser's search does
            log(page).evaluate("element => { element.scrollTop -= 150 }")
    expect(page.get_by_role("button", name="Jump to latest")).to_be_visible()
    # Where it comes to rest; scrolling by key is smooth.
    page.wait_for_function(
        """() => new Promise(resolve => {
            const element = document.querySelector('[role=log]'), before = element.scrollTop;
            setTimeout(() => resolve(before === element.scrollTop), 200);
        })"""
    )
    place = log(page).evaluate("element => element.scrollTop")
    grows(page)
    assert log(page).evaluate("element => element.scrollTop") == place
    page.get_by_role("button", name="Jump to latest").click()
    at_the_end(page)
    grows(page)
    at_the_end(page)


def test_a_wheel_that_moves_nothing_leaves_nothing(streaming: Page) -> None:
    """Downwards at the end, sideways, or with Ctrl, which zooms."""
    page = streaming
    log(page).hover()
    page.mouse.wheel(0, 120)
    page.mouse.wheel(-50, 0)
    grows(page)
    at_the_end(page)


def test_a_flood_of_words_is_not_in_the_way_of_typing(page: Page, person: Person) -> None:
    """Thousands of parts a second: what is typed is there, key by key."""
    words = " ".join(f"word{number}" for number in range(60_000))
    chat = person.start_chat(f"wait: 3\npace: 0.0002\nsay slowly: {words}")
    page.goto(f"/chats/{chat['id']}")
    expect(answers(page).last).to_contain_text("word9")
    page.evaluate(
        """() => {
            window.longest = 0;
            new PerformanceObserver(list => {
                for (const event of list.getEntries())
                    if (event.name === 'keydown') window.longest = Math.max(window.longest, event.duration);
            }).observe({ type: 'event', durationThreshold: 16 });
        }"""
    )
    typed = "typing goes on while more is said than anybody could read"
    box(page).press_sequentially(typed)
    expect(box(page)).to_have_value(typed)
    # Generous: a busy machine is no fault of the page. Drawing everything with every part takes longer.
    assert page.evaluate("window.longest") < 2000
    expect(page.get_by_test_id("live")).to_have_count(0)
