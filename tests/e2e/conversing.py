"""Where things are in a conversation, and what a person does there."""

from playwright.sync_api import Locator, Page, expect


def log(page: Page) -> Locator:
    return page.get_by_role("log", name="Conversation")


def answers(page: Page) -> Locator:
    """What the agent said, one element for each row."""
    return log(page).locator("[data-role=assistant]")


def asks(page: Page) -> Locator:
    """What the agent waits for a person to say."""
    return page.get_by_test_id("ask")


def box(page: Page) -> Locator:
    return page.get_by_label("Message", exact=True)


def send(page: Page, text: str) -> None:
    box(page).fill(text)
    page.get_by_role("button", name="Send", exact=True).click()


def settled(page: Page) -> None:
    """The chat is shown, and nothing goes on in it."""
    expect(answers(page).first).to_be_attached()
    expect(page.get_by_test_id("live")).to_have_count(0)
