"""Long chats: opened at their end without drawing or loading the rest, followed unless the reader goes
elsewhere, and never in the way of typing."""

import time
from itertools import count

import msgspec
import pytest
from playwright.sync_api import Page, Request, expect

from tests.e2e.conftest import PATIENCE_MS, PHONE, WIDE, Opens
from tests.e2e.conversing import answers, box, log
from tests.e2e.history import BEGINNING, with_history
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


# Counts the time between two frames, and how long keys take until they are seen.
WATCH = """() => {
    window.frames_ms = [];
    window.keys_ms = [];
    let before = performance.now();
    const frame = now => { window.frames_ms.push(now - before); before = now; requestAnimationFrame(frame); };
    requestAnimationFrame(frame);
    new PerformanceObserver(list => {
        for (const event of list.getEntries())
            if (event.name === 'keydown') window.keys_ms.push(event.duration);
    }).observe({ type: 'event', durationThreshold: 16 });
}"""
# Clicks on a chat in the list, and waits until the text is in sight.
OPEN_MS = """([href, text]) => new Promise(resolve => {
    const begun = performance.now();
    document.querySelector(`nav a[href="${href}"]`).click();
    const look = () => {
        const bottom = document.querySelector('[role=log]')?.getBoundingClientRect().bottom;
        const rows = [...document.querySelectorAll('[role=log] [data-role]')];
        const row = rows.find(one => one.textContent.includes(text));
        if (row && row.getBoundingClientRect().bottom <= bottom + 40) resolve(performance.now() - begun);
        else requestAnimationFrame(look);
    };
    look();
})"""


# The feed of a chat as it is, and from then on 2 000 parts a second: more than a busy server says.
FLOOD = """([chat, history_version]) => {
    const real = window.fetch;
    window.parts = 0;
    window.fetch = async (url, init) => {
        const response = await real(url, init);
        if (!String(url).includes(`/chats/${chat}/feed`)) return response;
        const reader = response.body.getReader();
        const encoder = new TextEncoder();
        const begun = performance.now();
        const said = n => ({ history_version, attempt: 1, n, role: 'assistant',
            part: { type: 'text', text: n % 60 ? `word${n} ` : '\\n\\n' } });
        const stream = new ReadableStream({ start(to) {
            const timer = setInterval(() => {
                const due = Math.floor((performance.now() - begun - 1000) * 2);
                let frames = '';
                while (window.parts < due && window.parts < 40000)
                    frames += `event: part\\ndata: ${JSON.stringify(said(++window.parts))}\\n\\n`;
                if (frames) to.enqueue(encoder.encode(frames));
            }, 5);
            init?.signal?.addEventListener('abort', () => clearInterval(timer));
            const read = () => reader.read().then(({ done, value }) => {
                if (!done) { to.enqueue(value); read(); }
            }, () => clearInterval(timer));
            read();
        } });
        return new Response(stream, { status: response.status, headers: response.headers });
    };
}"""


def slowest(values: list[float], share: float) -> float:
    """So many of them are not slower."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else 0.0


def test_a_chat_of_20_000_messages_opens_and_scrolls_like_a_short_one(
    own_admin: Person, opens: Opens
) -> None:
    """`pytest -s` shows the figures."""
    short = with_history(own_admin, 40, "The end of the short one.", "Short")
    long = with_history(own_admin, 20_000, END, "Long")
    page = opens(own_admin)

    def open_ms(chat: str, end: str) -> float:
        page.goto("/")  # Nothing of a chat is known yet.
        expect(page.get_by_role("link", name="Long")).to_be_visible()
        return page.evaluate(OPEN_MS, [f"/chats/{chat}", end])

    shorts: list[float] = []
    longs: list[float] = []
    for _ in range(4):
        shorts.append(open_ms(short, "The end of the short one."))
        longs.append(open_ms(long, END))
    at_the_end(page)

    log(page).hover()
    page.evaluate(WATCH)
    for _ in range(80):
        page.mouse.wheel(0, -600)
        page.wait_for_timeout(16)
    frames: list[float] = page.evaluate("window.frames_ms")
    assert log(page).locator("[data-role]").count() < 80, "what is not seen is not drawn"
    page.reload()
    expect(log(page).get_by_text(END, exact=True)).to_be_in_viewport()
    first = own_admin.get(f"chats/{long}/messages?limit=1")["items"][0]["id"]
    page.goto(f"/chats/{long}#{first}")
    expect(log(page).get_by_text(BEGINNING, exact=True)).to_be_in_viewport()

    print(
        f"20 000 messages open in {[round(ms) for ms in longs]} ms, 40 in {[round(ms) for ms in shorts]} ms;",
        f"frames while scrolling: median {slowest(frames, 0.5):.0f} ms, 95 % {slowest(frames, 0.95):.0f} ms",
    )
    # Generous: a busy machine is no fault of the page. Reading or drawing everything takes many seconds.
    assert min(longs) < 5 * min(shorts) + 1000
    assert slowest(frames, 0.5) < 200


def test_a_flood_of_words_is_not_in_the_way_of_typing(page: Page, person: Person) -> None:
    """As fast as the server can: what is typed is there, key by key."""
    words = " ".join(f"word{number}" for number in range(60_000))
    chat = person.start_chat(f"wait: 3\npace: 0.0002\nsay slowly: {words}")
    page.goto(f"/chats/{chat['id']}")
    expect(answers(page).last).to_contain_text("word9")
    page.evaluate(WATCH)
    typed = "typing goes on while more is said than anybody could read"
    box(page).press_sequentially(typed)
    expect(box(page)).to_have_value(typed)
    keys: list[float] = page.evaluate("window.keys_ms")
    # Generous: a busy machine is no fault of the page. Drawing everything with every part takes longer.
    assert max(keys, default=0) < 2000
    # So many words take a busy machine more than a minute.
    expect(page.get_by_test_id("live")).to_have_count(0, timeout=4 * PATIENCE_MS)


def test_two_thousand_parts_a_second_are_drawn_while_somebody_types(page: Page, person: Person) -> None:
    """Whatever the server manages: the page is told so much. `pytest -s` shows the figures."""
    chat = person.start_chat("wait: 600")
    version = person.get(f"chats/{chat['id']}")["history_version"]
    page.add_init_script(f"({FLOOD})({msgspec.json.encode([chat['id'], version]).decode()})")
    page.goto(f"/chats/{chat['id']}")
    expect(answers(page).last).to_contain_text("word9")
    page.evaluate(WATCH)
    before, since = page.evaluate("window.parts"), time.monotonic()
    typed = "typing goes on while more is said than anybody could read, and on, and on, until it is enough"
    box(page).press_sequentially(typed, delay=30)
    expect(box(page)).to_have_value(typed)
    a_second = (page.evaluate("window.parts") - before) / (time.monotonic() - since)
    expect(answers(page).last).to_contain_text("word2999")
    keys: list[float] = page.evaluate("window.keys_ms")
    frames: list[float] = page.evaluate("window.frames_ms")
    print(
        f"{a_second:.0f} parts a second: keys are seen within {slowest(keys, 0.5):.0f} ms (median),",
        f"{max(keys, default=0):.0f} ms (slowest); frames: median {slowest(frames, 0.5):.0f} ms,",
        f"95 % {slowest(frames, 0.95):.0f} ms",
    )
    assert slowest(keys, 0.5) < 500
    assert max(keys, default=0) < 2000
    person.post(f"chats/{chat['id']}/interrupt")
